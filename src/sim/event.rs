//! What a pending event is about, packed into the 64 bits that the queue carries. It says what the run was doing, so
//! that the loop takes the right way before the run's record has come from memory.

/// Something that happens to an entity at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The next task of this arrival process arrives.
    TaskArrives { class: u16, process: u32 },
    /// A session of a closed loop brings its next task.
    SessionBrings { class: u16, session: u32 },
    /// A job may be taken: it enters the queue at its back.
    JobQueued { class: u16, task: u32 },
    /// A job may be taken: it enters the queue at its front.
    JobQueuedFirst { class: u16, task: u32 },
    /// The run's request in flight ends: an answer is back, or its timeout has passed.
    RequestEnds { class: u16, run: u32 },
    /// The same, of a request that a limit may have cut short before.
    StreamEnds { class: u16, run: u32 },
    /// A limit charges for output that has flowed.
    OutputIsDue,
    /// The run's wait for its next attempt is over.
    RetryWaitEnds { class: u16, run: u32 },
    /// The run's wait for a limiter or a breaker is over.
    LimiterWaitEnds { class: u16, run: u32 },
    /// A hedge may send one more request.
    HedgeDue { class: u16, run: u32 },
    /// The run's patience in a guard's line is over.
    LineEnds { class: u16, run: u32 },
    /// A breaker that paused the class's workers may have closed.
    PauseEnds { class: u16 },
    /// The run's request has travelled and is at the provider.
    ReachesProvider { class: u16, run: u32 },
    /// A request has been written and comes to the servers.
    ReachesServer { job: u32 },
    /// A server has done with a request.
    ServiceEnds { job: u32 },
    /// The caller of a request at the servers may have waited long enough.
    PatienceEnds { job: u32 },
    /// The number of servers changes.
    CapacityChanges,
    /// The time of a run is over, if it is still the same one.
    RunTimesOut { class: u16, run: u32 },
    /// A message that was handed out is overdue, if it is not acknowledged.
    Overdue { class: u16, message: u32 },
    /// A message that waits in a process may be run, if it is still there.
    DelayEnds { class: u16, message: u32 },
    /// The time of a task is over, if it is still the same one.
    TaskIsDue { class: u16, task: u32 },
    /// A worker dies, or a process with all of its workers.
    Crash { force: u16, unit: u32 },
    /// A worker is there again, or for the first time.
    WorkerStarts { force: u16, worker: u32 },
    /// A pool looks how many workers it wants.
    PoolLooks { force: u16 },
    /// An operator does something, or undoes it.
    Intervenes { index: u32, undoes: bool },
}

const TASK_ARRIVES: u64 = 0;
const JOB_QUEUED: u64 = 1;
const JOB_QUEUED_FIRST: u64 = 2;
const REQUEST_ENDS: u64 = 3;
const RETRY_WAIT_ENDS: u64 = 4;
const LIMITER_WAIT_ENDS: u64 = 5;
const PAUSE_ENDS: u64 = 6;
const HEDGE_DUE: u64 = 8;
const LINE_ENDS: u64 = 9;
const REACHES_SERVER: u64 = 10;
const SERVICE_ENDS: u64 = 11;
const PATIENCE_ENDS: u64 = 12;
const CAPACITY_CHANGES: u64 = 13;
const RUN_TIMES_OUT: u64 = 20;
const OVERDUE: u64 = 21;
const TASK_IS_DUE: u64 = 22;
const CRASH: u64 = 23;
const WORKER_STARTS: u64 = 24;
const POOL_LOOKS: u64 = 25;
const DELAY_ENDS: u64 = 26;
const INTERVENES: u64 = 16;
const STREAM_ENDS: u64 = 14;
const OUTPUT_IS_DUE: u64 = 15;
const SESSION_BRINGS: u64 = 17;
const REACHES_PROVIDER: u64 = 18;

impl Event {
    /// Kind in the low byte, class in the next two, the entity in the high four.
    pub(super) const fn pack(self) -> u64 {
        let (kind, class, entity) = match self {
            Event::TaskArrives { class, process } => (TASK_ARRIVES, class, process),
            Event::JobQueued { class, task } => (JOB_QUEUED, class, task),
            Event::JobQueuedFirst { class, task } => (JOB_QUEUED_FIRST, class, task),
            Event::RequestEnds { class, run } => (REQUEST_ENDS, class, run),
            Event::RetryWaitEnds { class, run } => (RETRY_WAIT_ENDS, class, run),
            Event::LimiterWaitEnds { class, run } => (LIMITER_WAIT_ENDS, class, run),
            Event::PauseEnds { class } => (PAUSE_ENDS, class, 0),
            Event::HedgeDue { class, run } => (HEDGE_DUE, class, run),
            Event::LineEnds { class, run } => (LINE_ENDS, class, run),
            Event::ReachesProvider { class, run } => (REACHES_PROVIDER, class, run),
            Event::ReachesServer { job } => (REACHES_SERVER, 0, job),
            Event::ServiceEnds { job } => (SERVICE_ENDS, 0, job),
            Event::PatienceEnds { job } => (PATIENCE_ENDS, 0, job),
            Event::CapacityChanges => (CAPACITY_CHANGES, 0, 0),
            Event::RunTimesOut { class, run } => (RUN_TIMES_OUT, class, run),
            Event::Overdue { class, message } => (OVERDUE, class, message),
            Event::DelayEnds { class, message } => (DELAY_ENDS, class, message),
            Event::TaskIsDue { class, task } => (TASK_IS_DUE, class, task),
            Event::Crash { force, unit } => (CRASH, force, unit),
            Event::WorkerStarts { force, worker } => (WORKER_STARTS, force, worker),
            Event::PoolLooks { force } => (POOL_LOOKS, force, 0),
            Event::Intervenes { index, undoes } => (INTERVENES, undoes as u16, index),
            Event::StreamEnds { class, run } => (STREAM_ENDS, class, run),
            Event::OutputIsDue => (OUTPUT_IS_DUE, 0, 0),
            Event::SessionBrings { class, session } => (SESSION_BRINGS, class, session),
        };
        kind | (class as u64) << 8 | (entity as u64) << 32
    }

