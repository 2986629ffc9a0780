//! Worlds that a search has not seen: the same traffic, and other overloads. A policy that was fitted to one overload may
//! be worth less in the next one, which will be shorter or longer, milder or harder.

use crate::provider::{Profile, Window};
use crate::scenario::Scenario;
use crate::units::{SimDuration, SimTime};

/// A world, as what is changed in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub what: String,
    /// The changes, each as behind `--set`.
    pub sets: Vec<String>,
}

/// By how much the other overloads differ from the one of the file.
const SHORTER: f64 = 0.5;
const LONGER: f64 = 1.5;
const MILDER: f64 = 0.5;
const HARDER: f64 = 1.5;

/// A shorter, a longer, a milder and a harder overload: every fault that has a window, changed alike. None where no fault
/// has one.
pub fn overloads(scenario: &Scenario) -> Vec<World> {
    if scenario.fault_windows().is_empty() {
        return Vec::new();
    }
    let world = |name: &str, what: &str, length: f64, likely: f64| World {
        name: name.to_owned(),
        what: what.to_owned(),
        sets: changes(scenario, length, likely),
    };
    vec![
        world("shorter", "each fault window half as long", SHORTER, 1.0),
        world("longer", "each fault window half as long again", LONGER, 1.0),
        world("milder", "in each fault window a fault half as likely", 1.0, MILDER),
        world("harder", "in each fault window a fault half as likely again, at most certain", 1.0, HARDER),
    ]
}

/// All windows made so many times as long, all probabilities in them so many times as large.
fn changes(scenario: &Scenario, length: f64, likely: f64) -> Vec<String> {
    let mut sets = Vec::new();
    let mut later = SimDuration::ZERO;
    for fault in &scenario.provider.faults {
        let Some(window) = fault.window.filter(|window| window.from < scenario.horizon) else { continue };
        let path = format!("provider.faults.{}", fault.name);
        let several = fault.terms.as_ref().map_or(&[][..], |terms| &terms.windows);
        if !several.is_empty() {
            let (windows, end) = stretched(several, length);
            later = later.max(end.since(window.to.min(end)));
            sets.push(format!("{path}.windows=[{windows}]"));
        } else if length != 1.0 {
            let to = window.from + window.length().scaled(length);
            later = later.max(to.since(window.to.min(to)));
            sets.push(format!("{path}.window=[\"{}\", \"{}\"]", since(window.from), since(to)));
        }
        // A window of several keeps its place, and so do the instants at which a probability changes.
        let length = if several.is_empty() { length } else { 1.0 };
        let changed = |profile: &Profile| written(profile, window, length, likely);
        let is_as_before =
            several.is_empty() && likely == 1.0 && fault.probability.iter().all(|profile| profile.points().len() == 1);
        if !is_as_before {
            let classes = scenario.traffic.iter().zip(&fault.probability);
            let by_class: Vec<String> =
                classes.map(|(class, profile)| format!("{} = {}", class.name, changed(profile))).collect();
            sets.push(format!("{path}.by_class={{ {} }}", by_class.join(", ")));
        }
    }
    // What a longer overload leaves behind needs its time too.
    if !later.is_zero() {
        sets.push(format!("horizon={}", scenario.length() + later));
    }
    sets
}

/// Windows made so many times as long, each from its beginning, and at most up to the next; and the end of the last.
fn stretched(windows: &[(String, Window)], length: f64) -> (String, SimTime) {
    let next = windows.iter().skip(1).map(|(_, next)| next.from).chain([SimTime::NEVER]);
    let ends = windows
        .iter()
        .zip(next)
        .map(|((_, window), next)| (window.from, (window.from + window.length().scaled(length)).min(next)));
    let ends: Vec<(SimTime, SimTime)> = ends.collect();
    let written: Vec<String> =
        ends.iter().map(|(from, to)| format!("[\"{}\", \"{}\"]", since(*from), since(*to))).collect();
    (written.join(", "), ends.last().map_or(SimTime::ZERO, |(_, to)| *to))
}

fn since(at: SimTime) -> SimDuration {
    at - SimTime::ZERO
}

