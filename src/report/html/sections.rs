//! The sections of the page.

use crate::experiment::Figure;
use crate::explain::Sustain;
use crate::metrics::Tree;
use crate::report::counting;
use crate::report::headline::{Headline, Tint, headlines, place};
use crate::report::json::{FORMAT, digest};
use crate::report::model_table::{self, HEADS, model_table};
use crate::report::phase_table::{Row, phase_table};
use crate::report::quantity::{Unit, count, modes_of};
use crate::report::story::{Scope, Story, Subject};
use crate::report::sustain::{self, conditions};
use crate::report::warning::warnings;
use crate::report::words::{capitalised, readable, task};

use super::strip::strip;
use super::{Extras, escaped, sentence};

/// Six numbers, each with what it is counted over and how sure it is.
pub(super) fn numbers(subject: &Subject<'_>, story: &Story<'_>) -> String {
    let headlines = headlines(subject, story);
    let cards: Vec<String> = headlines.iter().map(card).collect();
    let cards = cards.concat();
    let key = match (subject.is_replicated(), headlines.iter().any(|headline| headline.first.is_some())) {
        (false, _) => "one run is one draw: no intervals".to_owned(),
        (true, false) => "bar: 5 to 95 % of the replicates · tick: mean".to_owned(),
        (true, true) => format!("dot: seed {} · bar: 5 to 95 % of the replicates · tick: mean", subject.result.seed.0),
    };
    format!(
        "<section aria-label=\"Numbers\">\n<div class=\"cards\">\n{cards}</div>\n<p class=\"foot\">{}</p>\n</section>\n",
        sentence(&key)
    )
}

/// Whether an overload outlived its cause, why, and how far from the threshold that is; nothing where servers are not
/// limited.
pub(super) fn verdict(subject: &Subject<'_>) -> String {
    let conditions = Sustain::of(subject.scenario).as_ref().map(conditions);
    let sentences: Vec<String> =
        sustain::verdict(subject).into_iter().chain(conditions.into_iter().flatten()).collect();
    if sentences.is_empty() {
        return String::new();
    }
    let items: Vec<String> = sentences.iter().map(|text| format!("<li>{}</li>\n", sentence(text))).collect();
    format!(
        "<section aria-label=\"Does it last\">\n<h2>Does the overload outlive its cause?</h2>\n<ul>\n{}</ul>\n</section>\n",
        items.concat()
    )
}

fn card(headline: &Headline<'_>) -> String {
    let modes = headline.figure.map_or(&[][..], modes_of);
    let value = headline.figure.and_then(Figure::center).map_or_else(
        || "not within the run".to_owned(),
        |_| if modes.len() > 1 { headline.unit.brief(headline.figure) } else { without_interval(headline) },
    );
    let interval = match headline.figure.and_then(Figure::interval) {
        _ if modes.len() > 1 => format!("<p class=\"sure\">{}</p>", escaped(&headline.unit.modes(modes))),
        Some((low, high)) => format!(
            "<p class=\"sure\">5 to 95 %: {} to {}</p>",
            escaped(&headline.unit.bare(low)),
            escaped(&headline.unit.full(high))
        ),
        None => String::new(),
    };
    format!(
        "<div class=\"card\"><p class=\"value {}\">{}</p><p class=\"label\">{}</p><p class=\"note\">{}</p>{}{interval}</div>\n",
        class(headline.tint),
        escaped(&value),
        escaped(&headline.label),
        sentence(&headline.note),
        strip(headline.figure, headline.first, headline.unit),
    )
}

fn without_interval(headline: &Headline<'_>) -> String {
    let sign = if headline.unit == Unit::Ratio { "×" } else { "" };
    format!("{}{sign}", headline.unit.brief(headline.figure))
}

const fn class(tint: Tint) -> &'static str {
    match tint {
        Tint::Plain => "plain",
        Tint::Throttled => "throttled",
        Tint::Overloaded => "overloaded",
        Tint::Failed => "failed",
    }
}

