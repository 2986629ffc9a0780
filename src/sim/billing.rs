//! What requests cost, beside the records: nothing of it is there where nothing has a price.
//!
//! A request is billed when its service ends or breaks off, if that is before the run ends. Where servers are few, its
//! caller, and even its task, may be gone by then: so each task has an account that outlives it until nothing more is
//! billed to it.

use crate::observe::ledger::ClassLedger;
use crate::provider::terms::Size;
use crate::provider::{Fare, Prices, Provider};
use crate::sim::record::Run;
use crate::sim::station::{Job, NOBODY, Stage};
use crate::units::SimTime;

/// What a task is billed.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// In billionths of the currency, so far.
    amount: u128,
    /// The cell in which it arrived.
    cell: u16,
    /// Requests at the servers that may still be billed to it.
    open: u32,
    /// Whether it has ended, and failed.
    ended: Option<bool>,
}

/// One request that may be billed.
#[derive(Clone, Copy, Debug)]
struct Item {
    fare: Fare,
    account: u32,
    call_cell: u16,
    model: u8,
    is_retry: bool,
}

/// What lies beside the records of one class.
#[derive(Clone, Debug, Default)]
struct Desk {
    /// By run, its request in flight.
    runs: Vec<Option<Item>>,
    accounts: Vec<Account>,
    free: Vec<u32>,
    /// By the slot of a task, or of its run where it has none, its account.
    of_home: Vec<u32>,
}

/// All bills of a run.
pub(super) struct Billing<'a> {
    provider: &'a Provider,
    horizon: SimTime,
    desks: Vec<Desk>,
    /// By job at the servers, its request.
    jobs: Vec<Option<Item>>,
}

fn put<T: Clone + Default>(all: &mut Vec<T>, slot: u32, value: T) {
    if all.len() <= slot as usize {
        all.resize(slot as usize + 1, T::default());
    }
    all[slot as usize] = value;
}

fn take<T>(all: &mut [Option<T>], slot: u32) -> Option<T> {
    all.get_mut(slot as usize).and_then(Option::take)
}

impl<'a> Billing<'a> {
    /// Nothing was billed; `None` where nothing has a price.
    pub(super) fn new(provider: &'a Provider, horizon: SimTime, classes: usize) -> Option<Box<Billing<'a>>> {
        let desks = vec![Desk::default(); classes];
        provider.prices.is_some().then(|| Box::new(Billing { provider, horizon, desks, jobs: Vec::new() }))
    }

    /// A task begins that arrived in this cell.
    pub(super) fn open(&mut self, class: u16, home: u32, cell: u16) {
        let desk = &mut self.desks[class as usize];
        let account = desk.free.pop().unwrap_or_else(|| {
            desk.accounts.push(Account::default());
            desk.accounts.len() as u32 - 1
        });
        desk.accounts[account as usize] = Account { cell, ..Account::default() };
        put(&mut desk.of_home, home, account);
    }

    /// A task is over.
    pub(super) fn close(&mut self, class: u16, home: u32, failed: bool, ledger: &mut ClassLedger) {
        let desk = &mut self.desks[class as usize];
        let id = desk.of_home[home as usize];
        let account = &mut desk.accounts[id as usize];
        account.ended = Some(failed);
        if let (true, Some(bills)) = (failed, &mut ledger.bills) {
            bills.tasks[account.cell as usize].failed += account.amount;
        }
        if account.open == 0 {
            desk.free.push(id);
        }
    }

    /// A run of a class, of the task with this slot or of the run with it, has sent a request that is billed so, if at all; its service ends no later than `cut`.
    pub(super) fn keep(
        &mut self,
        (class, run): (u16, u32),
        home: u32,
        record: &Run,
        fare: Option<Fare>,
        cut: Option<SimTime>,
    ) {
        let desk = &mut self.desks[class as usize];
        let item = fare.map(|mut fare| {
            if let Some(at) = cut {
                fare.cut(at);
            }
            item(desk, home, record, fare)
        });
        put(&mut desk.runs, run, item);
    }

    /// The service of the run's request ends now, sooner than planned.
    pub(super) fn cut(&mut self, class: u16, run: u32, now: SimTime) {
        if let Some(Some(item)) = self.desks[class as usize].runs.get_mut(run as usize) {
            item.fare.cut(now);
        }
    }

    /// The run's request does not arrive.
    pub(super) fn spare(&mut self, class: u16, run: u32) {
        take(&mut self.desks[class as usize].runs, run);
    }

    /// The run's request has come back, or will not within the run; `received` says whether with all that was wanted.
    pub(super) fn land(&mut self, class: u16, run: u32, received: bool, ledger: &mut ClassLedger) {
        let Some(item) = take(&mut self.desks[class as usize].runs, run) else { return };
        if item.fare.until < self.horizon {
            self.bill(class, &item, item.fare, received, ledger);
        }
    }

    /// A request goes to the servers.
    pub(super) fn comes_to_servers(&mut self, id: u32, job: &Job, home: u32, record: &Run, size: Size) {
        let desk = &mut self.desks[job.class as usize];
        let item = item(desk, home, record, Fare::served(size, &job.course, job.course.written));
        desk.accounts[item.account as usize].open += 1;
        put(&mut self.jobs, id, Some(item));
    }

    /// The servers have done with a job as it stands: they have served it so far, or not at all.
    pub(super) fn leaves_servers(&mut self, id: u32, job: &Job, now: SimTime, ledger: &mut ClassLedger) {
        let Some(item) = take(&mut self.jobs, id) else { return };
        if job.stage == Stage::InService {
            let mut fare = item.fare.again(&job.course, job.since);
            fare.cut(now);
            self.bill(job.class, &item, fare, job.run != NOBODY, ledger);
        }
        let desk = &mut self.desks[job.class as usize];
        let account = &mut desk.accounts[item.account as usize];
        account.open -= 1;
        if account.open == 0 && account.ended.is_some() {
            desk.free.push(item.account);
        }
    }

    fn bill(&mut self, class: u16, item: &Item, fare: Fare, received: bool, ledger: &mut ClassLedger) {
        let cost = self.provider.prices_of(item.model).map_or(0, |prices: Prices| prices.cost(fare.size()));
        let account = &mut self.desks[class as usize].accounts[item.account as usize];
        account.amount += cost;
        let Some(bills) = &mut ledger.bills else { return };
        let tasks = &mut bills.tasks[account.cell as usize];
        tasks.all += cost;
        if account.ended == Some(true) {
            tasks.failed += cost;
        }
        let bill = bills.of(item.call_cell, item.model);
        bill.total += cost;
        bill.retries += if item.is_retry { cost } else { 0 };
        bill.unreceived += if received { 0 } else { cost };
    }
}

fn item(desk: &Desk, home: u32, record: &Run, fare: Fare) -> Item {
    let Run { call_cell, model, ordinal, .. } = *record;
    Item { fare, account: desk.of_home[home as usize], call_cell, model, is_retry: ordinal > 1 }
}