    /// The class and the run that it is about, if it is about a run.
    pub(super) const fn run(self) -> Option<(u16, u32)> {
        match self {
            Event::RequestEnds { class, run }
            | Event::StreamEnds { class, run }
            | Event::RetryWaitEnds { class, run }
            | Event::LimiterWaitEnds { class, run }
            | Event::HedgeDue { class, run }
            | Event::ReachesProvider { class, run }
            | Event::LineEnds { class, run } => Some((class, run)),
            Event::TaskArrives { .. }
            | Event::SessionBrings { .. }
            | Event::JobQueued { .. }
            | Event::JobQueuedFirst { .. }
            | Event::PauseEnds { .. }
            | Event::ReachesServer { .. }
            | Event::ServiceEnds { .. }
            | Event::PatienceEnds { .. }
            | Event::CapacityChanges
            | Event::RunTimesOut { .. }
            | Event::Overdue { .. }
            | Event::DelayEnds { .. }
            | Event::TaskIsDue { .. }
            | Event::Crash { .. }
            | Event::WorkerStarts { .. }
            | Event::PoolLooks { .. }
            | Event::OutputIsDue
            | Event::Intervenes { .. } => None,
        }
    }

    /// The event that was packed.
    pub(super) const fn unpack(packed: u64) -> Event {
        let (class, entity) = ((packed >> 8) as u16, (packed >> 32) as u32);
        match packed & 0xFF {
            TASK_ARRIVES => Event::TaskArrives { class, process: entity },
            JOB_QUEUED => Event::JobQueued { class, task: entity },
            JOB_QUEUED_FIRST => Event::JobQueuedFirst { class, task: entity },
            REQUEST_ENDS => Event::RequestEnds { class, run: entity },
            RETRY_WAIT_ENDS => Event::RetryWaitEnds { class, run: entity },
            HEDGE_DUE => Event::HedgeDue { class, run: entity },
            LIMITER_WAIT_ENDS => Event::LimiterWaitEnds { class, run: entity },
            LINE_ENDS => Event::LineEnds { class, run: entity },
            REACHES_PROVIDER => Event::ReachesProvider { class, run: entity },
            REACHES_SERVER => Event::ReachesServer { job: entity },
            SERVICE_ENDS => Event::ServiceEnds { job: entity },
            PATIENCE_ENDS => Event::PatienceEnds { job: entity },
            CAPACITY_CHANGES => Event::CapacityChanges,
            RUN_TIMES_OUT => Event::RunTimesOut { class, run: entity },
            OVERDUE => Event::Overdue { class, message: entity },
            DELAY_ENDS => Event::DelayEnds { class, message: entity },
            TASK_IS_DUE => Event::TaskIsDue { class, task: entity },
            CRASH => Event::Crash { force: class, unit: entity },
            WORKER_STARTS => Event::WorkerStarts { force: class, worker: entity },
            POOL_LOOKS => Event::PoolLooks { force: class },
            INTERVENES => Event::Intervenes { index: entity, undoes: class != 0 },
            STREAM_ENDS => Event::StreamEnds { class, run: entity },
            OUTPUT_IS_DUE => Event::OutputIsDue,
            SESSION_BRINGS => Event::SessionBrings { class, session: entity },
            _ => Event::PauseEnds { class },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        for event in [
            Event::TaskArrives { class: 63, process: 7 },
            Event::JobQueued { class: 1, task: u32::MAX },
            Event::JobQueuedFirst { class: 0, task: 0 },
            Event::RequestEnds { class: 2, run: 1_000_000 },
            Event::RetryWaitEnds { class: 3, run: 0 },
            Event::LimiterWaitEnds { class: 3, run: 1 },
            Event::PauseEnds { class: u16::MAX },
            Event::HedgeDue { class: 0, run: 12 },
            Event::LineEnds { class: 4, run: 9 },
            Event::ReachesProvider { class: 6, run: 2 },
            Event::ReachesServer { job: 3 },
            Event::ServiceEnds { job: u32::MAX },
            Event::PatienceEnds { job: 0 },
            Event::CapacityChanges,
            Event::RunTimesOut { class: 1, run: 8 },
            Event::Overdue { class: 63, message: u32::MAX },
            Event::TaskIsDue { class: 2, task: 3 },
            Event::DelayEnds { class: 4, message: 1 },
            Event::Crash { force: 63, unit: 99_999 },
            Event::WorkerStarts { force: 0, worker: 7 },
            Event::PoolLooks { force: 5 },
            Event::Intervenes { index: 3, undoes: true },
            Event::SessionBrings { class: 9, session: 999_999 },
        ] {
            assert_eq!(Event::unpack(event.pack()), event);
        }
    }
}
