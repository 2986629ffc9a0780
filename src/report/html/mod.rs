//! A page that stands alone: one file, no network, no script, readable in ten years. It answers in the order in which
//! people ask: the verdict, six numbers and how sure they are, what happened when, who was hit, what multiplied, how
//! it was counted, and how to print it again.

mod bill;
mod refusals;
mod sections;
mod strip;

use super::finding::finding;
use super::quantity::count;
use super::story::{Story, Subject};
use super::words::readable;

const STYLE: &str = include_str!("page.css");

/// What a page needs beside its subject.
#[derive(Clone, Copy, Debug)]
pub struct Extras<'a> {
    /// The timeline as inline SVGs; left out where there are none.
    pub timelines: Option<Timelines<'a>>,
    /// Style rules that carry the pictures' fonts.
    pub font_faces: &'a str,
    /// The command that prints the page again.
    pub command: &'a str,
}

/// The same timeline in four layouts, each an inline SVG.
#[derive(Clone, Copy, Debug)]
pub struct Timelines<'a> {
    /// For a wide light page.
    pub light: &'a str,
    /// For a wide dark page.
    pub dark: &'a str,
    /// For a phone, light.
    pub narrow: &'a str,
    /// For a phone, dark.
    pub narrow_dark: &'a str,
}

/// The stand-alone page of a run.
pub fn page(subject: &Subject<'_>, extras: Extras<'_>) -> String {
    let finding = finding(subject);
    let mut body = String::new();
    body.push_str(&head(subject, &finding));
    if let Some(story) = Story::of(subject) {
        body.push_str(&sections::numbers(subject, &story));
        body.push_str(&sections::verdict(subject));
        body.push_str(&sections::timeline(subject, extras, &finding));
        body.push_str(&sections::phases(subject));
        body.push_str(&sections::factors(subject, &story));
        body.push_str(&sections::models(subject));
        body.push_str(&refusals::refusals(subject));
        body.push_str(&bill::bill(subject));
        body.push_str(&sections::guards(subject));
        body.push_str(&sections::hedges(subject));
        body.push_str(&sections::interventions(subject));
        body.push_str(&sections::alerts(subject));
    }
    body.push_str(&sections::certainty(subject));
    body.push_str(&sections::again(subject, extras.command));
    frame(&subject.scenario.title, extras.font_faces, &body)
}

/// A whole page around its sections.
pub(super) fn frame(title: &str, font_faces: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} · retrycast</title>\n<style>\n{font_faces}\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escaped(title),
    )
}

fn head(subject: &Subject<'_>, finding: &str) -> String {
    let runs = match subject.result.replicates {
        None => String::new(),
        Some(1) => " · 1 replicate".to_owned(),
        Some(n) => format!(" · {} replicates", count(n as f64)),
    };
    format!(
        "<header>\n<p class=\"run\"><b>retrycast</b> {} · variant <b>{}</b> · seed {}{runs}</p>\n\
         <h1>{}</h1>\n<p class=\"lead\">{}</p>\n</header>\n",
        escaped(&readable(&subject.scenario.name)),
        escaped(&subject.scenario.variant),
        subject.result.seed.0,
        sentence(finding),
        escaped(&subject.scenario.title),
    )
}

/// Text as HTML has it.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// A sentence as HTML has it: what stands between backticks is code.
pub(crate) fn sentence(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, quoted)) = rest.split_once('`')
        && let Some((code, after)) = quoted.split_once('`')
    {
        out.extend([&escaped(before), "<code>", &escaped(code), "</code>"]);
        rest = after;
    }
    out.push_str(&escaped(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn printed(result: &crate::experiment::RunResult) -> String {
        let (scenario, worst) = (fixture::scenario(), fixture::worst());
        let subject = Subject { worst: &worst, ..Subject::new(&scenario, result) };
        let svg = "<svg viewBox=\"0 0 1600 900\"><rect width=\"1600\" height=\"900\" fill=\"#fff\"/></svg>";
        page(
            &subject,
            Extras {
                timelines: Some(Timelines { light: svg, dark: svg, narrow: svg, narrow_dark: svg }),
                font_faces: "",
                command: "retrycast run scenarios/report_storm.toml --seed 1",
            },
        )
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(sentence("send `a<b` and `c`"), "send <code>a&lt;b</code> and <code>c</code>");
        assert_eq!(sentence("one ` alone"), "one ` alone");
    }

    #[test]
    fn the_page_stands_alone() {
        for result in [fixture::single(), fixture::replicated()] {
            let page = printed(&result);
            assert!(page.starts_with("<!doctype html>"));
            for outside in ["http://", "https://", "<script", "<link", "@import", "url(", "src="] {
                assert!(!page.contains(outside), "{outside}");
            }
            assert!(page.contains("<h1>Three stacked retry layers turn"));
            assert!(page.contains("prefers-color-scheme: dark"));
            assert!(page.contains("retrycast run scenarios/report_storm.toml --seed 1"));
            assert!(page.contains("9372f5b103e37352"));
        }
    }

    #[test]
    fn every_tag_that_opens_closes() {
        let page = printed(&fixture::replicated());
        for tag in ["main", "section", "table", "tr", "td", "th", "div", "p", "ul", "li", "figure", "svg", "dl", "h2"] {
            let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }

    #[test]
    fn names_of_the_scenario_cannot_become_markup() {
        let mut scenario = fixture::scenario();
        scenario.title = "<b>&\"storm\"".into();
        scenario.traffic[0].name = "<i>".into();
        let result = fixture::single();
        let page = page(&Subject::new(&scenario, &result), Extras { timelines: None, font_faces: "", command: "<x>" });
        assert!(page.contains("&lt;b&gt;&amp;&quot;storm&quot;"));
        assert!(!page.contains("<i>") && !page.contains("<x>"));
    }
}
