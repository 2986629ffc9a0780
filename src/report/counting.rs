//! How things are counted decides what a number means: 9.3 and 10.1 are the same storm. These sentences stand in every
//! report.

/// How things are counted, for a reader who compares with logs.
pub const SENTENCES: [&str; 8] = [
    "a task, its steps, its fate, its latency and whether it met a 429 belong to the phase in which the task arrived",
    "calls, requests and answers belong to the phase in which their call began",
    "a call is what application code asks for; a request is what goes over the wire; the first try counts",
    "amplification is the requests of calls that began in the phase, divided by the steps of the tasks that arrived in it",
    "`amplification_by_task` follows the tasks that arrived in the phase to their end; its factors multiply to it",
    "latency is of delivered tasks, from arrival, delays before the queue included; failed and unfinished tasks are \
     counted beside it",
    "recovery is counted from the end of the last fault window until the queue, the share of live turns with a 429 and \
     requests per call have been back together for a whole minute; each one's time is when it was out of bounds last",
    "phases are half-open: an instant at a border belongs to the later one",
];
