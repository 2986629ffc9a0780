//! Deposits tie retries to requests: each request pays a share of a retry into an account from which retries are paid,
//! and what was paid in is lost after a while. A reserve keeps callers that send little from being cut off (Finagle;
//! tower and Linkerd have the same three knobs).
//!
//! Both sides of the account expire, what was paid in and what was taken out, and not at the same time: credit that is
//! spent late leaves a debt, which the next deposits pay first. The reserve is a lump: ten retries a second over ten
//! seconds are a hundred at once, and then none until these expire.
//!
//! Time is kept in tenths of the expiry: in Finagle nine that are over and the one that is being filled. tower keeps ten,
//! but closes two of them whenever a tenth ends late, so that under traffic its memory is half as long; and it counts in
//! whole deposits, so that a ratio of 0.3 is a third and one of 0.7 is 1.

use crate::units::{SimDuration, SimTime};

/// The settings of an account.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deposits {
    /// Retries that one request pays for.
    pub ratio: f64,
    /// Retries a second that are always there, over the time until deposits expire.
    pub per_second: u32,
    /// When a deposit, and a withdrawal, is forgotten.
    pub expiry: SimDuration,
    /// Whose account it is.
    pub arithmetic: Arithmetic,
}

/// How an account is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// As in Finagle: thousandths of a deposit, and nine slots that are over.
    Finagle,
    /// As in tower: whole deposits, ten slots that are over, and a slot that ends late ends the next one too.
    Tower,
}

/// What is in an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepositsState {
    /// What was paid in less what was taken out, in thousandths of a deposit, slot by slot of a tenth of the expiry.
    slots: [i64; MOST_CLOSED],
    /// The same of the slot that is being filled.
    open: i64,
    /// Where the open slot will be kept.
    index: u8,
    /// When the open slot began.
    since: SimTime,
}

/// The most slots that are over and still count.
const MOST_CLOSED: usize = 10;

/// How many slots the expiry has.
const SLOTS: u64 = 10;

/// One deposit.
const DEPOSIT: i64 = 1_000;

impl Deposits {
    /// An account in which nobody has paid anything yet.
    pub const fn opened(&self) -> DepositsState {
        DepositsState { slots: [0; MOST_CLOSED], open: 0, index: 0, since: SimTime::ZERO }
    }

    /// A request pays in.
    pub fn deposit(&self, state: &mut DepositsState, now: SimTime) {
        self.expire(state, now);
        if self.ratio > 0.0 {
            state.open += DEPOSIT;
        }
    }

    /// A retry is paid, where there is enough.
    pub fn withdraw(&self, state: &mut DepositsState, now: SimTime) -> bool {
        self.expire(state, now);
        let enough = self.balance(state) >= self.price();
        if enough {
            state.open -= self.price();
        }
        enough
    }

    /// How much of a retry one request pays for.
    pub fn pays_for(&self) -> f64 {
        match self.arithmetic {
            Arithmetic::Tower if self.ratio > 0.0 => DEPOSIT as f64 / self.price() as f64,
            Arithmetic::Tower | Arithmetic::Finagle => self.ratio,
        }
    }

    /// What a retry costs, in thousandths of a deposit.
    fn price(&self) -> i64 {
        if self.ratio <= 0.0 {
            return DEPOSIT;
        }
        if self.arithmetic == Arithmetic::Tower && self.ratio <= 1.0 {
            return (1.0 / self.ratio) as i64 * DEPOSIT;
        }
        ((DEPOSIT as f64 / self.ratio) as i64).max(1)
    }

    /// What can be taken out, in thousandths of a deposit; below zero where more has expired than was taken out.
    pub fn balance(&self, state: &DepositsState) -> i64 {
        let seconds = match self.arithmetic {
            Arithmetic::Finagle => self.expiry.as_secs_f64(),
            Arithmetic::Tower => self.expiry.as_secs_f64().floor(),
        };
        let lump = f64::from(self.per_second) * seconds;
        let reserve = (lump * self.price() as f64) as i64;
        reserve + state.open + state.slots.iter().sum::<i64>()
    }

    /// How many retries it pays for, as it was last looked at; below zero where it is in debt.
    pub fn retries(&self, state: &DepositsState) -> f64 {
        self.balance(state) as f64 / self.price() as f64
    }

