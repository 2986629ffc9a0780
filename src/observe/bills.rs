//! What the requests of a class are billed, in whole billionths of the currency: by cell and model, and by task.

use super::by_model::is_counted;
use crate::provider::NO_MODEL;
use crate::scenario::Scenario;
use crate::traffic::TrafficClass;

/// A bill, in billionths of the currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// All of it.
    pub total: u128,
    /// What of it is for requests after the first of a task for a step.
    pub retries: u128,
    /// What of it is for answers that nobody received.
    pub unreceived: u128,
}

/// What tasks are billed to their end, in billionths of the currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskBill {
    /// All of them.
    pub all: u128,
    /// Those that were given up.
    pub failed: u128,
}

/// The bills of one class: of requests by cell and model, of tasks by cell of arrival. Kept only where there are prices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BillLedger {
    /// The models that are told apart, by their index; one entry for all where they are not.
    models: Vec<u8>,
    places: Vec<u8>,
    requests: Vec<Bill>,
    /// By cell.
    pub tasks: Vec<TaskBill>,
}

/// The bills of one class over several cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BillTotal {
    /// Of all requests.
    pub all: Bill,
    /// Of the requests to each model; empty where models are not told apart.
    pub models: Vec<(u8, Bill)>,
    /// Of the tasks that arrived.
    pub tasks: TaskBill,
}

impl Bill {
    fn add(&mut self, other: &Bill) {
        self.total += other.total;
        self.retries += other.retries;
        self.unreceived += other.unreceived;
    }
}

impl BillLedger {
    /// Empty bills of a class; `None` where nothing has a price.
    pub fn new(scenario: &Scenario, class: &TrafficClass, cells: usize) -> Option<BillLedger> {
        scenario.provider.prices.as_ref()?;
        let models = if is_counted(scenario) { scenario.models_of(class) } else { vec![NO_MODEL] };
        let mut places = vec![0; NO_MODEL as usize + 1];
        models.iter().zip(0..).for_each(|(model, place)| places[*model as usize] = place);
        let requests = vec![Bill::default(); cells * models.len()];
        Some(BillLedger { models, places, requests, tasks: vec![TaskBill::default(); cells] })
    }

    /// The bill of requests to a model whose call began in a cell.
    pub fn of(&mut self, cell: u16, model: u8) -> &mut Bill {
        let place = self.places[model as usize] as usize;
        &mut self.requests[cell as usize * self.models.len() + place]
    }

    /// The sum over a range of cells.
    pub fn total(&self, cells: std::ops::Range<usize>) -> BillTotal {
        let mut total = BillTotal::default();
        total.models.extend(self.models.iter().map(|model| (*model, Bill::default())));
        for cell in cells {
            let row = &self.requests[cell * self.models.len()..][..self.models.len()];
            for ((_, sum), bill) in total.models.iter_mut().zip(row) {
                sum.add(bill);
                total.all.add(bill);
            }
            total.tasks.all += self.tasks[cell].all;
            total.tasks.failed += self.tasks[cell].failed;
        }
        if self.models == [NO_MODEL] {
            total.models.clear();
        }
        total
    }
}
