//! Every algorithm of a limit against a naive one that keeps all charges and adds them up anew each time, on random
//! sequences; and over months, where anything that is rounded would show.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use retrycast::policy::TokenBucket;
use retrycast::policy::fixed_window::{Begins, FixedWindow};
use retrycast::policy::gcra::Gcra;
use retrycast::policy::leaky_bucket::LeakyBucket;
use retrycast::policy::meter::{Meter, MeterState};
use retrycast::policy::sliding_log::SlidingLog;
use retrycast::policy::sliding_weighted::SlidingWeighted;
use retrycast::units::{SimDuration, SimTime};

/// A charge that is remembered, with what was given back of it.
type Charge = (u64, u64);

/// What a naive limiter says: whether so much fits after these charges.
type Naive = fn(&Settings, &[Charge], u64, u64) -> bool;

#[derive(Clone, Copy, Debug)]
struct Settings {
    amount: u64,
    per: u64,
    /// Parts of a window; the capacity of a bucket in thirds of the period.
    parts: u32,
}

fn nanos(n: u64) -> SimDuration {
    SimDuration::from_nanos(n)
}

fn bucket_fits(settings: &Settings, charges: &[Charge], now: u64, units: u64) -> bool {
    let capacity = i128::from(settings.amount) * i128::from(settings.per * u64::from(settings.parts) / 3);
    let (mut level, mut last) = (capacity, 0);
    for (at, cost) in charges.iter().copied().chain([(now, units)]) {
        level = capacity.min(level + i128::from(settings.amount) * i128::from(at - last));
        level -= i128::from(cost) * i128::from(settings.per);
        last = at;
    }
    level >= 0
}

fn fixed_fits(settings: &Settings, charges: &[Charge], now: u64, units: u64) -> bool {
    let window = |at: u64| u128::from(at) * u128::from(settings.parts) / u128::from(settings.per);
    let used: u64 = charges.iter().filter(|(at, _)| window(*at) == window(now)).map(|(_, cost)| cost).sum();
    u128::from(used + units) * u128::from(settings.parts) <= u128::from(settings.amount)
}

fn log_fits(settings: &Settings, charges: &[Charge], now: u64, units: u64) -> bool {
    let used: u64 = charges.iter().filter(|(at, _)| now - at < settings.per).map(|(_, cost)| cost).sum();
    used + units <= settings.amount
}

fn weighted_fits(settings: &Settings, charges: &[Charge], now: u64, units: u64) -> bool {
    let sum = |window: Option<u64>| -> u128 {
        let of = charges.iter().filter(|(at, _)| Some(at / settings.per) == window);
        of.map(|(_, cost)| u128::from(*cost)).sum()
    };
    let per = u128::from(settings.per);
    let present = now / settings.per;
    let rest = per - u128::from(now) % per;
    sum(present.checked_sub(1)) * rest + (sum(Some(present)) + u128::from(units)) * per
        <= u128::from(settings.amount) * per
}

fn meters(settings: Settings) -> Vec<(Meter, Naive)> {
    let Settings { amount, per, parts } = settings;
    let (per, capacity) = (nanos(per), nanos(per * u64::from(parts) / 3));
    let bucket = TokenBucket::new(amount, per, capacity).unwrap();
    let begins = Begins::Clock(SimDuration::ZERO);
    vec![
        (Meter::TokenBucket(bucket), bucket_fits as Naive),
        (Meter::LeakyBucket(LeakyBucket { amount, per, capacity }), bucket_fits),
        (Meter::Gcra(Gcra { amount, per, tolerance: capacity }), bucket_fits),
        (Meter::FixedWindow(FixedWindow { amount, per, sub_windows: parts, begins }), fixed_fits),
        (Meter::SlidingLog(SlidingLog { amount, per }), log_fits),
        (Meter::SlidingWeighted(SlidingWeighted { amount, per, whole: false }), weighted_fits),
    ]
}