/// The timeline; its numbers stand in the table below and in `timeline.csv`, or in the log of requests where single
/// requests are shown.
pub(super) fn timeline(subject: &Subject<'_>, extras: Extras<'_>, finding: &str) -> String {
    let Some(timelines) = extras.timelines else { return String::new() };
    let figure = |class: &str, svg: &str| {
        // An XML declaration has no place inside a page.
        let svg = svg.find("<svg").map_or(svg, |at| &svg[at..]);
        format!(
            "<figure class=\"picture {class}\" role=\"img\" tabindex=\"0\" aria-label=\"Timeline. {}\">\n{svg}\n</figure>\n",
            escaped(finding)
        )
    };
    let figures = [
        figure("on-light wide", timelines.light),
        figure("on-dark wide", timelines.dark),
        figure("on-light narrow", timelines.narrow),
        figure("on-dark narrow", timelines.narrow_dark),
    ]
    .concat();
    let numbers = if subject.result.tracks.is_empty() {
        "The numbers of this picture are in <code>timeline.csv</code> beside this page."
    } else {
        "The requests of this picture are in the log that <code>--log</code> writes."
    };
    format!("<section>\n<h2>What happened when</h2>\n{figures}<p class=\"foot\">{numbers}</p>\n</section>\n")
}

/// The table by phase; on a phone each row becomes a block.
pub(super) fn phases(subject: &Subject<'_>) -> String {
    let table = phase_table(subject);
    if table.columns.is_empty() {
        return String::new();
    }
    let head: Vec<String> = table
        .columns
        .iter()
        .map(|(name, span)| format!("<th scope=\"col\">{}<br><span>{}</span></th>", escaped(name), escaped(span)))
        .collect();
    let head = head.concat();
    let rows: Vec<String> = table
        .rows
        .iter()
        .map(|row| {
            let cells: Vec<String> = row
                .cells
                .iter()
                .zip(&table.columns)
                .map(|(cell, (name, _))| format!("<td data-phase=\"{}\">{}</td>", escaped(name), escaped(cell)))
                .collect();
            let cells = cells.concat();
            let part = if row.part { " class=\"part\"" } else { "" };
            format!("<tr{part}><th scope=\"row\">{}</th>{cells}</tr>\n", label(row))
        })
        .collect();
    let rows = rows.concat();
    let caption = if subject.is_replicated() { "Means over the replicates." } else { "One run." };
    format!(
        "<section>\n<h2>By phase</h2>\n<table class=\"phases\">\n<caption>{caption}</caption>\n\
         <thead><tr><td></td>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</section>\n"
    )
}

fn label(row: &Row) -> String {
    let text = escaped(&row.label);
    match (&row.word, row.tint) {
        (Some(_), tint @ (Tint::Throttled | Tint::Overloaded)) => {
            format!("<i class=\"swatch {}\" aria-hidden=\"true\"></i>{text}", class(tint))
        }
        (Some(_), Tint::Failed) => format!("<b>× {text}</b>"),
        (Some(_) | None, _) => text,
    }
}

