//! Who refused the requests of a class, with which status, and at which attempt; and of the refusals by rate limits, how
//! many the retries have caused.

use super::ledger::AnswerIndex;
use crate::provider::model::WINDOW_STATUS;
use crate::provider::{AnsweredBy, Respond, shadow};
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;

/// In which groups attempts are counted: the first three alone, then doubling.
pub const ATTEMPTS: [&str; 10] = ["1", "2", "3", "4-7", "8-15", "16-31", "32-63", "64-127", "128-255", "256+"];

/// The group of a request that is the n-th of its task for its step, from 1.
pub const fn attempt_group(n: u32) -> usize {
    match n {
        0..=3 => n.saturating_sub(1) as usize,
        4..256 => n.ilog2() as usize + 1,
        _ => ATTEMPTS.len() - 1,
    }
}

/// Someone who refuses, with one status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refuser {
    /// Who, in the words of the log of requests: `limit:NAME`, `fault:NAME`, `hop:NAME`, `capacity`, `context_window`.
    pub source: String,
    /// The status.
    pub status: u16,
}

/// Refusals by rate limits, by what caused them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// They met a request that was not the first of its task for its step.
    pub retries: u64,
    /// They met a first request that the same limits would have admitted, had they only ever been charged for first
    /// requests.
    pub displaced: u64,
    /// They met a first request that would have been refused without the retries too.
    pub anyway: u64,
}

/// The refusals of one class by cell. What is counted of an answer is counted when it is back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalLedger {
    refusers: Vec<Refuser>,
    /// For each source of the provider and each place of an answer the refuser; `NONE` where there is none.
    by_answer: Vec<u16>,
    kinds: usize,
    /// For each element of the class's hops, by its row, the refuser of each of its statuses.
    hops: Vec<[u16; 2]>,
    /// By cell, refuser and group of attempts.
    counts: Vec<u64>,
    causes: Vec<Causes>,
    /// Where limits, limits on requests in flight, and what is behind them begin among the sources.
    starts: [usize; 3],
    /// Whether it is known which first requests would have been refused anyway.
    pub knows_causes: bool,
}

/// The refusals of one class over several cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusalTotal {
    /// Who refused, and how often at each group of attempts.
    pub by: Vec<(Refuser, [u64; ATTEMPTS.len()])>,
    /// Those by rate limits, by their cause.
    pub causes: Causes,
    /// Whether it is known which first requests would have been refused anyway.
    pub knows_causes: bool,
}

const NONE: u16 = u16::MAX;

/// The statuses with which a hop answers for what its guards keep back: an open breaker or a full limiter, a request that
/// is too large.
const HOP_STATUSES: [u16; 2] = [503, 413];

impl RefusalLedger {
    /// An empty ledger of a class.
    pub fn new(scenario: &Scenario, class: &TrafficClass, cells: usize, answers: &AnswerIndex) -> RefusalLedger {
        let provider = &scenario.provider;
        let sources = sources(scenario, class);
        let kinds = answers.names().len();
        let mut refusers = Vec::new();
        let mut by_answer = vec![NONE; sources.len() * kinds];
        let mut add = |source: &str, status: u16| {
            refusers.push(Refuser { source: source.to_owned(), status });
            refusers.len() as u16 - 1
        };
        for (index, (source, statuses)) in sources.iter().enumerate() {
            for status in statuses {
                let place = answers.of(&crate::policy::Answer::refused(*status));
                if by_answer[index * kinds + place] == NONE {
                    by_answer[index * kinds + place] = add(source, *status);
                }
            }
        }
        let rows = super::LayerRows::of(scenario, class);
        let mut hops = vec![[NONE; 2]; rows.len()];
        for (n, client) in scenario.clients_of(class).enumerate() {
            for (at, element) in client.hops().iter().enumerate() {
                let Some(guard) = element.role.guard() else { continue };
                let is_size = matches!(scenario.guards[guard].mechanism, crate::policy::Mechanism::Size(_));
                let status = HOP_STATUSES[usize::from(is_size)];
                hops[rows.first_of(n) + at][usize::from(is_size)] = add(&format!("hop:{}", element.name), status);
            }
        }
        let faults = provider.faults.len();
        let limits = faults + provider.limits.len();
        let starts = [faults, limits, limits + provider.slots.len()];
        let counts = vec![0; cells * refusers.len() * ATTEMPTS.len()];
        let knows_causes = shadow::is_known(provider);
        let causes = vec![Causes::default(); cells];
        RefusalLedger { refusers, by_answer, kinds, hops, counts, causes, starts, knows_causes }
    }

