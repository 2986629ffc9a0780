//! Interventions through TOML: what comes of them, worked out by hand.

use std::fmt::Write as _;

use retrycast::random::Seed;
use retrycast::sim::simulate;
use snapbox::{assert_data_eq, file};

use super::scenario_errors::said;
use super::stage::{Run, read};

/// Jobs every ten seconds for two workers, a second each; live turns every second; both meet a server that fails in
/// its first minute.
const WORLD: &str = r#"
horizon = "3m"
[provider.faults.down]
window = ["0s", "1m"]
respond = { status = 503, after = "0s" }
[clients.stubborn]
layers = [{ name = "sdk", max_attempts = 3, retry_on = [503] }]
[clients.once]
layers = [{ name = "sdk", max_attempts = 1, retry_on = [503] }]
[traffic.report]
kind = "jobs"
client = "stubborn"
workers = 2
arrivals = { every = "10s" }
steps = [{ name = "write", input_tokens = 1, latency = "1s" }]
[traffic.live]
kind = "turns"
client = "stubborn"
arrivals = { every = "1s" }
steps = [{ name = "ask", input_tokens = 1, latency = "0s" }]
"#;

fn run(more: &str) -> Run {
    Run::of(&read(&format!("{WORLD}{more}")), 1)
}

#[test]
fn paused_workers_finish_what_they_have_and_take_nothing_new() {
    // The job of 60 s is begun at 60 s and ends at 61 s; those of 70 s to 110 s wait for 115 s, when two workers take
    // them two by two: the last of the five ends at 118 s, and has waited least.
    let run = run("[interventions.stop]\nat = \"60.5s\"\npause = \"report\"\nfor = \"54.5s\"\n");
    assert_eq!(run.number("classes.report.delivered"), 12.0);
    assert_eq!(run.number("classes.report.latency_s.max"), 46.0);
    // 70 s and 80 s are done at 116 s, 90 s and 100 s at 117 s, 110 s at 118 s; the other seven take a second.
    let mean = (46.0 + 36.0 + 27.0 + 17.0 + 8.0 + 7.0) / 12.0;
    assert!((run.number("classes.report.latency_s.mean") - mean).abs() < 1e-9);
    // For good: only the one of 60 s is done.
    let for_good = "[interventions.stop]\nat = \"60.5s\"\npause = \"report\"\n";
    assert_eq!(self::run(for_good).number("classes.report.unfinished"), 11.0);
}

#[test]
fn a_deploy_reaches_runs_that_begin_after_it() {
    // Six jobs arrive in the first minute, three requests each: the ones of 30 s to 50 s send one.
    assert_eq!(run("").number("classes.report.requests"), 18.0 + 12.0);
    let all = "[interventions.fix]\nat = \"30s\"\ndeploy = \"once\"\nclass = \"report\"\n";
    assert_eq!(run(all).number("classes.report.requests"), 9.0 + 3.0 + 12.0);
    // Undone at 45 s, the one of 50 s sends three.
    let back = format!("{all}for = \"15s\"\n");
    assert_eq!(run(&back).number("classes.report.requests"), 9.0 + 2.0 + 3.0 + 12.0);
    // Half of two workers: the first one, which is also the one that is idle last and so takes every job.
    let half = format!("{all}share = \"50%\"\n");
    assert_eq!(run(&half).number("classes.report.requests"), 9.0 + 3.0 + 12.0);
    // A later one of the client that was there before.
    let again = format!("{all}[interventions.revert]\nat = \"45s\"\ndeploy = \"stubborn\"\nclass = \"report\"\n");
    assert_eq!(run(&again).number("classes.report.requests"), 9.0 + 2.0 + 3.0 + 12.0);
    // Of turns a part: between 30 s and 60 s each of 30 sends three or one; half of them on average, so within four
    // standard deviations of the binomial, and each by itself.
    let turns = "[interventions.fix]\nat = \"30s\"\ndeploy = \"once\"\nclass = \"live\"\nshare = 0.5\n";
    let few = (30.0 * 3.0 + 30.0 * 3.0 + 120.0 - run(turns).number("classes.live.requests")) / 2.0;
    assert!((few - 15.0).abs() < 4.0 * 7.5_f64.sqrt(), "{few}");
    // The world stays as it is.
    let digest = |more: &str| simulate(&read(&format!("{WORLD}{more}")), Seed(1)).world_digest;
    assert_eq!(digest(turns), digest(""));
}

