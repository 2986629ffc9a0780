//! A window of time in slots, in which two numbers are added up. Libraries keep time so because it costs a few counters,
//! however many results there are. In most of them the slots move with the clock; in one they move by one slot whenever
//! a result comes late, so that with sparse calls they cover more time than they are called after.

use crate::units::{SimDuration, SimTime};

/// A window of time in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The time that all of them cover together; above zero.
    pub time: SimDuration,
    /// How many there are, the one that is being filled included; from 1 to [`Slots::MOST`].
    pub number: u32,
    /// Whether they move with the clock, or by one slot at the first result after a slot's time is over.
    pub move_with_time: bool,
}

/// Two sums of a window.
#[derive(Clone, Debug)]
pub struct Tally {
    slots: Box<[[u32; 2]]>,
    current: usize,
    /// Which slot of all time is being filled, or when it began where slots move with results.
    at: u64,
    sums: [u32; 2],
}

impl Slots {
    /// The most slots of a window.
    pub const MOST: u32 = 1_000;

    const fn nanos(&self) -> u64 {
        let nanos = self.time.as_nanos() / self.number as u64;
        if nanos == 0 { 1 } else { nanos }
    }

    /// Nothing added yet.
    pub fn empty(&self) -> Tally {
        let slots = vec![[0; 2]; self.number as usize].into_boxed_slice();
        Tally { slots, current: 0, at: 0, sums: [0; 2] }
    }

    /// Moves the window on and adds to the slot that is being filled.
    pub fn add(&self, tally: &mut Tally, more: [u32; 2], now: SimTime) {
        if self.move_with_time {
            let slot = now.as_nanos() / self.nanos();
            for _ in 0..(slot - tally.at).min(u64::from(self.number)) {
                tally.begin();
            }
            tally.at = slot;
        } else if now.as_nanos() - tally.at >= self.nanos() {
            tally.begin();
            tally.at = now.as_nanos();
        }
        for (n, more) in more.into_iter().enumerate() {
            tally.slots[tally.current][n] += more;
            tally.sums[n] += more;
        }
    }
}

impl Tally {
    /// What is in the window.
    pub const fn sums(&self) -> [u32; 2] {
        self.sums
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.fill([0; 2]);
        self.sums = [0; 2];
    }

    fn begin(&mut self) {
        self.current = (self.current + 1) % self.slots.len();
        let old = std::mem::take(&mut self.slots[self.current]);
        for (sum, old) in self.sums.iter_mut().zip(old) {
            *sum -= old;
        }
    }
}
