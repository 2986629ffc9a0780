//! One binary for all tests that see the crate from outside.
//!
//! - `theory`: queueing theory and closed forms; the interval over replicates covers the formula.
//! - `fault_answers`: every answer of a fault, when its client sees it and as what.
//! - `fault_terms`: faults in episodes, in several windows, from files, for some steps and sizes.
//! - `closed_loops`: sessions that think, backlogs; throughput and response time are those of theory.
//! - `field_cases`: situations from public reports with the answer worked out by hand.
//! - `compare`, `ablate`: differences within the same worlds have the signs and sizes that were found independently.
//! - `systems`: the systems of the write-ups, each of which shows what it is there to show.
//! - `storms`: the incident comes out as reported, and each remedy does what it should.
//! - `remedies`: no hint of `explain` makes worse what it is a remedy for.
//! - `conformance`: every measured case of every client library.
//! - `header_grammar`: what real clients make of the same header, as measured.
//! - `presets`: what every preset promises about itself.
//! - `killed_runs`: runs that end early where requests travel, where a limit stops answers, and with steps at once.
//! - `queue_holds`: a job that meets a limit holds its whole queue.
//! - `queue_scale`: pools that take messages ahead and follow the queue.
//! - `queue_presets`: the queues of job libraries in their own words.
//! - `provider_answers`: every way in which a provider fails, and who repeats it.
//! - `probe`: what clients do with a script of answers, from the command line.
//! - `conservation`: what must add up, adds up, in random scenarios from `small_world` and `wide_world`; of refusals and bills
//!   in `conservation_money`.
//! - `concurrency`: semaphores, connection pools, size checks, and a bucket that credits its sleep twice.
//! - `determinism`: same seed, same bytes; a new policy leaves the world untouched.
//! - `alerts`: when rules would have fired, worked out by hand, and what is refused of them.
//! - `interventions`: what an operator does and what comes of it, worked out by hand, and what is refused.
//! - `gallery`: the pictures of `docs/gallery.md` and `docs/failing_guards.md` are today's.
//! - `failing_guards`: guards that make it worse, by closed forms and by how much.
//! - `golden`: every number of every shipped scenario against `tests/golden/`.
//! - `request_phases`: what ends a request, when, and as what its client sees it.
//! - `bills`: what requests cost, to the billionth.
//! - `who_refused`: who refused, and what of it the retries have caused.
//! - `server_side`: what the server did, for whom, how often and how long.
//! - `several_at_once`: hops and hedges, which send what the application does not see.
//! - `hedges`: hedges that meet limited servers, a network and an output quota, and what bounds them.
//! - `labels`: limits of a key, a workspace or an organisation.
//! - `output_quota`: limits that stop an answer.
//! - `late`: servers that look who would be late.
//! - `groups`: steps that run at once.
//! - `scenario_errors`: the exact words of every refusal; long tables of them are kept in `refusals/`.
//! - `fixes`: what fixes change, and what is refused of them.
//! - `guard_errors`, `request_errors`: the same for guards, and for what happens within a request.
//! - `deployments`: one of several models for each attempt, and cooldowns.
//! - `adaptive_guards`: limits that learn, and gates that a response closes for all.
//! - `guard_lifetimes`: guards and budgets that end with the call, the run, the task or the process that made them.
//! - `guard_runs`: breakers, throttles and budgets in whole runs.
//! - `scenario_robustness`: every shipped scenario is accepted, and no input makes the reader panic.
//! - `scenario_vocabulary`: every general key of a retry layer, and what is refused of them.
//! - `models`: models with limits of their own, and fallbacks.
//! - `model_report`: what log and report say of models.
//! - `step_clients`: steps with settings or clients of their own.
//! - `queue`: the event queue against a model, over random histories.
//! - `cli`: the program as a shell sees it.
//! - `experiments`: `compare` and `ablate` as a shell sees them.
//! - `headroom`: the last safe value where it is worked out by hand, and the incident's half.
//! - `sweep`, `sweep_cli`: sweeps against theory, and as a shell sees them.
//! - `regress`, `regress_reports`, `regress_errors`: `regress` as a shell sees it, every form of its report, and what it
//!   refuses.
//! - `regress_alarms`: how often equal policies are called worse, and whether one retry more is caught.
//! - `schema`: every document is what its schema says.
//! - `traces`: what is read of trace files, what is refused of them, and what a replay and its prompt cache do.
//! - `readme`: the commands of the README and of `docs/` are run.
//! - `reference`: `outputs/reference/` and the table of the incident are today's.
//! - `peers`: what others have published, replayed.
//! - `ways`: requests and answers that travel, and what each of many callers has for itself.
//! - `ties`: what happens at one instant.
//! - `tidy`: layer order, banned words, files nobody uses.
//! - `stage`: no tests; what the others stand on.

mod ablate;
mod adaptive_guards;
mod alerts;
mod bills;
#[cfg(feature = "cli")]
mod cli;
mod closed_loops;
mod compare;
mod concurrency;
mod conformance;
mod conservation;
mod conservation_money;
mod conservation_wide;
mod deployments;
mod determinism;
#[cfg(feature = "cli")]
mod experiments;
mod failing_guards;
mod fault_answers;
mod fault_terms;
mod field_cases;
mod fixes;
#[cfg(feature = "cli")]
mod gallery;
mod golden;
mod groups;
mod guard_errors;
mod guard_lifetimes;
mod guard_runs;
mod header_grammar;
#[cfg(feature = "cli")]
mod headroom;
mod hedges;
#[cfg(feature = "cli")]
mod inputs;
mod interventions;
mod killed_runs;
mod labels;
#[cfg(feature = "cli")]
mod late;
mod limit_world;
mod limiter_oracle;
mod limits;
mod meters;
#[cfg(feature = "cli")]
mod model_report;
mod models;
mod outages;
mod output_quota;
#[cfg(feature = "cli")]
mod patch_files;
mod peers;
mod presets;
#[cfg(feature = "cli")]
mod probe;
mod provider_answers;
mod queue;
mod queue_holds;
mod queue_presets;
mod queue_scale;
mod queues;
#[cfg(feature = "cli")]
mod readme;
#[cfg(feature = "cli")]
mod reference;
#[cfg(feature = "cli")]
mod regress;
mod regress_alarms;
#[cfg(feature = "cli")]
mod regress_errors;
#[cfg(feature = "cli")]
mod regress_reports;
mod remedies;
mod request_errors;
mod request_phases;
mod scenario_errors;
mod scenario_robustness;
mod scenario_vocabulary;
#[cfg(feature = "cli")]
mod schema;
mod server_side;
mod several_at_once;
mod small_world;
mod stage;
mod step_clients;
mod storms;
mod sweep;
#[cfg(feature = "cli")]
mod sweep_cli;
mod systems;
mod theory;
mod tidy;
mod ties;
mod traces;
#[cfg(feature = "cli")]
mod tune;
mod ways;
mod who_refused;
mod wide_world;