#[test]
fn a_queue_that_is_purged_is_empty() {
    // Two workers are kept from the queue from 60.5 s on. At 95 s three jobs wait, of 70 s to 90 s; they are gone, and
    // those of 100 s on are done when the pause is over.
    let stop = "[interventions.stop]\nat = \"60.5s\"\npause = \"report\"\nfor = \"54.5s\"\n";
    let purge = "[interventions.purge]\nat = \"95s\"\npurge = \"report\"\n";
    let numbers = |run: &Run| {
        ["delivered", "abandoned", "failed", "unfinished"].map(|key| run.number(&format!("classes.report.{key}")))
    };
    assert_eq!(numbers(&run(&format!("{stop}{purge}"))), [9.0, 3.0, 6.0, 0.0]);
    // The same where each job is followed as a message of its own.
    let late = WORLD.replace("workers = 2", "workers = 2\nqueue = { acknowledge = \"late\", visibility = \"10m\" }");
    let followed = Run::of(&read(&format!("{late}{stop}{purge}")), 1);
    assert_eq!(numbers(&followed), [9.0, 3.0, 6.0, 0.0]);
}

#[test]
fn a_breaker_that_is_opened_by_hand_stays_open_as_long_as_it_is_told() {
    // Three failures in a row would open it; nobody fails from 60 s on. Opened at 70 s for 5 s, it refuses the turns of
    // 70 s to 74 s; for its own 20 s, those of 70 s to 89 s, and the probe of 90 s closes it.
    let breaker = "[guards.valve]\nbreaker = { counts = \"results\", of = [503], last = 100, minimum = 100, threshold = 0.99, open = \"20s\", when_open = \"reject\" }\n";
    let guarded = WORLD.replace(
        "[clients.once]",
        "[clients.valved]\nlayers = [{ name = \"sdk\", max_attempts = 1, retry_on = [503] }, { name = \"valve\", guard = \"valve\" }]\n[clients.once]",
    );
    let guarded = guarded.replace("kind = \"turns\"\nclient = \"stubborn\"", "kind = \"turns\"\nclient = \"valved\"");
    let refused = |more: &str| {
        let run = Run::of(
            &read(&format!("{guarded}{breaker}[interventions.open]\nat = \"70s\"\ntrip = \"valve\"\n{more}")),
            1,
        );
        (run.number("classes.live.short_circuited"), run.number("guards.valve.trips"))
    };
    assert_eq!(refused("for = \"5s\"\n"), (5.0, 0.0));
    assert_eq!(refused(""), (20.0, 0.0));
}

#[test]
fn a_limit_that_is_raised_here_is_one_that_changes() {
    let limit = "[provider.limits.rpm]\ncounts = \"requests\"\namount = 30\nper = \"1m\"\n";
    let digest = |more: &str| simulate(&read(&format!("{WORLD}{limit}{more}")), Seed(1)).digest;
    let raised = "[interventions.more]\nat = \"80s\"\nlimit = \"rpm\"\namount = 120\nfor = \"20s\"\n";
    let changes = "changes = [[\"80s\", 120], [\"100s\", 30]]\n";
    assert_eq!(digest(raised), digest(changes));
    assert_ne!(digest(raised), digest(""));
    // Beside changes of its own.
    let both = "changes = [[\"70s\", 60], [\"90s\", 90]]\n";
    let between = "[interventions.more]\nat = \"80s\"\nlimit = \"rpm\"\namount = 120\nfor = \"5s\"\n";
    let all = "changes = [[\"70s\", 60], [\"80s\", 120], [\"85s\", 60], [\"90s\", 90]]\n";
    assert_eq!(digest(&format!("{both}{between}")), digest(all));
    // One of a preset's several.
    let preset = "[provider.limits.opus]\npreset = \"anthropic/build/opus\"\n";
    let told = |more: &str| simulate(&read(&format!("{WORLD}{preset}{more}")), Seed(1)).digest;
    let part = "[interventions.less]\nat = \"80s\"\nlimit = \"opus-rpm\"\namount = 6\n";
    assert_eq!(told(part), told("rpm = { changes = [[\"80s\", 6]] }\n"));
    assert_ne!(told(part), told(""));
}

/// Five jobs of ten seconds for one worker of their own, and a pool that nobody has.
fn moved(more: &str) -> Run {
    let text = r#"
horizon = "100s"
[clients.plain]
layers = []
[workers.spare]
count = 2
[traffic.report]
kind = "jobs"
client = "plain"
workers = 1
arrivals = { at = ["0s", "0s", "0s", "0s", "0s"] }
steps = [{ name = "write", input_tokens = 1, latency = "10s" }]
"#;
    Run::of(&read(&format!("{text}{more}")), 1)
}

