//! Who watches a run. The engine keeps no history; whoever wants one is shown every fact as it happens, and may end the
//! run early, as may someone who only wants to know how far it has come.

use crate::policy::answer::Answer;
use crate::provider::AnsweredBy;
use crate::units::SimTime;

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All its steps were answered.
    Delivered,
    /// It was given up.
    Failed,
    /// Its time was over before anybody had done it.
    Abandoned,
}

/// Something that happened in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    /// A task arrived.
    TaskArrived {
        /// The index of its class.
        class: u16,
        /// Its ordinal in its class.
        task: u32,
        /// When.
        at: SimTime,
    },
    /// A request came back, or its silence ended.
    RequestEnded {
        /// The index of the class.
        class: u16,
        /// The task's ordinal in its class.
        task: u32,
        /// The run, from 1.
        run: u32,
        /// The step's index.
        step: u8,
        /// The call within the run's step, from 1.
        call: u32,
        /// The request within all requests of the task for the step, from 1.
        ordinal: u32,
        /// When it was sent.
        sent: SimTime,
        /// When it ended.
        at: SimTime,
        /// How it ended.
        answer: Answer,
        /// Who answered, or whose silence it was.
        by: AnsweredBy,
        /// The index of the model that it asked, or [`NO_MODEL`](crate::provider::NO_MODEL).
        model: u8,
        /// Its input tokens.
        input_tokens: u32,
        /// The output tokens of a full answer.
        output_tokens: u32,
        /// Whether the server really did what it asked for: not where a key told it that this had been done before.
        is_effect: bool,
    },
    /// A task ended.
    TaskEnded {
        /// The index of its class.
        class: u16,
        /// Its ordinal in its class.
        task: u32,
        /// When.
        at: SimTime,
        /// How.
        fate: Fate,
    },
}

/// Someone who is shown every fact and may end the run early.
pub trait Observer {
    /// Whether there is anyone: facts are not even put together for nobody.
    const WATCHES: bool = true;

    /// Whether it is asked now and then if the run goes on.
    const ATTENDS: bool = Self::WATCHES;

    /// Whether what is counted is looked at in the end; an outcome of which only the series are, leaves bills and
    /// refusals out.
    const WATCHES_COUNTS: bool = true;

    /// A fact; `false` ends the run here.
    fn see(&mut self, fact: &Fact) -> bool;

    /// Asked every few thousand events, far less than a second apart; `false` ends the run here.
    fn goes_on(&mut self, _: &Course) -> bool {
        true
    }
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// The simulated time.
    pub now: SimTime,
    /// When the run ends.
    pub horizon: SimTime,
    /// Whether this is the pass that only finds the end of the recovery; another one follows.
    pub is_first_of_two: bool,
    /// How many events have been handled in this pass.
    pub events: u64,
    /// How many requests each class has sent in this pass.
    pub requests: Vec<u64>,
}

/// Nobody.
pub struct Unobserved;

impl Observer for Unobserved {
    const WATCHES: bool = false;

    fn see(&mut self, _: &Fact) -> bool {
        true
    }
}

/// An observer of the first of two passes: it is shown nothing and may end the run all the same.
pub(super) struct Attendant<'a, O> {
    pub(super) observer: &'a mut O,
    pub(super) goes_on: bool,
}

impl<O: Observer> Observer for Attendant<'_, O> {
    const WATCHES: bool = false;
    const ATTENDS: bool = O::ATTENDS;
    const WATCHES_COUNTS: bool = false;

    fn see(&mut self, _: &Fact) -> bool {
        true
    }

    fn goes_on(&mut self, course: &Course) -> bool {
        self.goes_on = self.observer.goes_on(&Course { is_first_of_two: true, ..course.clone() });
        self.goes_on
    }
}
