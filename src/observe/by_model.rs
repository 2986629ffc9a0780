//! What the requests of a class met, model by model: how many went to each, what they were answered, and by whom.

use crate::policy::answer::{Answer, Outcome};
use crate::policy::stack::Client;
use crate::provider::{AnsweredBy, NO_MODEL, Provider};
use crate::random::Key;
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;

/// The counts of one class, by cell and model. Kept only where models are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelLedger {
    /// The models that the class can ask for, by their index.
    pub models: Vec<u8>,
    /// The place of each index among them.
    places: Vec<u8>,
    /// A word for each of all models, by its index: which one was asked is a fact of a run.
    words: Vec<u64>,
    counts: Vec<u64>,
    answers: usize,
    faults: usize,
    /// How many limits there are of both kinds, and on rates.
    limits: (usize, usize),
}

/// What was counted of one model over several cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelTotal {
    /// The index of the model.
    pub model: u8,
    /// Requests.
    pub requests: u64,
    /// By place of the answer.
    pub answers: Vec<u64>,
    /// By whom they were answered, in the order of [`sources`].
    pub by: Vec<u64>,
}

/// Whether the requests of a scenario are counted by model: where it matters which one they ask.
pub(super) fn is_counted(scenario: &Scenario) -> bool {
    let falls_back =
        |client: &Client| client.elements().iter().any(|element| scenario.targets_of(&element.role).is_some());
    let mut clients = scenario.traffic.iter().flat_map(|class| scenario.clients_of(class));
    scenario.provider.tells_models_apart() || clients.any(falls_back)
}

/// Who can answer, in the words of the log of requests: the service, the client's own timeout, a context window, then
/// each fault and each limit, those on requests in flight behind, and at the end the full waiting room.
pub fn sources(provider: &Provider) -> Vec<String> {
    let faults = provider.faults.iter().map(|fault| format!("fault:{}", fault.name));
    let limits = provider.limits.iter().map(|limit| format!("limit:{}", limit.name));
    let slots = provider.slots.iter().map(|slots| format!("limit:{}", slots.name));
    let first = ["service", "client:timeout", "client:cancelled", "context_window"].map(str::to_owned);
    let full = provider.capacity.iter().map(|_| "capacity".to_owned());
    first.into_iter().chain(faults).chain(limits).chain(slots).chain(full).collect()
}

/// How many sources stand before the faults.
const FIRST: usize = 4;

impl ModelLedger {
    /// An empty ledger of a class; `None` where models are not told apart.
    pub fn new(scenario: &Scenario, class: &TrafficClass, cells: usize, answers: usize) -> Option<ModelLedger> {
        if !is_counted(scenario) {
            return None;
        }
        let models = scenario.models_of(class);
        let mut places = vec![0; NO_MODEL as usize + 1];
        models.iter().zip(0..).for_each(|(model, place)| places[*model as usize] = place);
        let Provider { faults, limits, slots, capacity, .. } = &scenario.provider;
        let (faults, limits) =
            (faults.len(), (limits.len() + slots.len() + usize::from(capacity.is_some()), limits.len()));
        let mut words = vec![0; NO_MODEL as usize + 1];
        let names = scenario.provider.models.iter().map(|model| Key::word(&model.name));
        words.iter_mut().zip(names).for_each(|(word, name)| *word = name);
        let mut ledger = ModelLedger { models, places, words, counts: Vec::new(), answers, faults, limits };
        ledger.counts = vec![0; cells * ledger.models.len() * ledger.width()];
        Some(ledger)
    }

    const fn width(&self) -> usize {
        1 + self.answers + FIRST + self.faults + self.limits.0
    }

    #[inline]
    fn row(&mut self, cell: u16, model: u8) -> &mut [u64] {
        let width = self.width();
        let place = self.places[model as usize] as usize;
        &mut self.counts[(cell as usize * self.models.len() + place) * width..][..width]
    }

    /// A request goes to a model.
    #[inline]
    pub fn sent(&mut self, cell: u16, model: u8) {
        self.row(cell, model)[0] += 1;
    }

    /// The word of a model.
    #[inline]
    pub fn word(&self, model: u8) -> u64 {
        self.words[model as usize]
    }

    /// It is answered: `place` is that of the answer among those that are counted apart.
    #[inline]
    pub fn answered(&mut self, cell: u16, model: u8, place: usize, answer: &Answer, by: AnsweredBy) {
        let source = match (answer.outcome, by) {
            (Outcome::TimedOut | Outcome::ConnectTimedOut | Outcome::WriteTimedOut, _)
            | (Outcome::Silent, AnsweredBy::Service)
            | (_, AnsweredBy::Nobody) => 1,
            (Outcome::Cancelled, _) => 2,
            (_, AnsweredBy::Service) => 0,
            (_, AnsweredBy::Full) => FIRST + self.faults + self.limits.0 - 1,
            (_, AnsweredBy::Window) => 3,
            (_, AnsweredBy::Fault(fault)) => FIRST + fault,
            (_, AnsweredBy::Limit(limit)) => FIRST + self.faults + limit,
            (_, AnsweredBy::Slots(slots)) => FIRST + self.faults + self.limits.1 + slots,
        };
        let answers = self.answers;
        let row = self.row(cell, model);
        row[1 + place] += 1;
        row[1 + answers + source] += 1;
    }

    /// The sum over a range of cells, for each model of the class.
    pub fn total(&self, cells: std::ops::Range<usize>) -> Vec<ModelTotal> {
        let width = self.width();
        let sum = |place: usize| {
            let mut row = vec![0; width];
            for cell in cells.clone() {
                let counts = &self.counts[(cell * self.models.len() + place) * width..][..width];
                row.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
            }
            row
        };
        let total = |(place, model): (usize, &u8)| {
            let row = sum(place);
            let (answers, by) = row[1..].split_at(self.answers);
            ModelTotal { model: *model, requests: row[0], answers: answers.to_vec(), by: by.to_vec() }
        };
        self.models.iter().enumerate().map(total).collect()
    }
}