/// A probability as a scenario takes it, its times stretched and its values multiplied.
fn written(profile: &Profile, window: Window, length: f64, likely: f64) -> String {
    let value = |value: f64| {
        let scaled = (value * likely).min(1.0);
        // Nine digits: more are the noise of a product.
        format!("{}", (scaled * 1e9).round() / 1e9)
    };
    match profile.points() {
        [(_, only)] => value(*only),
        points => {
            let point = |(at, probability): &(SimTime, f64)| {
                let offset = at.since(window.from.min(*at)).scaled(length);
                format!("[\"{offset}\", {}]", value(*probability))
            };
            format!("[{}]", points.iter().map(point).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Source, load};

    #[test]
    fn several_windows_are_stretched_each_from_its_beginning() {
        let text = "horizon = \"1h\"\n[provider.faults.twice]\nrespond = { status = 500 }\n\
            windows = [[\"10m\", \"14m\"], [\"15m\", \"17m\", 0.4]]\nprobability = 0.8\n\
            [clients.one]\nlayers = []\n[traffic.live]\nkind = \"turns\"\nclient = \"one\"\narrivals = { every = \"1s\" }\n\
            steps = [{ name = \"turn\", input_tokens = 1, latency = \"1s\" }]\n";
        let source = crate::scenario::Source::new("w.toml", text);
        let scenario = crate::scenario::load(&source).unwrap();
        // By hand: 4 min become 6, and at most the 5 up to the next; 2 min become 3.
        let longer = changes(&scenario, 1.5, 1.0);
        assert_eq!(longer[0], "provider.faults.twice.windows=[[\"10m\", \"15m\"], [\"15m\", \"18m\"]]");
        let again = crate::scenario::load(&crate::scenario::Source { sets: &longer, ..source }).unwrap();
        let at = |scenario: &Scenario, minute: u64| {
            scenario.provider.faults[0].probability[0].at(SimTime::from_nanos(minute * 60_000_000_000))
        };
        assert_eq!([12, 16].map(|minute| at(&again, minute)), [0.8, 0.4]);
        let milder = changes(&scenario, 1.0, 0.5);
        let again = crate::scenario::load(&crate::scenario::Source { sets: &milder, ..source }).unwrap();
        assert_eq!([12, 16].map(|minute| at(&again, minute)), [0.4, 0.2]);
    }

    const WORLD: &str = "horizon = \"1h\"\n[provider.faults.steady]\nprobability = 0.01\nrespond = { status = 500 }\n\
        [provider.faults.flat]\nwindow = [\"10m\", \"30m\"]\nprobability = 0.8\nby_class = { live = 0.3 }\n\
        respond = { status = 529 }\n\
        [provider.faults.hill]\nwindow = [\"10m\", \"20m\"]\nprobability = [[\"0m\", 0], [\"5m\", 0.5], [\"10m\", 0]]\n\
        respond = { status = 503 }\n\
        [clients.c]\nlayers = [{ name = \"sdk\", max_attempts = 2, retry_on = \"any\" }]\n\
        [traffic.report]\nkind = \"turns\"\nclient = \"c\"\narrivals = { every = \"1m\" }\n\
        steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n\
        [traffic.live]\nkind = \"turns\"\nclient = \"c\"\narrivals = { every = \"1m\" }\n\
        steps = [{ name = \"a\", input_tokens = 1, latency = \"1s\" }]\n";

    fn scenario(sets: &[String]) -> Scenario {
        load(&Source { sets, ..Source::new("w.toml", WORLD) }).unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    #[test]
    fn other_overloads_are_half_and_half_as_much_again() {
        let minutes = |at: SimTime| at.as_secs_f64() / 60.0;
        let worlds = overloads(&scenario(&[]));
        let of = |name: &str| scenario(&worlds.iter().find(|world| world.name == name).unwrap().sets);
        let window = |scenario: &Scenario, fault: usize| {
            let window = scenario.provider.faults[fault].window.unwrap();
            (minutes(window.from), minutes(window.to))
        };
        let value = |scenario: &Scenario, fault: usize, class: usize, minute: u64| {
            let at = SimTime::ZERO + SimDuration::from_mins(minute);
            scenario.provider.faults[fault].probability[class].at(at)
        };
        let shorter = of("shorter");
        assert_eq!((window(&shorter, 1), window(&shorter, 2)), ((10.0, 20.0), (10.0, 15.0)));
        assert_eq!(minutes(shorter.horizon), 60.0);
        let longer = of("longer");
        assert_eq!((window(&longer, 1), window(&longer, 2)), ((10.0, 40.0), (10.0, 25.0)));
        assert_eq!(minutes(longer.horizon), 70.0);
        // The hill is stretched with its window: its top is after 7.5 min, a third of the way up after 2.5.
        assert!((value(&longer, 2, 0, 15) - 0.5 * 5.0 / 7.5).abs() < 1e-9);
        assert_eq!((value(&longer, 1, 0, 15), value(&longer, 1, 1, 15)), (0.8, 0.3));
        let (milder, harder) = (of("milder"), of("harder"));
        assert_eq!((value(&milder, 1, 0, 15), value(&milder, 1, 1, 15), value(&milder, 2, 0, 15)), (0.4, 0.15, 0.25));
        assert_eq!((value(&harder, 1, 0, 15), value(&harder, 1, 1, 15), value(&harder, 2, 0, 15)), (1.0, 0.45, 0.75));
        assert_eq!(window(&milder, 1), (10.0, 30.0));
        // What has no window is the same everywhere.
        assert!([&shorter, &longer, &milder, &harder].iter().all(|other| value(other, 0, 0, 15) == 0.01));
    }
}