#[test]
fn a_queue_that_is_moved_is_worked_on_by_others() {
    // By hand: the first two begin at 0 and 10 s with the own worker, who finishes his second at 20 s; the other three
    // are with the two spare ones from 15 s on: two until 25 s, the last until 35 s.
    let figures = |run: &Run| {
        [
            "classes.report.latency_s.max",
            "classes.report.latency_s.mean",
            "workers.spare.busy_s",
            "workers.spare.idle_s",
        ]
        .map(|key| run.number(key))
    };
    let all = "[interventions.help]\nat = \"15s\"\nmove = \"report\"\nto = \"spare\"\n";
    let run = moved(all);
    assert_eq!(figures(&run), [35.0, (10.0 + 20.0 + 25.0 + 25.0 + 35.0) / 5.0, 30.0, 170.0]);
    assert_eq!(run.number("classes.report.worker_time_s.serving"), 50.0);
    assert_eq!(run.number("classes.report.delivered"), 5.0);
    // Back at 23 s, the last one begins then with the own worker.
    let back = moved(&format!("{all}for = \"8s\"\n"));
    assert_eq!(figures(&back), [33.0, (10.0 + 20.0 + 25.0 + 25.0 + 33.0) / 5.0, 20.0, 180.0]);
    // Who is paused is paused there too: from 12 s to 40 s nobody begins; then two until 50 s, the last until 60 s.
    let paused = moved(&format!("{all}[interventions.stop]\nat = \"12s\"\npause = \"report\"\nfor = \"28s\"\n"));
    assert_eq!(figures(&paused), [60.0, (10.0 + 20.0 + 50.0 + 50.0 + 60.0) / 5.0, 30.0, 170.0]);
    // The spare workers die at 18 s and are back at 40 s: what they had is lost, and the last one begins at 40 s.
    let dying = all.replace("[inter", "[workers.spare.crashes]\nevery = \"18s\"\nrestart = \"22s\"\n[inter");
    let dying = moved(&dying);
    assert_eq!((dying.count("classes.report.failed"), dying.count("classes.report.delivery.lost")), (2, 2));
    assert_eq!((dying.number("classes.report.latency_s.max"), dying.number("workers.spare.busy_s")), (50.0, 16.0));
}

#[test]
fn one_instance_of_a_limit_is_raised_by_whose_it_is() {
    let limit = "[provider.limits.rpm]\ncounts = \"requests\"\neach = \"class\"\namount = 30\nper = \"1m\"\n";
    let digest = |more: &str| simulate(&read(&format!("{WORLD}{limit}{more}")), Seed(1)).digest;
    let raised = "[interventions.more]\nat = \"80s\"\nlimit = \"rpm\"\nof = \"live\"\namount = 120\nfor = \"20s\"\n";
    assert_eq!(digest(raised), digest("changes_of = { live = [[\"80s\", 120], [\"100s\", 30]] }\n"));
    assert_ne!(digest(raised), digest(""));
    // It is not the limit of the others: two limits, one of which changes, say the same.
    let two = "[provider.limits.rpm-report]\ncounts = \"requests\"\nclasses = [\"report\"]\namount = 30\nper = \"1m\"\n\
               [provider.limits.rpm-live]\ncounts = \"requests\"\nclasses = [\"live\"]\namount = 30\nper = \"1m\"\n\
               changes = [[\"80s\", 120], [\"100s\", 30]]\n";
    let apart = simulate(&read(&format!("{WORLD}{two}")), Seed(1)).digest;
    assert_eq!(digest(raised), apart);
    // Beside a change of all: what it has before is what all have.
    let both = "changes = [[\"70s\", 60]]\n[interventions.more]\nat = \"80s\"\nlimit = \"rpm\"\nof = \"live\"\namount = 120\nfor = \"20s\"\n";
    assert_eq!(
        digest(both),
        digest("changes = [[\"70s\", 60]]\nchanges_of = { live = [[\"80s\", 120], [\"100s\", 60]] }\n")
    );
    // By the value of a label.
    let labelled = |more: &str| {
        let text = WORLD.replace("kind = \"turns\"", "labels = { key = \"app\" }\nkind = \"turns\"");
        let limit = limit.replace("\"class\"", "\"key\"");
        simulate(&read(&format!("{text}{limit}{more}")), Seed(1)).digest
    };
    let by_label = raised.replace("\"live\"", "\"app\"");
    assert_ne!(labelled(&by_label), labelled(""));
}

