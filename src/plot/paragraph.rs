//! Text that needs more than one line.

use super::font::Face;

/// Breaks a text at its spaces into lines of at most this width; a word that is wider is broken inside.
pub(super) fn wrap(text: &str, width: f64, face: Face, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if face.width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.extend(broken(word, width, face, size)),
        }
    }
    lines
}

fn broken(word: &str, width: f64, face: Face, size: f64) -> Vec<String> {
    let mut parts = vec![String::new()];
    for letter in word.chars() {
        let last = parts.len() - 1;
        let longer = format!("{}{letter}", parts[last]);
        if parts[last].is_empty() || face.width(&longer, size) <= width {
            parts[last] = longer;
        } else {
            parts.push(letter.to_string());
        }
    }
    parts
}

/// Lines of a title: as few as fit, broken after a semicolon if that makes no more of them, else about equally long.
pub(super) fn title(text: &str, width: f64, face: Face, size: f64) -> Vec<String> {
    let greedy = wrap(text, width, face, size);
    if greedy.len() < 2 {
        return greedy;
    }
    if let Some((first, rest)) = text.split_once("; ") {
        let mut parts = wrap(&format!("{first};"), width, face, size);
        parts.extend(wrap(rest, width, face, size));
        if parts.len() == greedy.len() {
            return parts;
        }
    }
    // The narrowest column that needs no further line.
    (1..=20)
        .rev()
        .map(|twentieths| wrap(text, width * f64::from(twentieths) / 20.0, face, size))
        .take_while(|lines| lines.len() == greedy.len())
        .last()
        .unwrap_or(greedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_its_column() {
        let text = "requests sent per step needed in the overload: 3,920 for 420 antidisestablishmentarianism";
        for width in [40.0, 90.0, 200.0] {
            let lines = wrap(text, width, Face::Regular, 13.0);
            assert!(lines.iter().all(|line| Face::Regular.width(line, 13.0) <= width), "{width}: {lines:?}");
        }
    }

    #[test]
    fn a_title_breaks_at_its_semicolon() {
        let lines = title("Three layers turned 420 into 3,920; 23 % of turns met a 429", 500.0, Face::Bold, 29.0);
        assert_eq!(lines[0], "Three layers turned 420 into 3,920;");
    }

    #[test]
    fn a_title_leaves_no_word_alone() {
        let lines = title("one two three four five six seven eight nine ten", 640.0, Face::Bold, 29.0);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].contains(' '), "{lines:?}");
    }
}
