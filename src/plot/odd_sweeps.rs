//! Pictures of sweeps that nobody means to make: long names, one value, one seed, never, nothing, thirty by thirty. With
//! `RETRYCAST_PICTURES` set to a folder, each is also written there, to be looked at.

use super::sheet::{Frame, Mark};
use super::{Picture, Setting, Theme, sweep};
use crate::experiment::axis::{Axis, Quantity, Span, Value};
use crate::experiment::measure::measures;
use crate::experiment::{Point, Sweep};
use crate::random::Seed;
use crate::report::sweep::{Swept, telling, text};
use crate::scenario::{Source, load};

fn axis(path: &str, texts: &[String], is_scale: bool, log: bool) -> Axis {
    let number = |at: usize| if log { f64::from(1_u32 << at.min(20)) } else { at as f64 };
    let values: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| Value { text: text.clone(), number: is_scale.then(|| number(at)) })
        .collect();
    let span = is_scale.then(|| Span { from: number(0), to: number(texts.len() - 1), log, whole: true });
    let quantity = if is_scale { Quantity::Number } else { Quantity::Choice };
    Axis { paths: vec![path.to_owned()], quantity, values, span }
}

fn counted(n: usize) -> Vec<String> {
    (0..n).map(|at| at.to_string()).collect()
}

/// A sweep of the incident's numbers with values from a rule of measure, point and seed.
fn picture(axes: Vec<Axis>, seeds: u64, reference: usize, rule: fn(usize, usize, u64) -> f64) -> Picture {
    let file = r#"
        horizon = "10m"
        [provider.faults.overload]
        window = ["1m", "2m"]
        respond = { status = 529 }
        [clients.c]
        layers = []
        [traffic.report]
        kind = "jobs"
        workers = 8
        client = "c"
        arrivals = { poisson = "20/min" }
        steps = [{ name = "write", input_tokens = 1, latency = "1s" }]
        [traffic.live]
        kind = "turns"
        client = "c"
        arrivals = { poisson = "20/min" }
        steps = [{ name = "answer", input_tokens = 1, latency = "1s" }]
    "#;
    let scenario = load(&Source::new("odd.toml", file)).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let measures = measures(&[&scenario]);
    let places = crate::experiment::sweep::places(&axes);
    let grid = places.len();
    let point = |(index, at): (usize, Vec<usize>)| {
        let of = |row: usize| (0..seeds).map(|seed| rule(row, index, seed)).collect();
        Point::new(at, (0..measures.len()).map(of).collect())
    };
    let mut points: Vec<Point> = places.into_iter().enumerate().map(point).collect();
    if reference == grid {
        points.push(point((grid, Vec::new())));
    }
    let current = axes.iter().map(|axis| axis.values.last().cloned()).collect::<Vec<_>>();
    let sweep_of = Sweep { axes, seed: Seed(1), replicates: seeds, measures, points, grid, reference, is_sure: None };
    let shown = telling(&sweep_of);
    let every: Vec<usize> = (0..sweep_of.measures.len()).collect();
    let swept = Swept::new(&sweep_of, &scenario, &current, &shown, &every);
    // The words of the same sweep fit any page.
    for columns in [40, 60, 80, 120] {
        let page = text::text(&swept, columns);
        for line in page.lines() {
            let line = anstream::adapter::strip_str(line).to_string();
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
    }
    sweep(&swept, &"retrycast sweep scenarios/report_storm.toml --vary 'a.b.c=1,2,3' ".repeat(5), &Theme::LIGHT)
}

/// A value that rises with the point and spreads with the seed.
fn rising(row: usize, point: usize, seed: u64) -> f64 {
    0.01 * (row % 7 + 1) as f64 * (point as f64 + 0.3 * (seed % 5) as f64)
}

fn pictures() -> Vec<(&'static str, Picture)> {
    let long: Vec<String> =
        (0..6).map(|at| format!("{{ exponential = {{ initial = \"{at}s\", cap = \"30s\" }} }}")).collect();
    let deep = "clients.a_client_with_a_name.layers.a_layer_with_a_name.a_setting_with_a_name_that_is_long.and_longer";
    vec![
        ("curve", picture(vec![axis("a.b", &counted(9), true, false)], 20, 3, rising)),
        ("ratios", picture(vec![axis("a.b", &counted(12), true, true)], 20, 12, rising)),
        ("choices", picture(vec![axis(deep, &long, false, false)], 20, 2, rising)),
        ("one", picture(vec![axis("a.b", &counted(1), true, false)], 1, 0, rising)),
        ("many", picture(vec![axis("a.b", &counted(300), true, false)], 3, 300, rising)),
        ("never", picture(vec![axis("a.b", &counted(5), true, false)], 9, 5, |_, _, _| f64::INFINITY)),
        ("nothing", picture(vec![axis("a.b", &counted(5), true, false)], 9, 5, |_, _, _| f64::NAN)),
        (
            "at-times",
            picture(vec![axis("a.b", &counted(8), true, false)], 9, 5, |row, point, seed| {
                if (seed as usize) < point { f64::INFINITY } else { 1e4 * rising(row, point, seed) }
            }),
        ),
        (
            "grid",
            picture(vec![axis("a.b", &counted(4), true, false), axis("c.d", &counted(6), true, false)], 20, 7, rising),
        ),
        (
            "thirty",
            picture(vec![axis("a.b", &counted(30), true, false), axis("c.d", &counted(30), true, true)], 2, 9, rising),
        ),
        ("long", picture(vec![axis(deep, &long, false, false), axis("c.d", &long, false, false)], 9, 36, rising)),
        (
            "dark",
            picture(
                vec![axis("a.b", &counted(2), true, false), axis("c.d", &counted(2), true, false)],
                9,
                1,
                |_, _, _| f64::INFINITY,
            ),
        ),
    ]
}

#[test]
fn text_of_a_sweep_stays_on_the_page_and_touches_no_other() {
    for (name, picture) in pictures() {
        if let Ok(folder) = std::env::var("RETRYCAST_PICTURES") {
            std::fs::write(format!("{folder}/sweep-{name}.png"), picture.png(1.0).unwrap()).unwrap();
        }
        let page = Frame { left: 0.0, top: 0.0, right: f64::from(picture.width), bottom: f64::from(picture.height) };
        let texts: Vec<(&Mark, Frame)> =
            picture.marks.iter().filter_map(|mark| Some((mark, mark.text_frame()?))).collect();
        assert!(!texts.is_empty());
        for (i, (mark, frame)) in texts.iter().enumerate() {
            assert!(page.holds(frame), "{name}: {mark:?}");
            for (other, taken) in &texts[i + 1..] {
                assert!(!frame.grown(-1.0).touches(&taken.grown(-1.0)), "{name}: {mark:?} {other:?}");
            }
        }
        let svg = picture.svg(Setting::File);
        let body = &svg[svg.find("</desc>").unwrap()..];
        assert!(!body.contains("NaN") && !body.contains("inf,") && !body.contains("-2147483648"), "{name}");
    }
}
