//! Arrivals in time. A Poisson process with a changing rate is drawn as unit exponentials through the inverse of the
//! cumulative rate (Çinlar 1975), so that a change of the rate in one place moves no draw. A fixed count is drawn as
//! order statistics one after the other, so that nothing has to be stored or sorted.

use super::crowd::{CrowdReplay, CrowdState};
use super::replay::Replay;
use super::sessions::Sessions;
use super::sizes::Said;
use crate::provider::Window;
use crate::random::residual::residual;
use crate::random::{Distribution, Key, Stream, math};
use crate::units::{SimDuration, SimTime};

/// A span with a constant rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePiece {
    /// From when.
    pub from: SimTime,
    /// Arrivals per second from then on; a mere weight where the count is fixed.
    pub rate: f64,
}

/// One process of arrivals.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalProcess {
    /// Poisson arrivals at a rate that is constant in pieces.
    Poisson {
        /// The pieces in ascending order; the first begins at the window's start.
        pieces: Vec<RatePiece>,
        /// When.
        window: Window,
    },
    /// Arrivals with gaps of their own kind between them: wilder than a Poisson process, or more even. Gaps have mean 1 and
    /// count in expected arrivals, so that a rate that changes stretches them. The process begins in the midst of a gap, as
    /// if it had been going on for ever: begun with an ordinary gap, one with a coefficient of variation of 3 would have four
    /// arrivals too many, however long it lasts.
    Spaced {
        /// The gaps, with mean 1.
        gap: Distribution,
        /// The pieces in ascending order; the first begins at the window's start.
        pieces: Vec<RatePiece>,
        /// When.
        window: Window,
    },
    /// Exactly this many arrivals, spread at random over the window in proportion to the pieces' rates.
    Count {
        /// How many.
        count: u32,
        /// The shape, as relative rates.
        pieces: Vec<RatePiece>,
        /// When.
        window: Window,
    },
    /// One arrival every so often.
    Every {
        /// The time between two arrivals.
        every: SimDuration,
        /// When; the first arrival is at the window's start.
        window: Window,
    },
    /// Arrivals at these instants, in ascending order.
    At(Vec<SimTime>),
    /// Arrivals row by row from a trace.
    Replay(Replay),
    /// Arrivals of many clients, drawn.
    Crowd(CrowdReplay),
    /// So many tasks that are there when the run begins.
    Backlog(u32),
    /// A closed loop: the next arrival of each session waits for the fate of its last one, so that the loop alone
    /// knows when it is.
    Sessions(Box<Sessions>),
}

/// Where one arrival process stands.
#[derive(Clone, Debug)]
pub struct ArrivalState {
    stream: Stream,
    /// Poisson: the cumulative rate reached; count: the uniform order statistic reached.
    reached: f64,
    made: u64,
    crowd: Option<Box<CrowdState>>,
}

impl ArrivalState {
    /// Where the sizes of the arrival that was made last are found, in a crowd.
    pub fn origin(&self) -> Option<u32> {
        self.crowd.as_ref().map(|crowd| crowd.origin())
    }
}

impl ArrivalProcess {
    /// The state before the first arrival.
    pub fn start(&self, key: Key) -> ArrivalState {
        let crowd = match self {
            ArrivalProcess::Crowd(crowd) => Some(Box::new(crowd.start(key))),
            _ => None,
        };
        ArrivalState { stream: key.stream(), reached: 0.0, made: 0, crowd }
    }

