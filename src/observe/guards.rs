//! What a guard or a retry budget did over a run. All of them are told alike, whatever their kind: how many of its
//! instances were shut, how high or low a level of its stood, who asked, who was refused and who waited. A guard of a
//! new kind feeds those that it has and leaves the others out; what is not fed takes no room.

use super::doors::{Door, Doors};
use super::fill::Fill;
use super::spans::Spans;
use crate::policy::budget_gauge::Gauge;
use crate::units::{SimDuration, SimTime};

/// The series of one guard or retry budget in the narrow bins of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuardSeries {
    /// How many instances anybody came to: one for each worker, process, class or client, or one for everybody.
    pub instances: u32,
    /// How many instances let nobody through, on average over each bin; empty where none ever shuts.
    pub shut: Vec<f32>,
    /// How many instances let only some through, to try or while they open, on average over each bin; empty likewise.
    pub ajar: Vec<f32>,
    /// How often an instance was shut, in each bin; empty likewise.
    pub trips: Vec<u32>,
    /// The level of the instance that was nearest to its bound, at its nearest in each bin; empty where there is no
    /// level, infinite while nothing of the kind holds anybody back.
    pub level: Vec<f32>,
    /// The mean level of all instances over each bin; empty likewise, and where the level may be infinite.
    pub mean: Vec<f32>,
    /// The bound of the level where it moves, of the instance with the lowest and at its lowest in each bin; empty where
    /// it stays.
    pub bound: Vec<f32>,
    /// The mean bound of all instances over each bin; empty likewise.
    pub bound_mean: Vec<f32>,
    /// The mean bound of all instances when the run ends.
    pub bound_at_end: Option<f32>,
    /// How often somebody came to it in each bin, or asked again after a wait.
    pub asked: Vec<u32>,
    /// How many of them it refused.
    pub refused: Vec<u32>,
    /// How many waited before it, on average over each bin.
    pub waiting: Vec<f32>,
}

/// A retry budget of a layer, and its series.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetSeries {
    /// The client.
    pub client: String,
    /// The layer in it.
    pub layer: String,
    /// How its level is read.
    pub gauge: Gauge,
    /// Its series: `asked` are retries that were wanted, `refused` those that were not allowed.
    pub series: GuardSeries,
}

impl GuardSeries {
    /// Whether it ever kept anybody from going on at once.
    pub fn acted(&self) -> bool {
        let some = |means: &[f32]| means.iter().any(|mean| *mean > 0.0);
        self.refused.iter().any(|n| *n > 0) || some(&self.waiting) || some(&self.shut) || some(&self.ajar)
    }

    /// Seconds in which instances let nobody through, all of them together.
    pub fn shut_s(&self, bin: SimDuration, length: SimDuration) -> f64 {
        let lasts = |i: usize| length.saturating_sub(bin.times(i as u64)).min(bin).as_secs_f64();
        self.shut.iter().enumerate().map(|(i, shut)| f64::from(*shut) * lasts(i)).sum()
    }

    /// The share of those who came that were refused in a bin; `None` where nobody came.
    pub fn refused_share(&self, bin: usize) -> Option<f64> {
        let asked = *self.asked.get(bin)?;
        (asked > 0).then(|| f64::from(self.refused[bin]) / f64::from(asked))
    }
}

/// Which way a level goes when it comes nearer to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nears {
    /// Down, as what is left.
    Falling,
    /// Up, as what is in use.
    Rising,
}

/// The series of one guard as they are written.
#[derive(Clone, Debug)]
pub struct GuardTrack {
    grid: Grid,
    doors: Option<Doors>,
    level: Option<Level>,
    bound: Option<Level>,
    fill: Option<Fill>,
    asked: Vec<u32>,
    refused: Vec<u32>,
    waiting: Spans,
    /// Which instances anybody came to.
    used: Vec<bool>,
}

/// Where the current instant falls.
#[derive(Clone, Debug)]
struct Grid {
    width: SimDuration,
    bins: usize,
    bin: usize,
    next: SimTime,
}

impl Grid {
    #[inline]
    fn bin(&mut self, now: SimTime) -> usize {
        if now >= self.next {
            self.bin = ((now.as_nanos() / self.width.as_nanos()) as usize).min(self.bins - 1);
            self.next = SimTime::ZERO + self.width.times(self.bin as u64 + 1);
        }
        self.bin
    }
}

