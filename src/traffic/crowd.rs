//! A crowd of clients, each with a rate and a burstiness of its own in each window of time, as `ServeGen` describes
//! production traffic (Xiang et al. 2025). Requests are drawn: the trace has none.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::provider::Window;
use crate::random::stream::mix;
use crate::random::{Distribution, Key, Stream};
use crate::units::{SimDuration, SimTime};

/// What one client does in one window.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientWindow {
    /// When the window begins, counted from where the replay does.
    pub start: SimDuration,
    /// Requests per second.
    pub rate: f64,
    /// Gaps between them, with mean 1.
    pub gap: Distribution,
    /// The place of the sizes of its requests among [`Crowd::sizes`]; `None` where they are not known.
    pub sizes: Option<u32>,
}

/// One client.
#[derive(Clone, Debug, PartialEq)]
pub struct CrowdClient {
    /// Its number in the trace, from which its draws are keyed.
    pub id: u64,
    /// Its windows, ascending.
    pub windows: Vec<ClientWindow>,
}

/// Sizes of requests by their quantiles.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    /// Points of the inverse distribution of input tokens, and of output tokens.
    pub points: [Vec<(f64, f64)>; 2],
    /// The means of these.
    pub means: [f64; 2],
    /// How much of the traffic whose sizes are known comes up to this one, as a share.
    pub up_to: f64,
}

/// The clients of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Crowd {
    /// In order of their numbers.
    pub clients: Vec<CrowdClient>,
    /// How long a window is.
    pub width: SimDuration,
    /// The sizes of requests; empty where none are read.
    pub sizes: Vec<SizeTable>,
}

/// The sizes of requests are not known for their client: those of another one are drawn.
const ANY: u32 = u32::MAX - 1;

const COUNT: u64 = u64::from_be_bytes(*b"c. count");
const GAPS: u64 = u64::from_be_bytes(*b"c.  gaps");

impl Crowd {
    /// Input and output tokens of a request that comes from there.
    pub fn tokens(&self, origin: u32, draws: &mut Stream) -> (u32, u32) {
        let known = self.sizes.get(origin as usize);
        let of = known.or_else(|| {
            let at = draws.next_unit();
            let place = self.sizes.partition_point(|sizes| sizes.up_to <= at);
            self.sizes.get(place).or(self.sizes.last())
        });
        let Some(sizes) = of else { return (0, 0) };
        let mut draw = |points: &[(f64, f64)]| (quantile(points, draws.next_unit()) + 0.5) as u32;
        (draw(&sizes.points[0]), draw(&sizes.points[1]))
    }

    /// The mean input and output tokens of its requests.
    pub fn mean_tokens(&self) -> [f64; 2] {
        let mut before = 0.0;
        let mut means = [0.0; 2];
        for sizes in &self.sizes {
            means.iter_mut().zip(sizes.means).for_each(|(sum, mean)| *sum += mean * (sizes.up_to - before));
            before = sizes.up_to;
        }
        means
    }

    fn digest(&self) -> u64 {
        let windows =
            self.clients.iter().flat_map(|client| client.windows.iter().map(move |window| (client.id, window)));
        let words = windows.flat_map(|(id, window)| [id, window.start.as_nanos(), window.rate.to_bits()]);
        words.fold(0, |digest, word| mix(digest ^ word))
    }
}

/// The value of an inverse distribution, a straight line between its points.
fn quantile(points: &[(f64, f64)], at: f64) -> f64 {
    let next = points.partition_point(|(share, _)| *share <= at).clamp(1, points.len() - 1);
    let ((from, low), (to, high)) = (points[next - 1], points[next]);
    low + (high - low) * (at - from) / (to - from)
}

/// A crowd whose arrivals are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct CrowdReplay {
    /// The clients.
    pub crowd: Arc<Crowd>,
    /// When it begins in the run.
    pub begin: SimTime,
    /// How many times as fast as recorded.
    pub speed: f64,
    /// The recorded time after which it begins anew; `None` where it is over with its last window.
    pub period: Option<SimDuration>,
    /// How many times as many requests as recorded come in the same windows.
    pub volume: f64,
    /// When the run ends.
    pub until: SimTime,
}

/// Where one client stands.
#[derive(Clone, Debug)]
struct ClientState {
    /// The windows that it has begun, over all rounds.
    begun: u64,
    left: u32,
    /// The gaps of its window in all, and those that are over.
    total: f64,
    reached: f64,
    stream: Stream,
}

/// Where a crowd stands: who comes next, and each client.
#[derive(Clone, Debug)]
pub struct CrowdState {
    next: BinaryHeap<Reverse<(SimTime, u32)>>,
    clients: Vec<ClientState>,
    key: Key,
    /// Where the sizes of the last one that came are found.
    origin: u32,
}

