//! How long a timeout times its tries is.

use super::super::stage::Run;
use super::{ONE, always, jobs, sdk};

#[test]
fn a_timeout_times_its_tries_is_how_long_a_caller_waits() {
    // A silent server, 30 s, three attempts: the failure comes after 90 s and two waits. It frees the worker, so the next
    // job, which comes right after, shows when.
    let hang = always("hang = true");
    let two = r#"{ at = ["0s", "1s"] }"#;
    let silent = jobs(&hang, &sdk(3, r#", timeout = "30s""#), two, "1s");
    assert_eq!((silent.count("classes.job.failed"), silent.count("classes.job.responses.timeout")), (2, 6));
    let time = |name: &str| silent.number(&format!("classes.job.worker_time_s.{name}"));
    assert_eq!(time("refused"), 180.0);
    assert!((2.25..=3.0).contains(&time("waiting_retry")), "{}", time("waiting_retry"));
    // Served in 45 s: the same, although each request would have been answered, and 135 s of the server's time; 90 s
    // where it notices that its caller has left. Served in 25 s: one request.
    let server = |run: &Run| ["server_s", "wasted_server_s"].map(|key| run.number(&format!("classes.job.{key}")));
    for (provider, served) in [("", 135.0), ("[provider]\nabandoned = \"cancelled\"", 90.0)] {
        let slow = jobs(provider, &sdk(3, r#", timeout = "30s""#), ONE, "45s");
        assert_eq!((slow.count("classes.job.failed"), slow.count("classes.job.requests")), (1, 3));
        assert_eq!(server(&slow), [served; 2]);
        let asleep = slow.number("classes.job.worker_time_s.waiting_retry");
        assert!((1.125..=1.5).contains(&asleep), "{asleep}");
        assert_eq!(slow.number("classes.job.worker_time_s.refused"), 90.0);
    }
    let quick = jobs("", &sdk(3, r#", timeout = "30s""#), ONE, "25s");
    assert_eq!((quick.count("classes.job.delivered"), quick.count("classes.job.requests")), (1, 1));
    assert_eq!(quick.number("classes.job.latency_s.max"), 25.0);
    assert_eq!(server(&quick), [25.0, 0.0]);
    // An answer at the very instant of the timeout is an answer.
    let equal = jobs("", &sdk(3, r#", timeout = "30s""#), ONE, "30s");
    assert_eq!((equal.count("classes.job.delivered"), equal.count("classes.job.requests")), (1, 1));
    // The default of the SDK, 600 s: 1,801.125 to 1,801.5 s.
    let default = jobs(&hang, &sdk(3, r#", timeout = "600s""#), ONE, "1s");
    let asleep = default.number("classes.job.worker_time_s.waiting_retry");
    assert_eq!(default.number("classes.job.worker_time_s.refused"), 1_800.0);
    assert!((1.125..=1.5).contains(&asleep), "{asleep}");
}