#[test]
fn interventions_that_nobody_could_make_are_refused() {
    let mut table = String::new();
    for more in [
        "[interventions.a]\npause = \"report\"\n",
        "[interventions.a]\nat = \"1m\"\n",
        "[interventions.a]\nat = \"3m\"\npause = \"report\"\n",
        "[interventions.a]\nat = \"1m\"\npause = \"live\"\n",
        "[interventions.a]\nat = \"1m\"\npause = \"reports\"\n",
        "[interventions.a]\nat = \"1m\"\npause = \"report\"\nfor = \"0s\"\n",
        "[interventions.a]\nat = \"1m\"\npurge = \"live\"\n",
        "[interventions.a]\nat = \"1m\"\npurge = \"report\"\nfor = \"5s\"\n",
        "[interventions.a]\nat = \"1m\"\ntrip = \"valve\"\n",
        "[guards.slots]\nsemaphore = { permits = 3 }\n[interventions.a]\nat = \"1m\"\ntrip = \"slots\"\n",
        "[interventions.a]\nat = \"1m\"\npause = \"report\"\ndeploy = \"once\"\n",
        "[interventions.a]\nat = \"1m\"\ndeploy = \"once\"\n",
        "[interventions.a]\nat = \"1m\"\ndeploy = \"twice\"\nclass = \"report\"\n",
        "[interventions.a]\nat = \"1m\"\ndeploy = \"once\"\nclass = \"report\"\nshare = 0\n",
        "[interventions.a]\nat = \"1m\"\npause = \"report\"\nshare = 0.5\n",
        "[interventions.a]\nat = \"1m\"\nlimit = \"rpm\"\namount = 3\n",
        "[provider.limits.rpm]\ncounts = \"requests\"\namount = 30\nper = \"1m\"\n[interventions.a]\nat = \"1m\"\nlimit = \"tpm\"\namount = 3\n",
        "[provider.limits.rpm]\ncounts = \"requests\"\namount = 30\nper = \"1m\"\n[interventions.a]\nat = \"1m\"\nlimit = \"rpm\"\n",
        "[provider.limits.rpm]\ncounts = \"requests\"\namount = 30\nper = \"1m\"\n[interventions.a]\nat = \"1m\"\nlimit = \"rpm\"\namount = 0\n",
        "[interventions.a]\nat = \"1m\"\nmove = \"report\"\n",
        "[interventions.a]\nat = \"1m\"\nmove = \"live\"\nto = \"spare\"\n[workers.spare]\ncount = 1\n",
        "[interventions.a]\nat = \"1m\"\nmove = \"report\"\nto = \"spar\"\n[workers.spare]\ncount = 1\n",
        "[interventions.a]\nat = \"1m\"\nmove = \"report\"\nto = \"spare\"\n[workers.spare]\ncount = 1\nprefetch = 2\n",
        "[guards.own]\nscope = \"worker\"\nsemaphore = { permits = 3 }\n[clients.guarded]\nlayers = [{ guard = \"own\" }]\n[traffic.other]\nkind = \"jobs\"\nclient = \"guarded\"\nworkers = 1\narrivals = { every = \"9s\" }\nsteps = [{ name = \"s\", input_tokens = 1, latency = \"1s\" }]\n[interventions.a]\nat = \"1m\"\nmove = \"other\"\nto = \"spare\"\n[workers.spare]\ncount = 1\n",
        "[provider.limits.rpm]\ncounts = \"requests\"\namount = 30\nper = \"1m\"\n[interventions.a]\nat = \"1m\"\nlimit = \"rpm\"\nof = \"live\"\namount = 3\n",
        "[provider.limits.rpm]\ncounts = \"requests\"\neach = \"class\"\namount = 30\nper = \"1m\"\n[interventions.a]\nat = \"1m\"\nlimit = \"rpm\"\nof = \"lives\"\namount = 3\n",
        "[provider.limits.rpm]\ncounts = \"requests\"\neach = \"class\"\namount = 30\nper = \"1m\"\n[interventions.a]\nat = \"1m\"\npause = \"report\"\nof = \"live\"\n",
        "[clients.queued]\nlayers = [{ name = \"sdk\", max_attempts = 2, retry_on = \"any\" }, { name = \"rq\", preset = \"rq\", max = 2 }]\n[interventions.a]\nat = \"1m\"\ndeploy = \"queued\"\nclass = \"report\"\n",
        "[clients.turned]\nlayers = [{ name = \"out\", max_attempts = 2, retry_on = \"any\" }, { name = \"sdk\", max_attempts = 2, retry_on = \"any\" }]\n[clients.other]\nlayers = [{ name = \"sdk\", max_attempts = 2, retry_on = \"any\" }, { name = \"out\", max_attempts = 2, retry_on = \"any\" }]\n[interventions.a]\nat = \"1m\"\ndeploy = \"turned\"\nclass = \"report\"\n[interventions.b]\nat = \"2m\"\ndeploy = \"other\"\nclass = \"report\"\n",
    ] {
        let _ = write!(table, "── {}\n{}", more.replace('\n', " ⏎ "), said(&format!("{WORLD}{more}"), None, &[]));
    }
    assert_data_eq!(table, file!["refusals/interventions.txt"]);
}
