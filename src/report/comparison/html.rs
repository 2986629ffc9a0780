//! The comparison as a page that stands alone: the finding, the picture, the table for each arm, what to beware of, and
//! what was changed.

use std::fmt::Write as _;

use super::finding::findings;
use super::label::short;
use super::rows::{self, Group, groups};
use super::signed::{cell, difference};
use super::text::verdict;
use super::{Change, Compared, cautions, unit};
use crate::report::html::{escaped, frame, sentence};
use crate::report::json::digest;
use crate::report::quantity::count;

/// The same picture for a light page and for a dark one, each an inline SVG.
#[derive(Clone, Copy, Debug)]
pub struct Pictures<'a> {
    /// For a light page.
    pub light: &'a str,
    /// For a dark page.
    pub dark: &'a str,
}

/// The page.
pub fn page(compared: &Compared<'_>, pictures: Pictures<'_>, font_faces: &str, command: &str) -> String {
    let mut body = head(compared);
    let figure = |class: &str, svg: &str| {
        format!(
            "<figure class=\"picture {class} any\" role=\"img\" aria-label=\"All arms over time\">\n{svg}\n</figure>\n"
        )
    };
    let _ = write!(
        body,
        "<section>\n<h2>What happened when</h2>\n{}{}<p class=\"foot\">The numbers are in the tables below and in \
         <code>comparison.csv</code>.</p>\n</section>\n",
        figure("on-light", pictures.light),
        figure("on-dark", pictures.dark),
    );
    for arm in compared.others() {
        body.push_str(&table(compared, arm));
    }
    body.push_str(&beware(compared));
    body.push_str(&changed(compared));
    body.push_str(&again(compared, command));
    let title = format!("{}: {}", compared.reference().scenario.title, names(compared));
    frame(&title, font_faces, &body)
}

/// The pieces of HTML that things make, one after the other.
fn each<T>(things: impl IntoIterator<Item = T>, html: impl Fn(T) -> String) -> String {
    things.into_iter().map(html).collect::<Vec<_>>().concat()
}

fn names(compared: &Compared<'_>) -> String {
    compared.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn head(compared: &Compared<'_>) -> String {
    let said = findings(compared);
    let (first, others) = said.split_first().map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
    let others = each(others, |said| format!("<p><b>{}</b></p>\n", sentence(said)));
    let said = format!("<h1>{}</h1>\n{others}", sentence(first));
    format!(
        "<header>\n<p class=\"run\"><b>retrycast</b> {} · {} · seed {} · {} replicates</p>\n{said}\
         <p class=\"lead\">{}</p>\n</header>\n",
        escaped(&compared.reference().scenario.name),
        escaped(&names(compared)),
        compared.comparison.trial.seed.0,
        count(compared.replicates() as f64),
        escaped(&compared.reference().scenario.title),
    )
}

fn table(compared: &Compared<'_>, arm: usize) -> String {
    let [first, own] = [&compared.reference().name, &compared.arms[arm].name].map(|name| escaped(name));
    let seeds = format!("of {} seeds", count(compared.replicates() as f64));
    let heads = [first.clone(), own.clone(), "difference ± 95 %".to_owned(), seeds];
    let mut out = format!(
        "<section>\n<h2>{own} against {first}</h2>\n<table class=\"phases\">\n<thead><tr><th></th>{}</tr></thead>\n<tbody>\n",
        each(&heads, |head| format!("<th scope=\"col\">{head}</th>"))
    );
    let factors = rows::factors(compared).into_iter().map(|(mut group, product)| {
        group.rows.extend(product);
        group
    });
    for Group { heading, rows } in groups(compared).into_iter().chain(factors) {
        let _ = writeln!(out, "<tr><th colspan=\"5\" scope=\"rowgroup\">{}</th></tr>", escaped(&heading));
        for row in rows {
            let measure = &compared.comparison.trial.measures[row];
            let effects = [0, arm].map(|arm| &compared.comparison.effects[arm][row]);
            let largest = effects.iter().filter_map(|effect| effect.cell.mean()).fold(0.0, f64::max);
            let unit = unit(measure.kind, largest);
            let cells = [
                cell(&effects[0].cell, unit),
                cell(&effects[1].cell, unit),
                difference(effects[0], effects[1], measure.kind, unit),
                verdict(compared, arm, row),
            ];
            let cells = each(heads.iter().zip(cells), |(head, cell)| {
                format!("<td data-phase=\"{head}\">{}</td>", escaped(&cell))
            });
            let label = sentence(&short(measure));
            let _ = writeln!(out, "<tr class=\"part\"><th scope=\"row\">{label}</th>{cells}</tr>");
        }
    }
    out.push_str("</tbody>\n</table>\n</section>\n");
    out
}

fn beware(compared: &Compared<'_>) -> String {
    let list = each(cautions(compared), |caution| {
        let [seen, meaning, remedy] = [&caution.seen, &caution.meaning, &caution.remedy].map(|text| sentence(text));
        format!("<p class=\"warning\"><b>{seen}.</b> It may mean: {meaning}. Try: {remedy}.</p>\n")
    });
    if list.is_empty() { list } else { format!("<section>\n<h2>Beware</h2>\n{list}</section>\n") }
}

fn changed(compared: &Compared<'_>) -> String {
    let mut out = "<section>\n<h2>What differs</h2>\n".to_owned();
    for arm in compared.others() {
        let facts = &compared.arms[arm];
        let items = each(&facts.changes, |change| format!("<li>{}</li>\n", sentence(&change_words(change))));
        let _ = write!(out, "<p><b>{}</b></p>\n<ul>\n{items}</ul>\n", escaped(&facts.name));
    }
    out.push_str("</section>\n");
    out
}

/// "`clients.batch.layers.sdk.max_retries` 2 → 3".
pub(super) fn change_words(change: &Change) -> String {
    let Change { path, from, to } = change;
    match (from, to) {
        (Some(from), Some(to)) => format!("`{path}` {from} → {to}"),
        (None, Some(to)) => format!("`{path}` = {to}"),
        (_, None) => format!("without `{path}`"),
    }
}

fn again(compared: &Compared<'_>, command: &str) -> String {
    let digests = each(compared.arms.iter().zip(&compared.comparison.trial.arms), |(arm, own)| {
        format!("<li>{}: <code>{}</code></li>\n", escaped(&arm.name), digest(own.digest))
    });
    format!(
        "<section>\n<h2>Print it again</h2>\n<p>Intervals are {}. Rows “of all” count what was not delivered as \
         never.</p>\n<p><code>{}</code></p>\n<p>The same file, seed and version give the same digests:</p>\n<ul>\n{digests}</ul>\n\
         </section>\n",
        escaped(super::json::METHOD),
        escaped(command)
    )
}