/// What each layer multiplied, outermost first.
pub(super) fn factors(subject: &Subject<'_>, story: &Story<'_>) -> String {
    let path = story.scope.path(&story.cause.name, &["factors"]);
    let branches = subject.result.figures.at(&path).map_or(&[][..], Tree::branches);
    if branches.is_empty() {
        return String::new();
    }
    let worst = subject.worst.iter().find(|worst| worst.class == story.cause.name);
    let client = subject.scenario.client_of(story.cause);
    let queue = client.queue().and_then(|_| client.elements().last()).map(|element| element.name.as_str());
    let number = |n: Option<u64>| n.map_or_else(|| "no limit".to_owned(), |n| count(n as f64));
    let rows: Vec<String> = branches
        .iter()
        .map(|(key, branch)| {
            let Tree::Leaf(figure) = branch else { return String::new() };
            let layer = if key == "runs" { queue.unwrap_or(key) } else { key };
            let attempts = worst.and_then(|worst| worst.attempts.iter().find(|(name, _)| name == layer));
            format!(
                "<tr><th scope=\"row\">{}</th><td data-phase=\"what\">{}</td><td data-phase=\"at worst\">{}</td>\
                 <td data-phase=\"measured\">{}</td></tr>\n",
                escaped(&readable(layer)),
                meaning(key),
                attempts.map_or_else(String::new, |(_, n)| number(*n)),
                escaped(&Unit::Ratio.figure(Some(figure))),
            )
        })
        .collect();
    let rows = rows.concat();
    let at_worst = worst.map_or_else(String::new, |worst| {
        format!(
            " By design one step can cost {} requests, one {} {}.",
            number(worst.per_step),
            escaped(&task(story.cause)),
            number(worst.per_task)
        )
    });
    let figure = |key| story.figure(subject, &[key]);
    let (needed, sent) = (Unit::Count.brief(figure("steps_offered")), Unit::Count.brief(figure("requests")));
    let product = Unit::Ratio.figure(figure("amplification_by_task"));
    let hops = story.through_hops(subject).zip(figure("amplification_by_task").and_then(Figure::center));
    let behind = hops.map_or_else(String::new, |(hops, own)| {
        format!(" of the client, and {} at the provider", Unit::Ratio.bare(own * hops))
    });
    let ratio = Unit::Ratio.figure(figure("amplification"));
    let where_ = match story.scope {
        Scope::Whole => "in the whole run".to_owned(),
        Scope::Phase(_) => format!("in the phase {}", place(story.scope)),
    };
    format!(
        "<section>\n<h2>How {needed} became {sent}</h2>\n<table class=\"factors\">\n\
         <thead><tr><th scope=\"col\">layer</th><th scope=\"col\">counts</th><th scope=\"col\">at worst</th>\
         <th scope=\"col\">measured</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n\
         <p>Followed to their end, these tasks cost {} requests per request needed{behind}: the factors multiply to it. \
         {}, {sent} requests were sent for {needed} needed: {}.{at_worst}</p>\n</section>\n",
        escaped(&product),
        escaped(&capitalised(&where_)),
        escaped(&ratio),
    )
}

fn meaning(key: &str) -> &'static str {
    match key {
        "runs" => "runs per task",
        "steps_reached" => "share of its steps that a run gets to",
        _ => "attempts per entry",
    }
}

/// What each model was asked and answered, and who sent its failures; nothing where models are not told apart.
pub(super) fn models(subject: &Subject<'_>) -> String {
    let rows = model_table(subject);
    if rows.is_empty() {
        return String::new();
    }
    let heads = HEADS.map(|head| format!("<th scope=\"col\">{head}</th>")).concat();
    let row = |row: &model_table::Row| {
        let cells = HEADS.iter().zip(&row.cells);
        let cells = cells.map(|(head, cell)| format!("<td data-phase=\"{head}\">{cell}</td>"));
        let cells = cells.collect::<Vec<String>>().concat();
        format!(
            "<tr><th scope=\"row\">{} to {}</th>{cells}<td data-phase=\"failed by\">{}</td></tr>\n",
            escaped(&row.class),
            escaped(&row.model),
            sentence(&row.failed_by.join(", "))
        )
    };
    let rows = rows.iter().map(row).collect::<Vec<String>>().concat();
    format!(
        "<section>\n<h2>Which model answered what</h2>\n<table class=\"factors\">\n<thead><tr><th scope=\"col\">requests \
         of</th>{heads}<th scope=\"col\">failed by</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</section>\n"
    )
}

/// What breakers and pacers did; nothing where none acted.
pub(super) fn guards(subject: &Subject<'_>) -> String {
    let did = crate::report::guards::guards(subject);
    if did.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = did.iter().map(|text| format!("<li>{}.</li>\n", sentence(&capitalised(text)))).collect();
    format!("<section>\n<h2>What the guards did</h2>\n<ul>\n{}</ul>\n</section>\n", lines.concat())
}

