//! Most wrong names are right ones with a slip of the finger: one letter too many, two swapped. The nearest known name
//! by edit distance is suggested where it is near enough that the guess is rarely silly.

/// The longest name that is compared; longer ones are no slips.
const LONGEST: usize = 64;

/// The most names that a hint lists.
const LISTED: usize = 12;

/// The candidate nearest to `word`, where a third of the letters or fewer differ.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > LONGEST {
        return None;
    }
    let near = |candidate: &&str| {
        let most = (length.max(candidate.chars().count()) / 3).max(1);
        let distance = strsim::osa_distance(&word.to_lowercase(), &candidate.to_lowercase());
        // A name that shares no letter is no slip, however short it is.
        (distance <= most && distance < length).then_some(distance)
    };
    candidates.into_iter().filter_map(|candidate| Some((near(&candidate)?, candidate))).min().map(|(_, best)| best)
}

/// The names in back-ticks, separated by commas, at most a dozen.
pub fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A hint for a name that is not there: what is there, and the near one.
pub fn existing(plural: &str, names: &[&str], wanted: &str) -> String {
    let Some(best) = nearest(wanted, names.iter().copied()) else {
        return if names.is_empty() {
            format!("there are no {plural}")
        } else {
            format!("{plural} are {}", listed(names))
        };
    };
    format!("{plural} are {}; did you mean `{best}`?", listed(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_word_and_strangers_do_not() {
        let keys = ["max_retries", "max_attempts", "timeout", "off"];
        assert_eq!(nearest("max_retrys", keys), Some("max_retries"));
        assert_eq!(nearest("tiemout", keys), Some("timeout"));
        assert_eq!(nearest("Timeout", keys), Some("timeout"));
        assert_eq!(nearest("x", keys), None);
        assert_eq!(nearest("nobody_has_this_name", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest(&"a".repeat(100_000), keys), None);
    }

    #[test]
    fn a_hint_lists_what_there_is() {
        assert_eq!(
            existing("clients", &["batch", "live"], "bach"),
            "clients are `batch`, `live`; did you mean `batch`?"
        );
        assert_eq!(existing("clients", &["batch", "live"], "zzz"), "clients are `batch`, `live`");
        assert_eq!(existing("clients", &[], "zzz"), "there are no clients");
    }
}