#[derive(Clone, Debug)]
struct Level {
    nears: Nears,
    begins: f64,
    now: Vec<f32>,
    sum: f64,
    since: SimTime,
    mass: Spans,
    extremes: Vec<f32>,
    bin: usize,
}

impl GuardTrack {
    /// A guard of so many instances that has done nothing so far, in a run of so many bins of this width.
    pub fn new(instances: usize, bins: usize, width: SimDuration) -> GuardTrack {
        let bins = bins.max(1);
        GuardTrack {
            grid: Grid { width, bins, bin: 0, next: SimTime::ZERO + width },
            doors: None,
            level: None,
            bound: None,
            fill: None,
            asked: vec![0; bins],
            refused: vec![0; bins],
            waiting: Spans::new(bins, width),
            used: vec![false; instances],
        }
    }

    /// The same for one whose instances can shut.
    #[must_use]
    pub fn with_doors(mut self) -> GuardTrack {
        let spans = Spans::new(self.grid.bins, self.grid.width);
        self.doors = Some(Doors::new(self.used.len(), self.grid.bins, spans));
        self
    }

    /// The same for one whose instances have a level that begins here.
    #[must_use]
    pub fn with_level(mut self, begins: f64, nears: Nears) -> GuardTrack {
        self.level = Some(Level::new(begins, nears, self.used.len(), &self.grid));
        self
    }

    /// The same for one that moves the bounds of its levels, which begin here.
    #[must_use]
    pub fn with_bound(mut self, begins: f64) -> GuardTrack {
        self.bound = Some(Level::new(begins, Nears::Falling, self.used.len(), &self.grid));
        self
    }

    /// The same for one of full buckets, which take this time to fill: its level is the share that is left.
    #[must_use]
    pub fn with_buckets(mut self, capacity: SimDuration) -> GuardTrack {
        self.fill = Some(Fill::new(capacity, self.grid.bins, self.grid.width));
        self
    }

    /// The same for one whose instances stand like this when the run begins.
    #[must_use]
    pub fn beginning(mut self, door: Door) -> GuardTrack {
        if let Some(doors) = &mut self.doors {
            doors.begin(door);
        }
        self
    }

    /// An instance stands like this from now on, and has been shut so often since the run began.
    #[inline]
    pub fn stands(&mut self, instance: usize, door: Door, times: u32, now: SimTime) {
        let Some(doors) = &mut self.doors else { return };
        // One that begins anew has not been shut yet.
        doors.times[instance] = doors.times[instance].min(times);
        if doors.now[instance].0 != door {
            self.used[instance] = true;
            let bin = self.grid.bin(now);
            doors.trips[bin] += times.saturating_sub(doors.times[instance]);
            doors.times[instance] = times;
            doors.turn(instance, door, now);
        }
    }

    /// The level of an instance is this from now on.
    #[inline]
    pub fn level(&mut self, instance: usize, value: f64, now: SimTime) {
        let Some(level) = &mut self.level else { return };
        if level.now[instance] != value as f32 {
            self.used[instance] = true;
            level.set(instance, value as f32, self.grid.bin(now), now);
        }
    }

    /// The bound of an instance's level is this from now on, of a guard that moves it.
    #[inline]
    pub fn bound(&mut self, instance: usize, value: f64, now: SimTime) {
        let Some(bound) = &mut self.bound else { return };
        if bound.now[instance] != value as f32 {
            bound.set(instance, value as f32, self.grid.bin(now), now);
        }
    }

    /// Somebody has taken of a bucket, which is full again after this time.
    #[inline]
    pub fn taken(&mut self, until_full: SimDuration, now: SimTime) {
        let bin = self.grid.bin(now);
        if let Some(fill) = &mut self.fill {
            fill.taken(until_full, bin, now);
        }
    }

    /// Somebody comes to an instance, and is refused or not.
    #[inline]
    pub fn came(&mut self, instance: usize, is_refused: bool, now: SimTime) {
        let bin = self.grid.bin(now);
        self.used[instance] = true;
        self.asked[bin] += 1;
        self.refused[bin] += u32::from(is_refused);
    }

    /// Somebody who came before is refused.
    pub fn refuses(&mut self, now: SimTime) {
        let bin = self.grid.bin(now);
        self.refused[bin] += 1;
    }

    /// Somebody waits, or has waited, for this time.
    pub fn waits(&mut self, from: SimTime, to: SimTime) {
        self.waiting.add(from, to, 1.0);
    }

