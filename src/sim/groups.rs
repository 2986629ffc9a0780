//! Steps that run at once. Each of them is a run of its own, a member, beside the run that waits for them all; members
//! share its worker and its task.

use crate::policy::answer::Answer;

/// No run.
pub(super) const NO_RUN: u32 = u32::MAX;

/// What a run is to others.
#[derive(Clone, Copy, Debug)]
struct Tie {
    /// The run that waits for it, if it is a member.
    parent: u32,
    /// The first of its members, if it waits for some.
    first: u32,
    /// The next member of the same run.
    next: u32,
    /// How many members have not ended, and one more while they are being started.
    pending: u8,
    /// The first failure of a member.
    failed: Option<Answer>,
}

impl Default for Tie {
    fn default() -> Self {
        Tie { parent: NO_RUN, first: NO_RUN, next: NO_RUN, pending: 0, failed: None }
    }
}

/// The groups of a class; empty where it has none.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// By run.
    ties: Vec<Tie>,
}

impl Groups {
    fn tie(&mut self, run: u32) -> &mut Tie {
        if self.ties.len() <= run as usize {
            self.ties.resize(run as usize + 1, Tie::default());
        }
        &mut self.ties[run as usize]
    }

    /// The run begins to wait for members.
    pub(super) fn open(&mut self, run: u32) {
        let tie = self.tie(run);
        (tie.first, tie.pending, tie.failed) = (NO_RUN, 1, None);
    }

    /// One more member.
    pub(super) fn add(&mut self, run: u32, member: u32) {
        let next = std::mem::replace(&mut self.tie(run).first, member);
        self.tie(run).pending += 1;
        *self.tie(member) = Tie { parent: run, next, ..Tie::default() };
    }

    /// The run that waits for this one, if it is a member.
    pub(super) fn parent(&self, run: u32) -> Option<u32> {
        self.ties.get(run as usize).map(|tie| tie.parent).filter(|parent| *parent != NO_RUN)
    }

    /// The run that stands for the task: the one that waits, or this one.
    pub(super) fn home(&self, run: u32) -> u32 {
        self.parent(run).unwrap_or(run)
    }

    /// The members that have not ended.
    pub(super) fn members(&self, run: u32) -> Vec<u32> {
        let known = |member: u32| Some(member).filter(|member| *member != NO_RUN);
        let after = |member: &u32| known(self.ties[*member as usize].next);
        std::iter::successors(known(self.ties[run as usize].first), after).collect()
    }

    /// The member ends or is dropped.
    pub(super) fn remove(&mut self, member: u32) {
        let Tie { parent, next, .. } = std::mem::take(&mut self.ties[member as usize]);
        let mut at = self.ties[parent as usize].first;
        if at == member {
            self.ties[parent as usize].first = next;
            return;
        }
        while self.ties[at as usize].next != member {
            at = self.ties[at as usize].next;
        }
        self.ties[at as usize].next = next;
    }

    /// One less is waited for; says whether it was the last.
    pub(super) fn is_last(&mut self, run: u32) -> bool {
        let tie = &mut self.ties[run as usize];
        tie.pending -= 1;
        tie.pending == 0
    }

    /// A member has failed.
    pub(super) fn fail(&mut self, run: u32, answer: Answer) {
        self.ties[run as usize].failed.get_or_insert(answer);
    }

    /// The first failure of a member.
    pub(super) fn failed(&self, run: u32) -> Option<Answer> {
        self.ties[run as usize].failed
    }
}