    /// The next arrival; `None` when there is none left.
    pub fn next(&self, state: &mut ArrivalState) -> Option<SimTime> {
        let made = state.made;
        state.made += 1;
        match self {
            ArrivalProcess::Poisson { pieces, window } => {
                state.reached -= math::ln(state.stream.next_open());
                invert(pieces, *window, state.reached)
            }
            ArrivalProcess::Spaced { gap, pieces, window } => {
                state.reached +=
                    if made == 0 { residual(gap, &mut state.stream) } else { gap.sample(&mut state.stream) };
                invert(pieces, *window, state.reached)
            }
            ArrivalProcess::Count { count, pieces, window } => {
                let left = u64::from(*count).checked_sub(made).filter(|left| *left > 0)?;
                // The least of `left` uniforms on [reached, 1): 1 − (1 − reached) · U^(1/left).
                state.reached = 1.0 - (1.0 - state.reached) * math::pow(state.stream.next_open(), 1.0 / left as f64);
                let total = mass(pieces, *window);
                // Rounding may push the last one out of the window; it belongs to its last instant then.
                Some(
                    invert(pieces, *window, state.reached * total)
                        .unwrap_or(SimTime::from_nanos(window.to.as_nanos() - 1)),
                )
            }
            ArrivalProcess::Every { every, window } => {
                let at = window.from + every.times(made);
                (at < window.to).then_some(at)
            }
            ArrivalProcess::At(times) => times.get(usize::try_from(made).ok()?).copied(),
            ArrivalProcess::Replay(replay) => replay.at(made),
            ArrivalProcess::Crowd(crowd) => crowd.next(state.crowd.as_mut()?),
            ArrivalProcess::Backlog(count) => (made < u64::from(*count)).then_some(SimTime::ZERO),
            ArrivalProcess::Sessions(_) => None,
        }
    }

    /// The same arrivals, this many times as dense; `None` for a list of instants, which says nothing of others. Where
    /// they are Poisson, the draws are the same, so that one with a factor of 2 has each arrival of the other earlier.
    pub fn denser(&self, factor: f64) -> Option<ArrivalProcess> {
        let faster = |piece: &RatePiece| RatePiece { rate: piece.rate * factor, ..*piece };
        Some(match self {
            ArrivalProcess::Poisson { pieces, window } => {
                ArrivalProcess::Poisson { pieces: pieces.iter().map(faster).collect(), window: *window }
            }
            ArrivalProcess::Spaced { gap, pieces, window } => ArrivalProcess::Spaced {
                gap: gap.clone(),
                pieces: pieces.iter().map(faster).collect(),
                window: *window,
            },
            ArrivalProcess::Count { count, pieces, window } => ArrivalProcess::Count {
                count: (f64::from(*count) * factor).round() as u32,
                pieces: pieces.clone(),
                window: *window,
            },
            ArrivalProcess::Every { every, window } => {
                let every = SimDuration::from_secs_f64(every.as_secs_f64() / factor).max(SimDuration::from_nanos(1));
                ArrivalProcess::Every { every, window: *window }
            }
            ArrivalProcess::At(_) => return None,
            ArrivalProcess::Replay(replay) => ArrivalProcess::Replay(replay.denser(factor)?),
            ArrivalProcess::Crowd(crowd) => {
                ArrivalProcess::Crowd(CrowdReplay { volume: crowd.volume * factor, ..crowd.clone() })
            }
            ArrivalProcess::Backlog(count) => ArrivalProcess::Backlog((f64::from(*count) * factor).round() as u32),
            ArrivalProcess::Sessions(sessions) => ArrivalProcess::Sessions(Box::new(sessions.times(factor))),
        })
    }

    /// What says how large its tasks are, if it is a trace that does.
    pub fn said(&self) -> Option<Said> {
        match self {
            ArrivalProcess::Replay(replay) if replay.rows.say_sizes() => Some(Said::Rows(replay.rows.clone())),
            ArrivalProcess::Crowd(crowd) if !crowd.crowd.sizes.is_empty() => Some(Said::Crowd(crowd.crowd.clone())),
            _ => None,
        }
    }

    /// The closed loop that it is, if it is one.
    pub const fn sessions(&self) -> Option<&Sessions> {
        match self {
            ArrivalProcess::Sessions(sessions) => Some(sessions),
            _ => None,
        }
    }