impl CrowdState {
    /// Where the sizes of the request that came last are found.
    pub(super) const fn origin(&self) -> u32 {
        self.origin
    }
}

impl CrowdReplay {
    /// The state before the first arrival.
    pub(super) fn start(&self, key: Key) -> CrowdState {
        let idle = ClientState { begun: 0, left: 0, total: 0.0, reached: 0.0, stream: key.stream() };
        let clients = vec![idle; self.crowd.clients.len()];
        let mut state = CrowdState { next: BinaryHeap::new(), clients, key, origin: ANY };
        for client in 0..state.clients.len() as u32 {
            self.draw(&mut state, client);
        }
        state
    }

    /// The next arrival of any client.
    pub(super) fn next(&self, state: &mut CrowdState) -> Option<SimTime> {
        let Reverse((at, client)) = state.next.pop()?;
        let windows = &self.crowd.clients[client as usize].windows;
        let last = (state.clients[client as usize].begun - 1) % windows.len() as u64;
        state.origin = windows[last as usize].sizes.unwrap_or(ANY);
        self.draw(state, client);
        Some(at)
    }

    /// Draws when a client comes next, if ever.
    fn draw(&self, state: &mut CrowdState, client: u32) {
        let settings = &self.crowd.clients[client as usize];
        let rounds = settings.windows.len() as u64;
        let own = &mut state.clients[client as usize];
        loop {
            if own.left > 0 {
                own.left -= 1;
                let window = &settings.windows[((own.begun - 1) % rounds) as usize];
                own.reached += window.gap.sample(&mut own.stream);
                // Where all gaps are rounded away, those who come do so at once.
                let share = if own.total > 0.0 { (own.reached / own.total).min(1.0) } else { 0.0 };
                // The last gap may be lost in rounding, and the window's end belongs to the next one.
                let latest = self.crowd.width.saturating_sub(SimDuration::from_nanos(1 + self.speed as u64));
                let into = self.crowd.width.scaled(share).min(latest);
                let since = self.since(window, (own.begun - 1) / rounds, into);
                let at = self.begin + since;
                if at < self.until {
                    state.next.push(Reverse((at, client)));
                }
                return;
            }
            let round = own.begun / rounds;
            if round > 0 && self.period.is_none() {
                return;
            }
            let window = &settings.windows[(own.begun % rounds) as usize];
            if self.begin + self.since(window, round, SimDuration::ZERO) >= self.until {
                return;
            }
            let key = state.key.with(settings.id).with(own.begun);
            own.begun += 1;
            let expected = window.rate * self.crowd.width.as_secs_f64() * self.volume;
            own.left = (expected + key.with(COUNT).unit()) as u32;
            // The gaps are stretched so that the window holds as many as it should: their sum is needed before the first.
            own.stream = key.with(GAPS).stream();
            let mut ahead = own.stream;
            own.total = (0..=own.left).map(|_| window.gap.sample(&mut ahead)).sum();
            own.reached = 0.0;
        }
    }

    /// The time in the run from the beginning to so long after that of a window.
    fn since(&self, window: &ClientWindow, round: u64, into: SimDuration) -> SimDuration {
        let recorded = window.start + into + self.period.map_or(SimDuration::ZERO, |period| period.times(round));
        if self.speed.total_cmp(&1.0).is_eq() { recorded } else { recorded.scaled(1.0 / self.speed) }
    }

    /// The expected number of arrivals in a span.
    pub fn expected(&self, span: Window) -> f64 {
        let width = self.crowd.width.as_secs_f64() / self.speed;
        let (from, to) = (span.from.as_secs_f64(), span.to.min(self.until).as_secs_f64());
        let begin = self.begin.as_secs_f64();
        let period = self.period.map(|period| period.as_secs_f64() / self.speed);
        let mut sum = 0.0;
        for window in self.crowd.clients.iter().flat_map(|client| &client.windows) {
            let first = begin + window.start.as_secs_f64() / self.speed;
            let each = window.rate * self.speed * self.volume;
            let rounds = period.map_or(0..1, |period| {
                (((from - first - width) / period).max(0.0) as u64)
                    ..(((to - first) / period).max(-1.0) + 1.0) as u64 + 1
            });
            for round in rounds {
                let start = first + period.map_or(0.0, |period| period * round as f64);
                sum += each * ((start + width).min(to) - start.max(from)).max(0.0);
            }
        }
        sum
    }

