//! Requests whose answers a limit may stop before their end. Their ends are looked at twice: once where they were planned,
//! and once where their output used a limit up, whichever comes first.

use super::services::Served;
use super::station::NOBODY;
use crate::provider::Ticket;
use crate::units::SimTime;

/// One such request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streaming {
    pub(super) ticket: Ticket,
    pub(super) class: u16,
    /// The run that waits for it, or `NOBODY`.
    pub(super) run: u32,
    /// Its job, where it is at the servers; else `NOBODY`.
    pub(super) job: u32,
    pub(super) sender: u8,
    pub(super) model: u8,
    /// Whether its answer is a stream.
    pub(super) is_stream: bool,
    /// The cell in which its call began.
    pub(super) call_cell: u16,
    pub(super) served: Served,
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    /// By their place among what limits hold; another request may have the place of one that is over.
    held: Vec<Option<Streaming>>,
    /// For each class and run when its request was planned to end, and its place.
    of_run: Vec<Vec<(SimTime, u32)>>,
    /// When the next event is due that looks at what has flowed.
    pub(super) due: SimTime,
    /// Whether the request that was sent last is one of them.
    pub(super) is_last: bool,
    /// The tokens of the answer that is being cut short just now.
    pub(super) produced: Option<u32>,
}

impl Streams {
    pub(super) fn new(classes: usize) -> Streams {
        Streams {
            held: Vec::new(),
            of_run: vec![Vec::new(); classes],
            due: SimTime::NEVER,
            is_last: false,
            produced: None,
        }
    }

    /// A request is served whose run will see its end at `ends`.
    pub(super) fn begin(&mut self, streaming: Streaming, ends: SimTime) {
        let Some(place) = streaming.ticket.place() else { return };
        if self.held.len() <= place as usize {
            self.held.resize(place as usize + 1, None);
        }
        self.held[place as usize] = Some(streaming);
        let runs = &mut self.of_run[streaming.class as usize];
        if runs.len() <= streaming.run as usize {
            runs.resize(streaming.run as usize + 1, (SimTime::NEVER, NOBODY));
        }
        runs[streaming.run as usize] = (ends, place);
        self.is_last = true;
    }

    /// The request of this ticket is this job.
    pub(super) fn is_job(&mut self, ticket: Ticket, job: u32) {
        let place = ticket.place().and_then(|place| self.held.get_mut(place as usize));
        if let Some(Some(streaming)) = place {
            streaming.job = job;
        }
    }

    /// Whether the request of this run was planned to end now, and has not ended before.
    pub(super) fn ends(&mut self, class: u16, run: u32, now: SimTime) -> bool {
        let Some((ends, place)) = self.of_run[class as usize].get_mut(run as usize) else { return false };
        if *ends != now {
            return false;
        }
        *ends = SimTime::NEVER;
        if let Some(Some(streaming)) = self.held.get_mut(*place as usize)
            && (streaming.class, streaming.run) == (class, run)
        {
            streaming.run = NOBODY;
        }
        true
    }

    /// The run does not wait for its request any more, which may go on; its planned end finds nobody.
    pub(super) fn leave(&mut self, class: u16, run: u32) {
        let Some((_, place)) = self.of_run[class as usize].get(run as usize) else { return };
        if let Some(Some(streaming)) = self.held.get_mut(*place as usize)
            && (streaming.class, streaming.run) == (class, run)
        {
            streaming.run = NOBODY;
            streaming.served.wasted = true;
        }
    }

    /// The request of this ticket is cut short.
    pub(super) fn cut(&mut self, ticket: Ticket) -> Option<Streaming> {
        let place = ticket.place()? as usize;
        let streaming = self.held.get(place).copied().flatten().filter(|streaming| streaming.ticket == ticket)?;
        self.held[place] = None;
        if streaming.run != NOBODY
            && let Some(planned) = self.of_run[streaming.class as usize].get_mut(streaming.run as usize)
        {
            planned.0 = SimTime::NEVER;
        }
        Some(streaming)
    }
}
