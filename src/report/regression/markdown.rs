//! The check as a comment of a pull request: a heading that says it all, one table of the worst numbers, the rest
//! folded away. It stays far below the 65,536 letters that a comment may have.

use std::fmt::Write as _;

use super::{Regressed, words};
use crate::experiment::regress::{Case, Outcome, Row};
use crate::report::quantity::count;
use crate::report::words::capitalised;

/// How many numbers are in the table that is seen at once.
const SEEN: usize = 10;

/// How many further numbers are folded away.
const FOLDED: usize = 60;

/// How many changes, commands and notes are listed.
const LISTED: usize = 12;

/// The check as Markdown.
pub fn text(regressed: &Regressed<'_>) -> String {
    let check = regressed.check;
    let failures = regressed.failures();
    let heading = match (check.is_failure(), failures) {
        (true, 0) => "❌ retrycast: the baseline does not fit".to_owned(),
        (true, 1) => "❌ retrycast: one number moved too far".to_owned(),
        (true, n) => format!("❌ retrycast: {} numbers moved too far", count(n as f64)),
        (false, _) if check.is_unsure() => "❔ retrycast: no answer".to_owned(),
        (false, _) => "✅ retrycast: no number got worse".to_owned(),
    };
    let mut out = format!("### {heading}\n\n{}\n", escaped(&capitalised(&words::finding(regressed))));
    changes(&mut out, regressed);
    let mut rows: Vec<(&Case, &Row)> = check
        .cases
        .iter()
        .flat_map(|case| words::telling_first(case.failures()).into_iter().map(move |row| (case, row)))
        .collect();
    rows.sort_by(|(_, a), (_, b)| b.measure.headline.cmp(&a.measure.headline).then(b.excess.total_cmp(&a.excess)));
    if !rows.is_empty() {
        out.push('\n');
        table(&mut out, &rows[..rows.len().min(SEEN)]);
    }
    if rows.len() > SEEN {
        let rest = &rows[SEEN..rows.len().min(SEEN + FOLDED)];
        let beyond = rows.len() - SEEN - rest.len();
        let more = if beyond > 0 { format!(" (and {} beyond these)", count(beyond as f64)) } else { String::new() };
        folded(&mut out, &format!("{} more{more}", count(rest.len() as f64)), rest);
    }
    let better: Vec<(&Case, &Row)> = check
        .cases
        .iter()
        .flat_map(|case| case.with(Outcome::Better).into_iter().map(move |row| (case, row)))
        .filter(|(_, row)| !row.is_failure)
        .collect();
    if !better.is_empty() {
        let shown = &better[..better.len().min(SEEN)];
        folded(&mut out, &format!("{} got better", count(better.len() as f64)), shown);
    }
    notes(&mut out, regressed);
    commands(&mut out, regressed);
    let _ = write!(out, "\n<sub>{}</sub>\n", escaped(&words::method(regressed)));
    out
}

/// What changed, each change once, with how many variants it is in.
fn changes(out: &mut String, regressed: &Regressed<'_>) {
    let mut all: Vec<(String, usize)> = Vec::new();
    for (case, facts) in regressed.cases() {
        for cause in words::causes(case, facts) {
            let cause = format!("{} in {}", code(&cause), code(&case.file));
            match all.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, n)) => *n += 1,
                None => all.push((cause, 1)),
            }
        }
    }
    if all.is_empty() {
        return;
    }
    out.push_str("\n**What changed:**\n\n");
    for (cause, n) in all.iter().take(LISTED) {
        let variants = if *n == 1 { "1 variant".to_owned() } else { format!("{} variants", count(*n as f64)) };
        let _ = writeln!(out, "- {cause} ({variants})");
    }
    if all.len() > LISTED {
        let _ = writeln!(out, "- and {} more", count((all.len() - LISTED) as f64));
    }
}

fn table(out: &mut String, rows: &[(&Case, &Row)]) {
    out.push_str("| scenario | number | recorded | now | difference | sure | tolerated |\n");
    out.push_str("| --- | --- | ---: | ---: | ---: | --- | ---: |\n");
    for (case, row) in rows {
        let [from, to, difference] = words::moved(row);
        let stem = case.file.rsplit('/').next().unwrap_or(&case.file);
        let _ = writeln!(
            out,
            "| {} {} | {}<br>{} | {} | {} | {} | {} | {} |",
            code(stem),
            code(&case.variant),
            escaped(&words::title(&row.measure)),
            code(&row.measure.path()),
            escaped(&from),
            escaped(&to),
            escaped(&difference),
            escaped(&words::sureness(row.p)),
            escaped(&words::tolerated(row)),
        );
    }
}

fn folded(out: &mut String, summary: &str, rows: &[(&Case, &Row)]) {
    let _ = write!(out, "\n<details><summary>{}</summary>\n\n", escaped(summary));
    table(out, rows);
    out.push_str("\n</details>\n");
}

fn notes(out: &mut String, regressed: &Regressed<'_>) {
    let mut all: Vec<String> = Vec::new();
    for (case, _) in regressed.cases() {
        for note in words::troubles(case).into_iter().chain(words::news(case)) {
            all.push(format!("{} {}: {}", code(&case.file), code(&case.variant), escaped(&note)));
        }
    }
    all.extend(words::caution(regressed).map(|caution| escaped(&caution)));
    if !all.is_empty() {
        out.push('\n');
    }
    for note in all.iter().take(LISTED) {
        let _ = writeln!(out, "- {note}");
    }
    if all.len() > LISTED {
        let _ = writeln!(out, "- and {} more", count((all.len() - LISTED) as f64));
    }
}

/// The commands that show the differences at length.
fn commands(out: &mut String, regressed: &Regressed<'_>) {
    let failing = regressed.cases().filter(|(case, _)| case.is_failure());
    let commands: Vec<&str> = failing.filter_map(|(_, facts)| facts.again.as_deref()).take(LISTED).collect();
    if commands.is_empty() {
        return;
    }
    out.push_str("\n<details><summary>Commands that show it</summary>\n\n```sh\n");
    for command in commands {
        let _ = writeln!(out, "{}", command.replace("```", "'''"));
    }
    let _ = writeln!(out, "{}", regressed.command.replace("```", "'''"));
    out.push_str("```\n\n</details>\n");
}

/// Text in which nothing is taken for markup. Names are quoted by back-ticks already, and keep them.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' => out.push_str("\\|"),
            '*' => out.push_str("\\*"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// Text as it is, in the letters of code.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    // A fence of more back-ticks than the text has in a row; a bar would end the cell of a table.
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{}{space}{fence}", text.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_file_becomes_markup() {
        assert_eq!(escaped("a < b | c & *d*\u{1b}"), "a &lt; b \\| c &amp; \\*d\\* ");
        assert_eq!(code("x = \"a|b\""), "`x = \"a\\|b\"`");
        assert_eq!(code("`y`"), "`` `y` ``");
        assert_eq!(code("a``b\n"), "```a``b ```");
    }
}