    /// The series, to the end of the run.
    pub fn finish(mut self, horizon: SimTime) -> GuardSeries {
        let length = horizon.since(SimTime::ZERO);
        let used = self.used.iter().filter(|used| **used).count();
        let mut series = GuardSeries {
            instances: used as u32,
            asked: self.asked,
            refused: self.refused,
            // Who waits beyond the end fills the last bin, which may be cut.
            waiting: self.waiting.means(length),
            ..GuardSeries::default()
        };
        if let Some(mut doors) = self.doors.take() {
            for instance in (0..doors.now.len()).filter(|instance| self.used[*instance]) {
                doors.turn(instance, Door::Open, horizon);
            }
            series.shut = doors.shut.means(length);
            series.ajar = doors.ajar.means(length);
            series.trips = doors.trips;
        }
        // Those that nobody came to stand where they began.
        let idle = self.used.len() - used;
        if let Some(level) = self.level.take() {
            (series.level, series.mean, _) = level.finish(idle, horizon);
        }
        if let Some(fill) = self.fill.take() {
            series.level = fill.finish();
        }
        if let Some(bound) = self.bound.take() {
            let at_end;
            (series.bound, series.bound_mean, at_end) = bound.finish(idle, horizon);
            series.bound_at_end = Some(at_end);
        }
        series
    }
}

impl Level {
    fn new(begins: f64, nears: Nears, instances: usize, grid: &Grid) -> Level {
        Level {
            nears,
            begins,
            now: vec![begins as f32; instances],
            sum: begins * instances as f64,
            since: SimTime::ZERO,
            mass: Spans::new(grid.bins, grid.width),
            extremes: vec![begins as f32; grid.bins],
            bin: 0,
        }
    }

    /// The nearest in each bin, the means of the instances that are not idle, and their mean at the end.
    fn finish(mut self, idle: usize, horizon: SimTime) -> (Vec<f32>, Vec<f32>, f32) {
        self.carry_to(self.extremes.len() - 1);
        if self.begins.is_infinite() {
            return (self.extremes, Vec::new(), f32::INFINITY);
        }
        self.mass.add(self.since, horizon, self.sum);
        let used = (self.now.len() - idle).max(1) as f32;
        let idle = (self.begins * idle as f64) as f32;
        let each = |sum: f32| ((sum - idle) / used).max(0.0);
        let means = self.mass.means(horizon.since(SimTime::ZERO)).into_iter().map(each).collect();
        (self.extremes, means, each(self.sum as f32))
    }

    fn set(&mut self, instance: usize, value: f32, bin: usize, now: SimTime) {
        self.carry_to(bin);
        if self.begins.is_finite() {
            self.mass.add(self.since, now, self.sum);
            self.sum += f64::from(value) - f64::from(self.now[instance]);
        }
        (self.now[instance], self.since) = (value, now);
        self.extremes[bin] = self.nears.nearer(self.extremes[bin], value);
    }

    /// What stands where a bin begins is part of it.
    fn carry_to(&mut self, bin: usize) {
        if self.bin < bin {
            let first = self.now.first().copied().unwrap_or(0.0);
            let nearest = self.now.iter().fold(first, |a, b| self.nears.nearer(a, *b));
            self.extremes[self.bin + 1..=bin].fill(nearest);
            self.bin = bin;
        }
    }
}

