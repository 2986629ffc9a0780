//! `--metric NAME`: a number that is measured of every run, by its full path or by an end of it that means only one.
//! `classes`, `phases` and `limits` may be left out, and what is of the whole run goes before what is of a phase.

use anyhow::anyhow;

use crate::document::near;
use crate::experiment::Measure;

/// The words of a path that say nothing where only one thing can be meant.
const SILENT: [&str; 3] = ["classes", "phases", "limits"];

/// The most paths that a refusal lists.
const LISTED: usize = 8;

/// The index of the measure that a name means.
pub(super) fn metric(option: &str, name: &str, measures: &[Measure]) -> anyhow::Result<usize> {
    let name = name.trim();
    let paths: Vec<String> = measures.iter().map(Measure::path).collect();
    if let Some(exact) = paths.iter().position(|path| path == name) {
        return Ok(exact);
    }
    let wanted = short(name);
    let ends: Vec<usize> =
        (0..paths.len()).filter(|index| ends_with(&short(&paths[*index]), &wanted) && !wanted.is_empty()).collect();
    // The shortest path is of the whole run; a phase makes it longer.
    let shortest = ends.iter().map(|index| short(&paths[*index]).len()).min();
    let nearest: Vec<usize> =
        ends.iter().copied().filter(|index| Some(short(&paths[*index]).len()) == shortest).collect();
    let shown = name.escape_debug();
    match nearest.as_slice() {
        [only] => Ok(*only),
        [] => {
            let ends: Vec<String> = paths.iter().map(|path| short(path).join(".")).collect();
            let keys: Vec<&str> = measures.iter().map(|measure| measure.key.as_str()).collect();
            let best = near::nearest(&wanted.join("."), ends.iter().map(String::as_str));
            // A slip in a word alone is nearer to a key than to any path.
            let best = best.or_else(|| near::nearest(name, keys.iter().copied()));
            let hint = match best {
                Some(best) => format!("did you mean `{best}`?"),
                None => format!("write an end of a path, such as {}", listed(&headlines(measures, &ends))),
            };
            Err(anyhow!("`{option}`: nothing that is measured is called `{shown}`\nhint: {hint}"))
        }
        several => {
            let all: Vec<String> = several.iter().map(|index| short(&paths[*index]).join(".")).collect();
            Err(anyhow!("`{option}`: `{shown}` may mean several things\nhint: write {}", listed(&all)))
        }
    }
}

fn headlines(measures: &[Measure], ends: &[String]) -> Vec<String> {
    measures.iter().zip(ends).filter(|(measure, _)| measure.headline).map(|(_, end)| end.clone()).collect()
}

fn listed(paths: &[String]) -> String {
    let shown: Vec<String> = paths.iter().take(LISTED).map(|path| format!("`{path}`")).collect();
    match (shown.split_last(), paths.len().saturating_sub(LISTED)) {
        (Some((last, rest)), 0) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        (_, 0) => shown.join(", "),
        (_, more) => format!("{} or one of {more} more", shown.join(", ")),
    }
}

fn short(path: &str) -> Vec<&str> {
    path.split('.').filter(|word| !SILENT.contains(word)).collect()
}

fn ends_with(path: &[&str], end: &[&str]) -> bool {
    path.len() >= end.len() && path[path.len() - end.len()..] == *end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::measure::measures;
    use crate::scenario::{Source, load};

    fn found(name: &str) -> Result<String, String> {
        let text = "horizon = \"10m\"\n[provider.faults.overload]\nwindow = [\"1m\", \"2m\"]\n\
            respond = { status = 503 }\n[clients.c]\nlayers = []\n[traffic.live]\nkind = \"turns\"\nclient = \"c\"\n\
            arrivals = { poisson = \"20/min\" }\nsteps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n\
            [traffic.report]\nkind = \"jobs\"\nworkers = 1\nclient = \"c\"\narrivals = { poisson = \"20/min\" }\n\
            steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n";
        let scenario = load(&Source::new("metric.toml", text)).unwrap_or_else(|refusal| panic!("{refusal:?}"));
        let measures = measures(&[&scenario]);
        metric("--metric", name, &measures).map(|at| measures[at].path()).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn an_end_of_a_path_means_the_whole_run_before_a_phase() {
        for (name, path) in [
            ("phases.overload.classes.report.amplification", "phases.overload.classes.report.amplification"),
            ("overload.report.amplification", "phases.overload.classes.report.amplification"),
            ("report.amplification", "classes.report.amplification"),
            (" live.latency_all_s.p95 ", "classes.live.latency_all_s.p95"),
            ("total_s", "recovery.total_s"),
        ] {
            assert_eq!(found(name).as_deref(), Ok(path), "{name}");
        }
    }

    #[test]
    fn what_means_nothing_or_several_things_is_refused_with_the_remedy() {
        for (name, said) in [
            ("failed", "`--metric`: `failed` may mean several things\nhint: write `live.failed` or `report.failed`"),
            (
                "report.amplificaton",
                "`--metric`: nothing that is measured is called `report.amplificaton`\nhint: did you mean \
                 `report.amplification`?",
            ),
            ("", "`--metric`: nothing that is measured is called ``\nhint: write an end of a path, such as "),
            (
                "classes",
                "`--metric`: nothing that is measured is called `classes`\nhint: write an end of a path, such as ",
            ),
        ] {
            let refusal = found(name).unwrap_err();
            assert!(refusal.starts_with(said), "{name}: {refusal}");
        }
    }
}