    /// A request that is the n-th of its task for its step, from 1, has come back refused.
    #[inline]
    pub fn refused(&mut self, cell: u16, place: usize, by: AnsweredBy, n: u32, displaced: bool) {
        let [limits, slots, rest] = self.starts;
        let source = match by {
            AnsweredBy::Fault(fault) => fault,
            AnsweredBy::Limit(limit) => limits + limit,
            AnsweredBy::Slots(index) => slots + index,
            AnsweredBy::Full => rest,
            AnsweredBy::Window => rest + 1,
            AnsweredBy::Service | AnsweredBy::Nobody => return,
        };
        if let AnsweredBy::Limit(_) = by {
            let causes = &mut self.causes[cell as usize];
            match (n, displaced) {
                (0..=1, true) => causes.displaced += 1,
                (0..=1, false) => causes.anyway += 1,
                _ => causes.retries += 1,
            }
        }
        self.count(cell, self.by_answer[source * self.kinds + place], n);
    }

    /// A hop keeps back what would have been such a request.
    pub fn kept_back(&mut self, cell: u16, row: usize, is_too_large: bool, n: u32) {
        self.count(cell, self.hops[row][usize::from(is_too_large)], n);
    }

    #[inline]
    fn count(&mut self, cell: u16, refuser: u16, n: u32) {
        if refuser != NONE {
            let at = cell as usize * self.refusers.len() + refuser as usize;
            self.counts[at * ATTEMPTS.len() + attempt_group(n)] += 1;
        }
    }

    /// The sum over a range of cells.
    pub fn total(&self, cells: std::ops::Range<usize>) -> RefusalTotal {
        let mut by: Vec<_> = self.refusers.iter().map(|refuser| (refuser.clone(), [0; ATTEMPTS.len()])).collect();
        let mut causes = Causes::default();
        for cell in cells {
            let width = self.refusers.len() * ATTEMPTS.len();
            let row = self.counts[cell * width..][..width].chunks_exact(ATTEMPTS.len());
            for ((_, sums), counts) in by.iter_mut().zip(row) {
                sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
            }
            let Causes { retries, displaced, anyway } = self.causes[cell];
            causes.retries += retries;
            causes.displaced += displaced;
            causes.anyway += anyway;
        }
        RefusalTotal { by, causes, knows_causes: self.knows_causes }
    }
}

/// Who of the provider may refuse requests of a class, with which statuses: faults, limits, limits on requests in flight,
/// the full waiting room, context windows.
fn sources(scenario: &Scenario, class: &TrafficClass) -> Vec<(String, Vec<u16>)> {
    let provider = &scenario.provider;
    let index = scenario.traffic.iter().position(|known| known.name == class.name).unwrap_or(0);
    let models = scenario.models_of(class);
    let senders: Vec<u8> =
        std::iter::once(index as u8).chain(class.steps.iter().filter_map(|step| step.sender)).collect();
    let meets = |covers: &dyn Fn(u8, u8) -> bool| {
        senders.iter().any(|sender| models.iter().any(|model| covers(*sender, *model)))
    };
    let where_met = |is_met: bool, status: u16| if is_met { vec![status] } else { Vec::new() };
    let faults = provider.faults.iter().map(|fault| {
        let statuses = match &fault.respond {
            _ if !models.iter().any(|model| fault.models.contains(*model)) => Vec::new(),
            Respond::Status { status, .. } => vec![*status],
            Respond::Script(script) => script.statuses(),
            _ => Vec::new(),
        };
        (format!("fault:{}", fault.name), statuses)
    });
    let limits = provider.limits.iter().map(|limit| {
        let is_met = meets(&|sender, model| limit.covers(sender, model));
        (format!("limit:{}", limit.name), where_met(is_met, limit.status))
    });
    let slots = provider.slots.iter().map(|slots| {
        let is_met = meets(&|sender, model| slots.covers(sender, model));
        (format!("limit:{}", slots.name), where_met(is_met, slots.status))
    });
    let full = ("capacity".to_owned(), provider.capacity.iter().map(|capacity| capacity.status).collect());
    let has_windows = provider.models.iter().any(|model| model.context_window.is_some());
    let window = ("context_window".to_owned(), has_windows.then_some(WINDOW_STATUS).into_iter().collect());
    faults.chain(limits).chain(slots).chain([full, window]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_grouped_by_doubling() {
        let of = |n: u32| ATTEMPTS[attempt_group(n)];
        assert_eq!([1, 2, 3, 4, 7, 8, 15, 16].map(of), ["1", "2", "3", "4-7", "4-7", "8-15", "8-15", "16-31"]);
        assert_eq!(
            [31, 32, 63, 64, 127, 128, 255].map(of),
            ["16-31", "32-63", "32-63", "64-127", "64-127", "128-255", "128-255"]
        );
        assert_eq!([256, 100_000].map(of), ["256+", "256+"]);
    }
}
