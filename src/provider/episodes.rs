//! Episodes: a fault that is on for a while and off for a while, and strikes whoever comes while it is on. What is
//! independent from request to request is mended by a retry; an episode is not: all that come in it share its fate.
//!
//! A path in time has a name, and its n-th episode is drawn from the key of that name and n: the same path for every
//! policy, and for every fault that shares it. It is drawn as far as somebody has looked.

use crate::random::residual::residual;
use crate::random::{Distribution, Key};
use crate::units::{SimDuration, SimTime};

/// The shortest episode: what is drawn shorter lasts so long, so that a path through a run has an end.
pub const SHORTEST: SimDuration = SimDuration::from_millis(1);

/// Names the draws of episodes.
const EPISODES: u64 = u64::from_be_bytes(*b"episodes");

/// What a path begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// Off for the whole of a first length.
    Off,
    /// On for the whole of a first length.
    On,
    /// In the midst of what it has done for ever: on with the share of its time that it is on, and what is left of that
    /// episode before it.
    #[default]
    Stationary,
}

/// A path in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Episodes {
    /// Its name: of the fault that describes it.
    pub name: String,
    /// How long it is on, in seconds.
    pub on: Distribution,
    /// How long it is off, in seconds.
    pub off: Distribution,
    /// What it begins with.
    pub starts: Starts,
    /// When it begins. Before that it is off.
    pub begins: SimTime,
}

impl Episodes {
    /// The share of its time that it is on, in the long run.
    pub fn share(&self) -> f64 {
        self.on.mean() / (self.on.mean() + self.off.mean())
    }

    /// All its episodes from the beginning to `end`, in which it is on.
    pub fn until(&self, end: SimTime, seed: Key) -> Vec<super::Window> {
        let mut path = Path::new(self, seed);
        let mut all = Vec::new();
        let mut now = self.begins;
        while now < end {
            let is_on = path.is_on(now, self);
            if is_on {
                all.push(super::Window { from: now, to: path.until.min(end) });
            }
            now = path.until;
        }
        all
    }
}

/// How far a path has been drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    key: Key,
    /// The ordinal of the present episode.
    ordinal: u64,
    is_on: bool,
    /// When the present episode ends.
    until: SimTime,
}

impl Path {
    /// The path of a run whose world has this key.
    pub(super) fn new(settings: &Episodes, world: Key) -> Path {
        let key = world.named(&settings.name).with(EPISODES);
        let mut stream = key.with(0).stream();
        let first =
            |is_on: bool, stream: &mut _| if is_on { settings.on.sample(stream) } else { settings.off.sample(stream) };
        let (is_on, length) = match settings.starts {
            Starts::Off => (false, first(false, &mut stream)),
            Starts::On => (true, first(true, &mut stream)),
            Starts::Stationary => {
                let is_on = stream.next_unit() < settings.share();
                (is_on, residual(if is_on { &settings.on } else { &settings.off }, &mut stream))
            }
        };
        Path { key, ordinal: 0, is_on, until: settings.begins + lasts(length) }
    }

    /// Whether the fault is on at `now`, which never goes back.
    pub(super) fn is_on(&mut self, now: SimTime, settings: &Episodes) -> bool {
        while now >= self.until {
            self.ordinal += 1;
            self.is_on = !self.is_on;
            let length = if self.is_on { &settings.on } else { &settings.off };
            self.until += lasts(length.sample(&mut self.key.with(self.ordinal).stream()));
        }
        self.is_on && now >= settings.begins
    }
}

fn lasts(seconds: f64) -> SimDuration {
    SimDuration::from_secs_f64(seconds).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use crate::random::distribution::Shape;

    fn episodes(on: Shape, off: Shape, starts: Starts) -> Episodes {
        let of = |shape| Distribution::new(shape).unwrap();
        Episodes {
            name: "outage".into(),
            on: of(on),
            off: of(off),
            starts,
            begins: SimTime::from_nanos(60_000_000_000),
        }
    }

    #[test]
    fn constant_lengths_alternate_from_the_beginning_on() {
        // By hand: from second 60 on for 10 s, off for 20 s, and so on; the window ends at second 125.
        let path = episodes(Shape::Constant(10.0), Shape::Constant(20.0), Starts::On);
        let seconds = |from: u64, to: u64| super::super::Window {
            from: SimTime::from_nanos(from * 1_000_000_000),
            to: SimTime::from_nanos(to * 1_000_000_000),
        };
        let found = path.until(SimTime::from_nanos(125_000_000_000), Seed(1).key());
        assert_eq!(found, [seconds(60, 70), seconds(90, 100), seconds(120, 125)]);
        let off_first = Episodes { starts: Starts::Off, ..path };
        let found = off_first.until(SimTime::from_nanos(125_000_000_000), Seed(1).key());
        assert_eq!(found, [seconds(80, 90), seconds(110, 120)]);
    }

    #[test]
    fn the_share_of_time_is_on_over_the_sum_from_the_first_instant() {
        // An alternating renewal process is on for E[on] / (E[on] + E[off]) of its time (Ross 2014, §7.5.1); begun in
        // its midst it is on with that probability at the very first instant, and at any other.
        let shapes = (Shape::LogNormal { mean: 30.0, sigma: 0.8 }, Shape::Exponential { mean: 90.0 });
        let path = episodes(shapes.0, shapes.1, Starts::Stationary);
        assert_eq!(path.share(), 0.25);
        let n = 4_000_u32;
        for offset in [0_u64, 7, 100] {
            let now = path.begins + SimDuration::from_secs(offset);
            let is_on = |seed: &u32| Path::new(&path, Seed(u64::from(*seed)).key()).is_on(now, &path);
            let share = f64::from((0..n).filter(is_on).count() as u32) / f64::from(n);
            // Four standard deviations of a binomial share.
            assert!((share - 0.25).abs() < 4.0 * libm::sqrt(0.25 * 0.75 / f64::from(n)), "{offset} s: {share}");
        }
    }

    #[test]
    fn a_path_is_the_same_however_often_somebody_looks() {
        let path = episodes(Shape::Exponential { mean: 5.0 }, Shape::Exponential { mean: 5.0 }, Starts::Stationary);
        let key = Seed(3).key();
        let (mut often, instant) = (Path::new(&path, key), |n: u64| path.begins + SimDuration::from_millis(n * 100));
        let seen: Vec<bool> = (0..6_000).map(|n| often.is_on(instant(n), &path)).collect();
        for n in [599, 3_001, 5_999] {
            assert_eq!(Path::new(&path, key).is_on(instant(n), &path), seen[n as usize]);
        }
        assert!(!Path::new(&path, key).is_on(SimTime::ZERO, &path), "off before it begins");
    }
}