    /// Closes the open slot where its time is over. Slots begin when somebody looks, so that what nobody looked at for
    /// a while lives up to one slot longer.
    fn expire(&self, state: &mut DepositsState, now: SimTime) {
        let slot = SimDuration::from_nanos((self.expiry.as_nanos() / SLOTS).max(1));
        let passed = now - state.since;
        if passed < slot {
            return;
        }
        let closed = match self.arithmetic {
            Arithmetic::Finagle => MOST_CLOSED - 1,
            Arithmetic::Tower => MOST_CLOSED,
        };
        let close = |state: &mut DepositsState, sum: i64| {
            state.slots[state.index as usize] = sum;
            state.index = (state.index + 1) % closed as u8;
        };
        let open = std::mem::take(&mut state.open);
        close(state, open);
        // Further whole slots in which nothing happened; for tower also one that has begun.
        let empty = match self.arithmetic {
            Arithmetic::Finagle => passed.as_nanos() / slot.as_nanos() - 1,
            Arithmetic::Tower => (passed.as_nanos() - 1) / slot.as_nanos(),
        };
        for _ in 0..empty.min(closed as u64) {
            close(state, 0);
        }
        state.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `n` retries each of these moments pays for: (seconds, deposits before, retries wanted).
    fn granted(account: Deposits, moments: &[(f64, u32, u32)]) -> Vec<u32> {
        let mut state = account.opened();
        let mut granted = Vec::new();
        for &(seconds, deposits, retries) in moments {
            let now = SimTime::ZERO + SimDuration::from_secs_f64(seconds);
            (0..deposits).for_each(|_| account.deposit(&mut state, now));
            granted.push((0..retries).filter(|_| account.withdraw(&mut state, now)).count() as u32);
        }
        granted
    }

    const fn account(ratio: f64, per_second: u32, expiry_s: u64) -> Deposits {
        Deposits { ratio, per_second, expiry: SimDuration::from_secs(expiry_s), arithmetic: Arithmetic::Finagle }
    }

    /// Finagle's defaults, and tower's.
    const DEFAULT: Deposits = account(0.2, 10, 10);

    #[test]
    fn the_reserve_is_a_lump() {
        // By hand: 100 at once; they are gone when nine further seconds have begun and a tenth does.
        let seconds: Vec<(f64, u32, u32)> = (0..22).map(|second| (f64::from(second), 0, 150)).collect();
        let granted = granted(DEFAULT, &seconds);
        let lumps: Vec<usize> = (0..22).filter(|second| granted[*second] > 0).collect();
        assert_eq!((lumps.as_slice(), granted[0], granted[10]), ([0, 10, 20].as_slice(), 100, 100));
    }

    #[test]
    fn a_fifth_of_the_requests_pays_for_retries() {
        // Measured on tower 0.5.3: 100 requests and 100 wanted retries a second. The reserve goes first.
        let moments: Vec<(f64, u32, u32)> = (0..5).map(|second| (f64::from(second), 100, 100)).collect();
        assert_eq!(granted(DEFAULT, &moments), [100, 40, 20, 20, 20]);
        assert_eq!(granted(account(0.2, 0, 10), &[(0.0, 4, 1), (0.0, 1, 2), (0.0, 10, 4)]), [0, 1, 2]);
        assert_eq!(granted(account(2.0, 0, 10), &[(0.0, 2, 6)]), [4]);
        assert_eq!(granted(account(0.0, 2, 10), &[(0.0, 100, 30)]), [20]);
        // A price is rounded down to a thousandth of a deposit, by hand: 1,000 / 0.3 = 3,333.
        assert_eq!(granted(account(0.3, 0, 10), &[(0.0, 300, 120)]), [90]);
    }

    #[test]
    fn traffic_without_gaps_gets_a_fifth_and_the_reserve_once_in_the_expiry() {
        // By hand: 100 requests a second for a minute pay for 1,200 retries, and the reserve is there six times.
        let moments: Vec<(f64, u32, u32)> = (0..6_000).map(|n| (f64::from(n) * 0.010_001, 1, 2)).collect();
        let total: u32 = granted(DEFAULT, &moments).into_iter().sum();
        assert!((1_780..=1_800).contains(&total), "{total}");
    }

    #[test]
    fn tower_counts_whole_deposits_and_ends_two_slots_at_once() {
        // Measured on tower 0.5.3. 0.3 is a third, 0.7 is one; a deposit that nobody looked at for a whole second is
        // there still, and gone a tenth later.
        let tower = |ratio, expiry_s| Deposits { arithmetic: Arithmetic::Tower, ..account(ratio, 0, expiry_s) };
        assert_eq!(granted(tower(0.3, 10), &[(0.0, 300, 120)]), [100]);
        assert_eq!(granted(tower(0.7, 10), &[(0.0, 100, 120)]), [100]);
        assert_eq!(granted(tower(1.0, 1), &[(0.0, 5, 0), (1.0, 0, 1), (1.1, 0, 1)]), [0, 1, 0]);
        assert_eq!((tower(0.3, 10).pays_for(), account(0.3, 0, 10).pays_for()), (1.0 / 3.0, 0.3));
    }

    #[test]
    fn deposits_and_withdrawals_expire() {
        // By hand: a deposit of the first tenth counts until nine further ones are over.
        let one = account(1.0, 0, 1);
        let touched = [(0.0, 5, 0), (0.5, 0, 1), (0.9, 0, 1), (1.0, 0, 1), (1.1, 0, 1)];
        assert_eq!(granted(one, &touched), [0, 1, 1, 0, 0]);
        assert_eq!(granted(one, &[(0.0, 5, 0), (3.0, 0, 1)]), [0, 0]);
        let half = account(0.5, 0, 60);
        let moments = [(0.0, 100, 0), (30.0, 0, 10), (54.0, 0, 10), (60.0, 0, 10), (66.0, 0, 10)];
        assert_eq!(granted(half, &moments), [0, 10, 10, 0, 0]);
    }

    #[test]
    fn credit_that_is_spent_late_leaves_a_debt() {
        // By hand: ten deposits that are spent half a second later are gone after a second, the ten withdrawals are
        // not: six new deposits do not make up for them, another five do.
        let one = account(1.0, 0, 1);
        let moments = [(0.0, 10, 0), (0.5, 0, 10), (1.2, 6, 1), (1.3, 5, 3), (1.6, 0, 12)];
        assert_eq!(granted(one, &moments), [0, 10, 0, 1, 10]);
    }
}
