//! Every measured case of every library's guard, through the guard that a scenario says: a library's file translates the
//! settings that were measured into a scenario, and plays the events to what the scenario's reader makes of it.
//!
//! A case that no sane vocabulary should hold is out of scope, with its reason; each library has a bound on how many of
//! these there may be.

mod adaptive;
mod breaker;
mod breakers;
mod budgets;
mod calls;
mod case;
mod crowd;
mod grpc;
mod limiter;
mod limits;
mod paced;
mod queues;
mod router;

use case::{Case, read};

/// One library at one version.
#[derive(Clone, Copy)]
pub(crate) struct Library {
    /// The file under `tests/conformance/guards/`, without its ending.
    pub(crate) file: &'static str,
    /// The largest share of its cases, in per cent, that may be out of scope.
    pub(crate) most_left_out: usize,
    /// What differs in a case, nothing where all is as measured; or why it is not run.
    pub(crate) held: fn(&Case) -> Result<Vec<String>, &'static str>,
}

/// All libraries: one line for each file of them.
fn libraries() -> Vec<Library> {
    let all: [&[Library]; 8] = [
        &breakers::LIBRARIES,
        &budgets::LIBRARIES,
        &grpc::LIBRARIES,
        &limits::LIBRARIES,
        &paced::LIBRARIES,
        &queues::LIBRARIES,
        &router::LIBRARIES,
        &adaptive::LIBRARIES,
    ];
    all.into_iter().flatten().copied().collect()
}

#[expect(clippy::print_stdout, reason = "how many cases were run is part of the result")]
#[test]
fn every_measured_guard_does_what_its_scenario_does() {
    let (mut failures, mut left_out, mut table, mut too_many) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut all, mut all_out) = (0, 0);
    for library in libraries() {
        let cases = read(library.file);
        let mut out_of_scope = 0;
        for case in &cases {
            match (library.held)(case) {
                Ok(differences) => {
                    failures
                        .extend(differences.into_iter().map(|what| format!("{} {}: {what}", library.file, case.id)));
                }
                Err(why) => {
                    out_of_scope += 1;
                    left_out.push(format!("{} {}: {why}", library.file, case.id));
                }
            }
        }
        if out_of_scope * 100 > library.most_left_out * cases.len() {
            too_many.push(library.file);
        }
        (all, all_out) = (all + cases.len(), all_out + out_of_scope);
        table.push(format!("| {} | {} | {out_of_scope} |", library.file, cases.len() - out_of_scope));
    }
    table.push(format!("| all | {} | {all_out} |", all - all_out));
    let table = format!("| guards of | run | out of scope |\n| --- | --- | --- |\n{}\n", table.join("\n"));
    println!("{table}\nout of scope:\n{}\n", left_out.join("\n"));
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(too_many.is_empty(), "too many cases are out of scope: {too_many:?}");
    let page = include_str!("../../../../docs/validation.md");
    assert!(page.contains(&table), "docs/validation.md has other numbers");
}