impl Nears {
    fn nearer(self, a: f32, b: f32) -> f32 {
        match self {
            Nears::Falling => a.min(b),
            Nears::Rising => a.max(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> SimTime {
        SimTime::from_secs_f64(seconds)
    }

    fn track(instances: usize) -> GuardTrack {
        GuardTrack::new(instances, 6, SimDuration::from_secs(10))
    }

    #[test]
    fn a_door_is_shut_until_its_time_and_then_ajar_until_somebody_comes() {
        // By hand, bins of 10 s: one of two instances is shut at 5 s until 25 s; a probe comes at 38 s and closes it at
        // 40 s. The other is shut at 50 s to the end.
        let mut track = track(2).with_doors();
        let shut = |until| Door::Shut { until: at(until), ajar_until: SimTime::NEVER };
        track.stands(0, shut(25.0), 1, at(5.0));
        track.stands(0, Door::Ajar, 1, at(38.0));
        track.stands(0, Door::Open, 1, at(40.0));
        track.stands(1, shut(1_000.0), 1, at(50.0));
        let series = track.finish(at(60.0));
        assert_eq!(series.shut, [0.5, 1.0, 0.5, 0.0, 0.0, 1.0]);
        assert_eq!(series.ajar, [0.0, 0.0, 0.5, 1.0, 0.0, 0.0]);
        assert_eq!(series.trips, [1, 0, 0, 0, 0, 1]);
        assert_eq!(series.shut_s(SimDuration::from_secs(10), SimDuration::from_mins(1)), 30.0);
        assert!(series.acted());
    }

    #[test]
    fn a_level_is_told_of_the_instance_that_is_nearest_to_its_bound() {
        // By hand: two instances of 10; one falls to 4 at 12 s and is back at 8 at 15 s, the other to 6 at 31 s.
        let mut track = track(2).with_level(10.0, Nears::Falling);
        track.level(0, 4.0, at(12.0));
        track.level(0, 8.0, at(15.0));
        track.level(1, 6.0, at(31.0));
        let series = track.finish(at(60.0));
        assert_eq!(series.level, [10.0, 4.0, 8.0, 6.0, 6.0, 6.0]);
        // 2 s of 10, 3 s of 7 and 5 s of 9 in the second bin; 1 s of 9 and 9 s of 7 in the fourth.
        assert_eq!(series.mean, [10.0, 8.6, 9.0, 7.2, 7.0, 7.0]);
        assert!(!series.acted());
    }

    #[test]
    fn an_instance_to_which_nobody_came_does_not_count() {
        let mut track = track(3).with_level(10.0, Nears::Falling);
        track.level(1, 4.0, at(30.0));
        let series = track.finish(at(60.0));
        assert_eq!((series.instances, series.mean), (1, vec![10.0, 10.0, 10.0, 4.0, 4.0, 4.0]));
    }

    #[test]
    fn who_came_and_who_waited_is_counted_where_it_was() {
        let mut track = track(1).with_bound(20.0);
        track.came(0, false, at(1.0));
        track.came(0, true, at(9.0));
        track.waits(at(15.0), at(30.0));
        track.bound(0, 10.0, at(31.0));
        track.bound(0, 30.0, at(42.0));
        let series = track.finish(at(60.0));
        assert_eq!((series.asked[0], series.refused[0]), (2, 1));
        assert_eq!((series.refused_share(0), series.refused_share(1)), (Some(0.5), None));
        assert_eq!(series.waiting, [0.0, 0.5, 1.0, 0.0, 0.0, 0.0]);
        // By hand: the lowest of each bin, which is what stands at its beginning where it grows.
        assert_eq!(series.bound, [20.0, 20.0, 20.0, 10.0, 10.0, 30.0]);
        // 1 s of 20 and 9 s of 10 in the fourth bin, 2 s of 10 and 8 s of 30 in the fifth.
        assert_eq!(series.bound_mean, [20.0, 20.0, 20.0, 11.0, 26.0, 30.0]);
        assert_eq!(series.bound_at_end, Some(30.0));
    }

    #[test]
    fn a_door_that_opens_bit_by_bit_is_ajar_until_it_is_open() {
        // By hand, bins of 10 s: ajar from the beginning to 8 s, shut from 12 s to 20 s, then ajar to 35 s, of which 25 s
        // to 30 s are shut again, and from there ajar to 45 s.
        let shut = |until, ajar_until| Door::Shut { until: at(until), ajar_until: at(ajar_until) };
        let mut track = track(2).with_doors().beginning(shut(0.0, 8.0));
        track.came(0, false, at(3.0));
        track.stands(0, shut(20.0, 35.0), 1, at(12.0));
        track.stands(0, shut(30.0, 45.0), 2, at(25.0));
        let series = track.finish(at(60.0));
        assert_eq!(series.shut, [0.0, 0.8, 0.5, 0.0, 0.0, 0.0]);
        assert_eq!(series.ajar, [0.8, 0.0, 0.5, 1.0, 0.5, 0.0]);
    }

    #[test]
    fn a_level_that_bounds_nothing_at_first_has_no_mean() {
        let mut track = track(1).with_level(f64::INFINITY, Nears::Falling);
        track.level(0, 4.0, at(12.0));
        track.level(0, 6.0, at(31.0));
        let series = track.finish(at(60.0));
        assert_eq!(series.level, [f32::INFINITY, 4.0, 4.0, 4.0, 6.0, 6.0]);
        assert!(series.mean.is_empty());
    }
}