    /// The settings as a word for digests.
    pub fn word(&self) -> String {
        format!("{:x} {:?} {} {:?} {}", self.crowd.digest(), self.begin, self.speed, self.period, self.volume)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use crate::random::distribution::Shape;

    fn crowd(cv: f64) -> CrowdReplay {
        let gap = Distribution::new(Shape::Gamma { mean: 1.0, cv }).unwrap();
        let window = |n: u64, rate: f64| ClientWindow {
            start: SimDuration::from_secs(600 * n),
            rate,
            gap: gap.clone(),
            sizes: None,
        };
        let clients = vec![
            CrowdClient { id: 3, windows: vec![window(0, 0.5), window(2, 0.1)] },
            CrowdClient { id: 7, windows: vec![window(1, 0.000_5)] },
        ];
        let crowd = Crowd { clients, width: SimDuration::from_secs(600), sizes: Vec::new() };
        let until = SimTime::ZERO + SimDuration::from_mins(120);
        CrowdReplay { crowd: Arc::new(crowd), begin: SimTime::ZERO, speed: 1.0, period: None, volume: 1.0, until }
    }

    fn all(replay: &CrowdReplay, seed: u64) -> Vec<f64> {
        let mut state = replay.start(Seed(seed).key());
        std::iter::from_fn(|| replay.next(&mut state)).map(SimTime::as_secs_f64).collect()
    }

    #[test]
    fn each_window_holds_as_many_as_its_rate_says() {
        for cv in [0.5, 1.0, 6.0] {
            let times = all(&crowd(cv), 1);
            assert!(times.is_sorted());
            // By hand: 600 · 0.5 and 600 · 0.1; of the other client 0.3 on average.
            let within = |from: f64, to: f64| times.iter().filter(|at| (from..to).contains(*at)).count();
            assert_eq!((within(0.0, 600.0), within(1_200.0, 1_800.0)), (300, 60));
            let others: usize = (0..2_000)
                .map(|seed| all(&crowd(cv), seed).iter().filter(|at| (600.0..1_200.0).contains(*at)).count())
                .sum();
            // Three standard errors of 2,000 draws of 0 or 1.
            assert!((others as f64 / 2_000.0 - 0.3).abs() < 0.031, "{others}");
        }
    }

    #[test]
    fn gaps_have_the_coefficient_of_variation_of_their_client() {
        for cv in [0.5, 1.0, 2.0] {
            let gaps: Vec<f64> = (0..200)
                .flat_map(|seed| {
                    let times = all(&crowd(cv), seed);
                    times.windows(2).take(298).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
                })
                .collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
            // 301 gaps in 600 s; that their sum is fixed takes a three hundredth of the variance.
            assert!((mean - 600.0 / 301.0).abs() < 0.05, "{cv}: {mean}");
            assert!((variance.sqrt() / mean - cv).abs() < 0.03 * cv, "{cv}: {}", variance.sqrt() / mean);
        }
    }

    #[test]
    fn what_is_expected_is_what_comes() {
        let base = crowd(1.0);
        let span = |from, to| Window {
            from: SimTime::ZERO + SimDuration::from_mins(from),
            to: SimTime::ZERO + SimDuration::from_mins(to),
        };
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        near(base.expected(span(0, 120)), 360.3);
        near(base.expected(span(5, 25)), 150.0 + 0.3 + 30.0);
        let daily = CrowdReplay { period: Some(SimDuration::from_mins(30)), ..base.clone() };
        near(daily.expected(span(0, 120)), 4.0 * 360.3);
        near(daily.expected(span(35, 40)), 150.0);
        let fast = CrowdReplay { speed: 2.0, ..daily.clone() };
        near(fast.expected(span(0, 120)), 8.0 * 360.3);
        let twice = CrowdReplay { volume: 2.0, ..base };
        near(twice.expected(span(0, 120)), 2.0 * 360.3);
        for replay in [daily, fast, twice] {
            let found = all(&replay, 5).len() as f64;
            // Only the rare client is left to chance.
            assert!((found - replay.expected(span(0, 120))).abs() < 5.0, "{found}");
        }
    }

    #[test]
    fn sizes_are_those_of_the_quantiles() {
        let points = [vec![(0.0, 1.0), (0.5, 100.0), (1.0, 300.0)], vec![(0.0, 5.0), (1.0, 5.0)]];
        let table = SizeTable { points, means: [125.25, 5.0], up_to: 1.0 };
        let crowd = Crowd { clients: Vec::new(), width: SimDuration::from_secs(600), sizes: vec![table] };
        let mut draws = Seed(1).key().stream();
        for origin in [0, ANY] {
            let found: Vec<(u32, u32)> = (0..20_000).map(|_| crowd.tokens(origin, &mut draws)).collect();
            let below = found.iter().filter(|(input, _)| *input < 100).count() as f64 / 20_000.0;
            let mean = found.iter().map(|(input, _)| f64::from(*input)).sum::<f64>() / 20_000.0;
            // By hand: half are below 100, and the mean of two straight pieces is (50.5 + 200) / 2.
            assert!((below - 0.5).abs() < 0.011 && (mean - 125.25).abs() < 2.0, "{below} {mean}");
            assert!(found.iter().all(|(_, output)| *output == 5));
        }
    }
}