    /// The expected number of arrivals in a span; of a closed loop the most, where nothing takes time but thinking.
    pub fn expected(&self, span: Window) -> f64 {
        let part = |pieces: &[RatePiece], window: &Window| {
            let cut = Window { from: window.from.max(span.from), to: window.to.min(span.to) };
            if cut.from < cut.to { mass(pieces, cut) } else { 0.0 }
        };
        match self {
            ArrivalProcess::Poisson { pieces, window } | ArrivalProcess::Spaced { pieces, window, .. } => {
                part(pieces, window)
            }
            ArrivalProcess::Count { count, pieces, window } => {
                f64::from(*count) * part(pieces, window) / mass(pieces, *window)
            }
            ArrivalProcess::Every { every, window } => {
                let cut = Window { from: window.from.max(span.from), to: window.to.min(span.to) };
                (cut.to - cut.from).as_secs_f64() / every.as_secs_f64()
            }
            ArrivalProcess::At(times) => {
                let before = |limit: SimTime| times.partition_point(|at| *at < limit);
                (before(span.to) - before(span.from)) as f64
            }
            ArrivalProcess::Replay(replay) => replay.count(span) as f64,
            ArrivalProcess::Crowd(crowd) => crowd.expected(span),
            ArrivalProcess::Backlog(count) => {
                if span.contains(SimTime::ZERO) {
                    f64::from(*count)
                } else {
                    0.0
                }
            }
            ArrivalProcess::Sessions(sessions) => sessions.most(span, 0.0),
        }
    }
}

/// The pieces as spans within the window, each with its rate.
fn spans(pieces: &[RatePiece], window: Window) -> impl Iterator<Item = (Window, f64)> + '_ {
    pieces.iter().enumerate().filter_map(move |(i, piece)| {
        let to = pieces.get(i + 1).map_or(window.to, |next| next.from.min(window.to));
        let from = piece.from.max(window.from);
        (from < to).then_some((Window { from, to }, piece.rate))
    })
}

/// The cumulative rate over the window.
fn mass(pieces: &[RatePiece], window: Window) -> f64 {
    spans(pieces, window).map(|(span, rate)| span.length().as_secs_f64() * rate).sum()
}