/// Each step waits, and asks for so much; where it fits it is charged.
fn runs_as_the_naive_one(meter: &Meter, fits: Naive, settings: &Settings, steps: &[(u64, u64)]) {
    let (mut state, mut charges, mut now) = (meter.unused(), Vec::new(), 0);
    for (wait, units) in steps {
        now += wait;
        let at = SimTime::from_nanos(now);
        let shortfall = meter.shortfall(&mut state, *units, at);
        let expected = fits(settings, &charges, now, *units);
        assert_eq!(shortfall.is_zero(), expected, "{meter:?} at {now} for {units} after {charges:?}");
        if expected {
            meter.charge(&mut state, *units, at);
            charges.push((now, *units));
        } else if *units > meter.largest() {
            let is_bucket = matches!(meter, Meter::TokenBucket(_));
            assert!(is_bucket || shortfall == SimDuration::MAX, "{meter:?} for {units}");
        } else {
            // It fits just then, and not a nanosecond sooner.
            let due = now + shortfall.as_nanos();
            assert!(fits(settings, &charges, due, *units), "{meter:?} at {due} for {units} after {charges:?}");
            assert!(!fits(settings, &charges, due - 1, *units), "{meter:?} before {due} for {units} after {charges:?}");
        }
        assert!((0.0..=1.0).contains(&meter.share(&state, at)), "{meter:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn every_algorithm_decides_as_a_naive_one(
        amount in 1_u64..40,
        per in 3_u64..400,
        parts in 1_u32..5,
        steps in prop::collection::vec((0_u64..150, 1_u64..14), 1..60),
    ) {
        let settings = Settings { amount, per, parts };
        for (meter, fits) in meters(settings) {
            runs_as_the_naive_one(&meter, fits, &settings, &steps);
        }
    }

    #[test]
    fn a_charge_that_is_given_back_at_once_was_never_there(
        amount in 1_u64..40,
        per in 3_u64..400,
        steps in prop::collection::vec((0_u64..150, 1_u64..14, any::<bool>()), 1..60),
    ) {
        for (meter, _) in meters(Settings { amount, per, parts: 3 }) {
            let (mut with, mut without, mut now) = (meter.unused(), meter.unused(), 0);
            for (wait, units, back) in &steps {
                now += wait;
                let at = SimTime::from_nanos(now);
                let fits = meter.shortfall(&mut with, *units, at);
                prop_assert_eq!(fits, meter.shortfall(&mut without, *units, at));
                if fits.is_zero() {
                    meter.charge(&mut with, *units, at);
                    if *back {
                        meter.refund(&mut with, *units, at, at);
                    } else {
                        meter.charge(&mut without, *units, at);
                    }
                }
            }
        }
    }
}

/// Asks for one again and again, just when it is told to: when the last of so many was let through.
fn paced(meter: &Meter, times: u64) -> SimTime {
    let (mut state, mut now): (MeterState, SimTime) = (meter.unused(), SimTime::ZERO);
    for _ in 0..times {
        now = now + meter.shortfall(&mut state, 1, now);
        meter.charge(&mut state, 1, now);
    }
    now
}

#[test]
fn nothing_drifts_over_a_month() {
    // By hand: 7 in 11 s for 30 days are 1,649,454; with two in hand, number n + 2 is let through at ⌈11 n / 7⌉ s to the
    // nanosecond. Windows of 11 s let seven through at each beginning, a log seven when the last seven are 11 s old.
    let (amount, per) = (7, SimDuration::from_secs(11));
    let capacity = nanos(3_142_857_143);
    let day = 86_400_u64;
    let times = 30 * day * 7 / 11;
    let due = SimTime::from_nanos((u128::from(times - 2) * 11_000_000_000).div_ceil(7) as u64);
    for meter in [
        Meter::TokenBucket(TokenBucket::new(amount, per, capacity).unwrap()),
        Meter::LeakyBucket(LeakyBucket { amount, per, capacity }),
        Meter::Gcra(Gcra { amount, per, tolerance: capacity }),
    ] {
        let off = paced(&meter, times).as_nanos().abs_diff(due.as_nanos());
        // Two tokens are 3,142,857,142.86 ns: the capacity holds a seventh of a nanosecond more.
        assert!(off <= 1, "{meter:?}: {off} ns after 30 days");
    }
    let begins = Begins::Clock(SimDuration::ZERO);
    let window = SimTime::ZERO + per.times((times - 1) / 7);
    for meter in [
        Meter::FixedWindow(FixedWindow { amount, per, sub_windows: 1, begins }),
        Meter::FixedWindow(FixedWindow { amount, per, sub_windows: 1, begins: Begins::FirstCharge }),
        Meter::SlidingLog(SlidingLog { amount, per }),
    ] {
        assert_eq!(paced(&meter, times), window, "{meter:?}");
    }
}

#[test]
fn what_is_used_stays_used_when_the_amount_changes() {
    // By hand, of ten with six used: at five, buckets and windows are over their amount; a minute later buckets have five
    // again, which is all they hold then.
    let minute = SimDuration::from_mins(1);
    let begins = Begins::Clock(SimDuration::ZERO);
    for mut meter in [
        Meter::LeakyBucket(LeakyBucket { amount: 10, per: minute, capacity: minute }),
        Meter::Gcra(Gcra { amount: 10, per: minute, tolerance: minute }),
        Meter::FixedWindow(FixedWindow { amount: 10, per: minute, sub_windows: 1, begins }),
        Meter::SlidingLog(SlidingLog { amount: 10, per: minute }),
        Meter::SlidingWeighted(SlidingWeighted { amount: 10, per: minute, whole: false }),
    ] {
        let mut state = meter.unused();
        meter.charge(&mut state, 6, SimTime::ZERO);
        meter.change(&mut state, 5, SimTime::ZERO);
        assert!(!meter.shortfall(&mut state, 1, SimTime::ZERO).is_zero(), "{meter:?}");
        let later = SimTime::ZERO + minute.times(3);
        assert!(meter.shortfall(&mut state, 5, later).is_zero(), "{meter:?}");
        assert_eq!(meter.shortfall(&mut state, 6, later), SimDuration::MAX, "{meter:?}");
    }
    // A token bucket keeps what is in it, four of ten, as far as it holds so much.
    let mut meter = Meter::TokenBucket(TokenBucket::new(10, minute, minute).unwrap());
    let mut state = meter.unused();
    meter.charge(&mut state, 6, SimTime::ZERO);
    meter.change(&mut state, 5, SimTime::ZERO);
    assert!(meter.shortfall(&mut state, 4, SimTime::ZERO).is_zero());
    assert_eq!(meter.shortfall(&mut state, 5, SimTime::ZERO), SimDuration::from_secs(12));
}
