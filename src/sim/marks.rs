//! What is known of the requests of a step: whether the server has carried it out, and whether output was shown.

use crate::observe::ledger::Counts;
use crate::traffic::Idempotency;

/// What is known of the requests of a run's current step, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    /// The server has carried the step out.
    const EFFECT: u8 = 1;
    /// The last request had shown some output when it failed.
    const OUTPUT: u8 = 1 << 1;
    /// What of them outlives the run.
    const KEPT: u8 = Marks::EFFECT | Marks::OUTPUT;
    /// The server has carried it out in this call.
    const EFFECT_IN_CALL: u8 = 1 << 2;
    /// The request in flight is carried out.
    const WILL_BE_EFFECT: u8 = 1 << 3;
    /// The request in flight fails after some output.
    const WILL_SHOW_OUTPUT: u8 = 1 << 4;
    /// The run has waited for steps that run at once.
    const JOINED: u8 = 1 << 5;
    /// One of them failed although the server had carried it out.
    const MEMBER_EFFECT: u8 = 1 << 6;
    /// Where the marks lie in a number that counts requests, below [`super::record::STEP_IS_DONE`].
    const SHIFT: u32 = 29;
    /// All marks that are stored there.
    const STORED: u32 = (Marks::KEPT as u32) << Marks::SHIFT;

    /// The marks and the number of requests that were stored together.
    pub(super) const fn unpack(stored: u32) -> (Marks, u32) {
        (Marks(((stored & Marks::STORED) >> Marks::SHIFT) as u8), stored & !Marks::STORED)
    }

    /// What outlives the run, and the number of requests, in one number.
    pub(super) const fn pack(self, requests: u32) -> u32 {
        ((self.0 & Marks::KEPT) as u32) << Marks::SHIFT | requests
    }

    /// What is known of a step of which several copies are done: what either knew, and the larger number.
    pub(super) const fn join_copies(one: u32, other: u32) -> u32 {
        let ((ours, n), (theirs, m)) = (Marks::unpack(one), Marks::unpack(other));
        Marks(ours.0 | theirs.0).pack(if n > m { n } else { m })
    }

    /// Takes over what is known of the step from others who do it.
    pub(super) const fn learn(&mut self, known: u32) {
        self.0 |= Marks::unpack(known).0.0 & Marks::EFFECT;
    }

    /// Whether the server has carried the step out.
    pub(super) const fn has_effect(self) -> bool {
        self.0 & Marks::EFFECT != 0
    }

    /// Whether it has in this call.
    pub(super) const fn has_effect_in_call(self) -> bool {
        self.0 & Marks::EFFECT_IN_CALL != 0
    }

    /// Whether the last request had shown some output when it failed.
    pub(super) const fn has_shown_output(self) -> bool {
        self.0 & Marks::OUTPUT != 0
    }

    /// Whether the request that ends is carried out.
    pub(super) const fn is_carried_out(self) -> bool {
        self.0 & Marks::WILL_BE_EFFECT != 0
    }

    /// Whether the step that has failed had been carried out.
    pub(super) const fn has_failed_with_effect(self) -> bool {
        self.0 & if self.0 & Marks::JOINED != 0 { Marks::MEMBER_EFFECT } else { Marks::EFFECT } != 0
    }

    /// One of the steps that the run waits for has failed with these marks.
    pub(super) const fn fail_member(&mut self, member: Marks) {
        self.0 |= if member.has_effect() { Marks::MEMBER_EFFECT } else { 0 };
    }

    /// The steps that the run waited for are over; of the first of them so much is known.
    pub(super) const fn join(&mut self, first: Marks) {
        self.0 = self.0 & Marks::MEMBER_EFFECT | first.0 & Marks::KEPT | Marks::JOINED;
    }

    /// What is known of the request in flight alone.
    pub(super) const fn in_flight(self) -> Marks {
        Marks(self.0 & (Marks::WILL_BE_EFFECT | Marks::WILL_SHOW_OUTPUT))
    }

    /// The request in flight is this one.
    pub(super) const fn enter(&mut self, in_flight: Marks) {
        self.0 = self.0 & !(Marks::WILL_BE_EFFECT | Marks::WILL_SHOW_OUTPUT) | in_flight.0;
    }

    /// The request in flight is not carried out after all.
    pub(super) const fn spare(&mut self) {
        self.0 &= !Marks::WILL_BE_EFFECT;
    }

    /// A call begins.
    pub(super) const fn begin_call(&mut self) {
        self.0 &= !Marks::EFFECT_IN_CALL;
    }

    /// A request is sent of which so much is known.
    pub(super) const fn send(&mut self, carried_out: bool, shows_output: bool) {
        self.0 &= !(Marks::WILL_BE_EFFECT | Marks::WILL_SHOW_OUTPUT | Marks::OUTPUT);
        self.0 |= (carried_out as u8 * Marks::WILL_BE_EFFECT) | (shows_output as u8 * Marks::WILL_SHOW_OUTPUT);
    }

    /// The request in flight ends.
    pub(super) const fn end(&mut self) {
        if self.is_carried_out() {
            self.0 |= Marks::EFFECT | Marks::EFFECT_IN_CALL;
        }
        if self.0 & Marks::WILL_SHOW_OUTPUT != 0 {
            self.0 |= Marks::OUTPUT;
        }
    }

    /// The request in flight ends. Says whether the server did what it asked for, and counts it.
    pub(super) fn take_effect(&mut self, idempotency: Idempotency, counts: &mut Counts) -> bool {
        let is_known = match idempotency {
            Idempotency::None => false,
            Idempotency::Call => self.has_effect_in_call(),
            Idempotency::Task => self.has_effect(),
        };
        let is_effect = self.is_carried_out() && !is_known;
        if is_effect {
            counts.effects += 1;
            counts.repeated_effects += u64::from(self.has_effect());
        }
        self.end();
        is_effect
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::record::STEP_IS_DONE;

    #[test]
    fn marks_know_what_was_done_in_the_step_in_the_call_and_last() {
        let mut marks = Marks::default();
        marks.begin_call();
        marks.send(true, true);
        assert!(!marks.has_effect() && marks.is_carried_out() && !marks.has_shown_output());
        marks.end();
        assert!(marks.has_effect() && marks.has_effect_in_call() && marks.has_shown_output());
        marks.begin_call();
        marks.send(false, false);
        marks.end();
        assert!(marks.has_effect() && !marks.has_effect_in_call() && !marks.has_shown_output());
        // What was done in the step outlives a run, beside the number of its requests.
        let (kept, requests) = Marks::unpack(marks.pack(1_000_000));
        assert!(kept.has_effect() && !kept.is_carried_out() && requests == 1_000_000);
        let (kept, requests) = Marks::unpack(marks.pack(STEP_IS_DONE | 7));
        assert!(kept.has_effect() && requests == STEP_IS_DONE | 7);
    }

    #[test]
    fn a_run_that_waited_for_others_has_failed_as_they_have() {
        let mut first = Marks::default();
        first.send(true, false);
        first.end();
        let mut run = Marks::default();
        run.fail_member(Marks::default());
        run.join(first);
        assert!(run.has_effect() && !run.has_failed_with_effect());
        run.fail_member(first);
        assert!(run.has_failed_with_effect());
    }

    #[test]
    fn one_of_several_requests_in_flight_keeps_its_own_marks() {
        let mut marks = Marks::default();
        marks.send(true, false);
        let first = marks.in_flight();
        marks.send(false, false);
        assert!(!marks.is_carried_out());
        marks.enter(first);
        assert!(marks.is_carried_out());
        marks.spare();
        assert!(!marks.is_carried_out());
    }
}
