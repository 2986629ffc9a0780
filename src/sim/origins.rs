//! Where the tasks in flight come from, in a class where that matters: which session of a closed loop waits for each, or
//! which client of a crowd sent it. It stands beside the records, so that other classes do not carry it.

use crate::random::Key;
use crate::traffic::TrafficClass;
use crate::traffic::sessions::{Session, Sessions};
use crate::units::SimTime;

/// No origin: an arrival of an open process.
pub(super) const NO_ORIGIN: u32 = u32::MAX;

/// The origins of the tasks of a class, and its sessions.
#[derive(Debug)]
pub(super) struct Origins<'a> {
    /// The closed loops, each with the number of its first session and the key of its draws.
    loops: Vec<(&'a Sessions, u32, Key)>,
    sessions: Vec<Session>,
    /// The origin of each task, by its own slot, or its run's where it has none.
    of: Vec<u32>,
    /// Whether tasks remember where they come from.
    are_kept: bool,
    /// The origin of the task that arrives just now.
    pub(super) arriving: u32,
}

impl<'a> Origins<'a> {
    /// All sessions of a class before they begin; `key` is that of its arrivals.
    pub(super) fn new(class: &'a TrafficClass, key: Key) -> Origins<'a> {
        let mut loops = Vec::new();
        let mut sessions = 0;
        for (process, n) in class.arrivals.iter().zip(0..) {
            if let Some(settings) = process.sessions() {
                loops.push((settings, sessions, key.with(n)));
                sessions += settings.count;
            }
        }
        let sessions = vec![Session::default(); sessions as usize];
        let are_kept = !loops.is_empty() || class.sizes.as_ref().is_some_and(|sizes| sizes.need_origin());
        Origins { loops, sessions, of: Vec::new(), are_kept, arriving: NO_ORIGIN }
    }

    /// Whether tasks remember where they come from.
    #[inline]
    pub(super) const fn are_kept(&self) -> bool {
        self.are_kept
    }

    /// Whether there are closed loops.
    pub(super) const fn has_loops(&self) -> bool {
        !self.loops.is_empty()
    }

    /// How many sessions there are.
    pub(super) fn sessions(&self) -> u32 {
        self.sessions.len() as u32
    }

    /// When the first task of a session arrives.
    pub(super) fn first(&mut self, session: u32) -> Option<SimTime> {
        let (settings, key) = self.of_session(session);
        settings.first(&mut self.sessions[session as usize], key)
    }

    /// When a session's next task arrives, whose last one met its fate now.
    pub(super) fn next(&mut self, session: u32, now: SimTime) -> Option<SimTime> {
        let (settings, key) = self.of_session(session);
        settings.next(&mut self.sessions[session as usize], key, now)
    }

    fn of_session(&self, session: u32) -> (&'a Sessions, Key) {
        let place = self.loops.partition_point(|(_, first, _)| *first <= session) - 1;
        let (settings, first, key) = self.loops[place];
        (settings, key.with(u64::from(session - first)))
    }

    /// The task that arrives just now lies in this slot.
    pub(super) fn keep(&mut self, slot: u32) {
        if self.of.len() <= slot as usize {
            self.of.resize(slot as usize + 1, NO_ORIGIN);
        }
        self.of[slot as usize] = self.arriving;
    }

    /// The origin of the task in this slot.
    pub(super) fn of(&self, slot: u32) -> u32 {
        self.of[slot as usize]
    }
}