/// The instant at which the cumulative rate reaches `target`; `None` where it never does.
fn invert(pieces: &[RatePiece], window: Window, target: f64) -> Option<SimTime> {
    let mut left = target;
    for (span, rate) in spans(pieces, window) {
        let here = span.length().as_secs_f64() * rate;
        if left < here {
            let at = span.from + SimDuration::from_secs_f64(left / rate);
            return (at < window.to).then_some(at);
        }
        left -= here;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use crate::random::distribution::Shape;

    fn minutes(m: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_mins(m)
    }

    fn all(process: &ArrivalProcess, seed: u64) -> Vec<SimTime> {
        let mut state = process.start(Seed(seed).key());
        std::iter::from_fn(|| process.next(&mut state)).collect()
    }

    fn front_loaded() -> ArrivalProcess {
        ArrivalProcess::Count {
            count: 140,
            pieces: vec![RatePiece { from: minutes(10), rate: 13.1 }, RatePiece { from: minutes(18), rate: 2.5 }],
            window: Window { from: minutes(10), to: minutes(32) },
        }
    }

    #[test]
    fn a_fixed_count_is_exact_ascending_and_inside_its_window() {
        for seed in 0..50 {
            let times = all(&front_loaded(), seed);
            assert_eq!(times.len(), 140);
            assert!(times.is_sorted());
            assert!(times[0] >= minutes(10) && times[139] < minutes(32));
        }
    }

    #[test]
    fn a_fixed_count_follows_its_shape() {
        // By hand: 8 · 13.1 / (8 · 13.1 + 14 · 2.5) = 75 % before minute 18; 200 · 140 draws, so ±0.8 points.
        let early: usize =
            (0..200).map(|seed| all(&front_loaded(), seed).iter().filter(|at| **at < minutes(18)).count()).sum();
        assert!((early as f64 / 28_000.0 - 104.8 / 139.8).abs() < 0.008, "{early}");
    }

    #[test]
    fn denser_arrivals_are_as_many_times_as_many_as_is_said() {
        let window = Window { from: SimTime::ZERO, to: minutes(40) };
        let pieces = vec![RatePiece { from: SimTime::ZERO, rate: 0.5 }];
        let poisson = ArrivalProcess::Poisson { pieces, window };
        let every = ArrivalProcess::Every { every: SimDuration::from_secs(6), window };
        for process in [poisson, every, front_loaded()] {
            let denser = process.denser(1.5).unwrap();
            assert!((denser.expected(window) / process.expected(window) - 1.5).abs() < 1e-9);
        }
        assert_eq!(ArrivalProcess::At(vec![minutes(1)]).denser(2.0), None);
    }

    #[test]
    fn poisson_counts_have_their_mean_and_variance() {
        let process = ArrivalProcess::Poisson {
            pieces: vec![RatePiece { from: SimTime::ZERO, rate: 0.5 }, RatePiece { from: minutes(1), rate: 0.1 }],
            window: Window { from: SimTime::ZERO, to: minutes(3) },
        };
        // By hand: 60 · 0.5 + 120 · 0.1 = 42, which is mean and variance; 2,000 seeds, so ±3 standard errors.
        let counts: Vec<f64> = (0..2_000).map(|seed| all(&process, seed).len() as f64).collect();
        let mean = counts.iter().sum::<f64>() / 2_000.0;
        let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / 1_999.0;
        assert!((mean - 42.0).abs() < 0.44, "{mean}");
        assert!((variance - 42.0).abs() < 4.0, "{variance}");
        assert_eq!(process.expected(Window { from: SimTime::ZERO, to: minutes(2) }), 36.0);
    }

    #[test]
    fn spaced_arrivals_have_their_rate_and_their_coefficient_of_variation() {
        for shape in [Shape::Gamma { mean: 1.0, cv: 3.0 }, Shape::Gamma { mean: 1.0, cv: 0.5 }] {
            let Shape::Gamma { cv, .. } = shape else { continue };
            let process = ArrivalProcess::Spaced {
                gap: Distribution::new(shape).unwrap(),
                pieces: vec![RatePiece { from: SimTime::ZERO, rate: 2.0 }],
                window: Window { from: SimTime::ZERO, to: minutes(20_000 / 60) },
            };
            let times: Vec<f64> = (0..8).flat_map(|seed| gaps(&all(&process, seed))).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let variance = times.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / times.len() as f64;
            // By hand: a mean gap of half a second; 320,000 gaps, so ±3 standard errors.
            assert!((mean - 0.5).abs() < 3.0 * 0.5 * cv / 565.0, "{cv}: {mean}");
            assert!((variance.sqrt() / mean - cv).abs() < 0.1 * cv, "{cv}: {}", variance.sqrt() / mean);
        }
    }

    #[test]
    fn a_process_begins_as_if_it_had_been_going_on() {
        // By hand: six a minute for ten minutes are 60, however wild they are, and one second of it a tenth.
        let weibull = 0.434_8; // A coefficient of variation of about 3.
        let spaced = |gap: Shape, from: SimTime| ArrivalProcess::Spaced {
            gap: Distribution::new(gap).unwrap(),
            pieces: vec![RatePiece { from, rate: 0.1 }],
            window: Window { from, to: minutes(10) },
        };
        let mean =
            |process: &ArrivalProcess| (0..4_000).map(|seed| all(process, seed).len() as f64).sum::<f64>() / 4_000.0;
        for (from, expected, error) in [(SimTime::ZERO, 60.0, 1.2), (minutes(9), 6.0, 0.5)] {
            let gamma = spaced(Shape::Gamma { mean: 1.0, cv: 3.0 }, from);
            let weibull = spaced(Shape::Weibull { mean: 1.0, shape: weibull }, from);
            // Three standard errors: 4,000 draws with a deviation of at most 3 · √60, and of about 10.
            for process in [gamma, weibull] {
                let found = mean(&process);
                assert!((found - expected).abs() < error, "{expected}: {found}");
            }
        }
    }

    fn gaps(times: &[SimTime]) -> Vec<f64> {
        times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect()
    }
}