/// What hedging sent beside the first requests; nothing where nobody hedged.
pub(super) fn hedges(subject: &Subject<'_>) -> String {
    let said = crate::report::hedges::hedges(subject);
    if said.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = said.iter().map(|text| format!("<li>{}.</li>\n", sentence(&capitalised(text)))).collect();
    format!("<section>\n<h2>What was hedged</h2>\n<ul>\n{}</ul>\n</section>\n", lines.concat())
}

/// What the operator did; nothing where the file has no interventions.
pub(super) fn interventions(subject: &Subject<'_>) -> String {
    let did = crate::report::interventions::interventions(subject);
    if did.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = did.iter().map(|text| format!("<li>{}.</li>\n", sentence(text))).collect();
    format!("<section>\n<h2>What the operator did</h2>\n<ul>\n{}</ul>\n</section>\n", lines.concat())
}

/// What monitoring would have said; nothing where the file has no alerts.
pub(super) fn alerts(subject: &Subject<'_>) -> String {
    let said = crate::report::alerts::alerts(subject);
    if said.is_empty() {
        return String::new();
    }
    let rules = subject.scenario.alerts.iter().map(|alert| crate::report::alerts::rule(subject, alert));
    let line = |(text, rule): (&String, String)| {
        format!(
            "<li>{}. <span class=\"foot\">The rule: {}.</span></li>\n",
            sentence(&capitalised(text)),
            sentence(&rule)
        )
    };
    let lines: Vec<String> = said.iter().zip(rules).map(line).collect();
    format!("<section>\n<h2>When alerts would have fired</h2>\n<ul>\n{}</ul>\n</section>\n", lines.concat())
}

/// How sure the numbers are, and how they were counted.
pub(super) fn certainty(subject: &Subject<'_>) -> String {
    let sure = match subject.result.replicates {
        None => {
            "This is one run, one draw of many. Add <code>--replicates 1000</code> to see how far the numbers vary."
                .to_owned()
        }
        Some(n) => format!(
            "Means over {} runs with seeds made from seed {}; brackets and bars span the 5 % and 95 % quantiles of the runs. \
             They say how far chance moves a number, not whether the model is right.",
            count(n as f64),
            subject.result.seed.0
        ),
    };
    let seen: Vec<String> = warnings(subject)
        .iter()
        .map(|warning| format!("<p class=\"warning\">{}</p>\n", sentence(&warning.sentence())))
        .collect();
    let seen = seen.concat();
    let counted: Vec<String> =
        counting::SENTENCES.iter().map(|told| format!("<li>{}.</li>\n", sentence(&capitalised(told)))).collect();
    let counted = counted.concat();
    format!(
        "<section>\n<h2>How sure is this?</h2>\n{seen}<p>{sure}</p>\n<h2>How it was counted</h2>\n<ul>\n{counted}</ul>\n</section>\n"
    )
}

/// The command, and what makes two pages the same.
pub(super) fn again(subject: &Subject<'_>, command: &str) -> String {
    format!(
        "<section>\n<h2>Print it again</h2>\n<pre><code>{}</code></pre>\n<dl>\n\
         <dt>digest</dt><dd><code>{}</code></dd>\n<dt>world digest</dt><dd><code>{}</code></dd>\n\
         <dt>version</dt><dd>retrycast {}, format <code>{FORMAT}</code></dd>\n</dl>\n\
         <p class=\"foot\">Equal digests mean the same run, fact by fact, on any machine and with any number of threads. \
         This page loads nothing from the network; the exact numbers are in <code>summary.json</code> beside it.</p>\n</section>\n",
        escaped(command),
        digest(subject.result.digest),
        digest(subject.result.world_digest),
        env!("CARGO_PKG_VERSION"),
    )
}
