//! Runs that end early where their requests travel, where a limit stops answers, and where their steps run at once; and
//! copies of jobs whose steps run at once. Worked out by hand.

use super::stage::{Run, read};

/// One job of one step of 4 s, 2 s from the provider both ways.
fn far(provider: &str, timeout: &str) -> Run {
    Run::of(
        &read(&format!(
            r#"
            horizon = "100s"
            [provider]
            {provider}
            [provider.network]
            send = "2s"
            receive = "2s"
            [clients.plain]
            layers = []
            [traffic.job]
            kind = "jobs"
            workers = 1
            client = "plain"
            queue = {{ timeout = "{timeout}" }}
            arrivals = {{ at = ["0s"] }}
            steps = [{{ name = "ask", input_tokens = 1, latency = "4s" }}]
            "#
        )),
        1,
    )
}

#[test]
fn a_run_that_is_killed_has_sent_what_has_arrived() {
    for servers in ["", "capacity = { servers = 1 }\n"] {
        let figures = |provider: &str, timeout: &str| {
            let run = far(&format!("{servers}{provider}"), timeout);
            let keys = ["server_s", "wasted_server_s", "effects", "delivered", "responses.cancelled"];
            keys.map(|key| run.number(&format!("classes.job.{key}")))
        };
        // Killed at 1 s, before the request is there: nothing has been sent. It is there at 2 s and served until 6 s,
        // whoever wants it; the answer is back at 8 s.
        assert_eq!(figures("", "1s"), [0.0, 0.0, 0.0, 0.0, 1.0], "{servers}");
        assert_eq!(figures("", "5s"), [4.0, 4.0, 1.0, 0.0, 1.0], "{servers}");
        assert_eq!(figures("", "7s"), [4.0, 4.0, 1.0, 0.0, 1.0], "{servers}");
        assert_eq!(figures("", "8s"), [4.0, 0.0, 1.0, 1.0, 0.0], "{servers}");
        // A provider that notices stops at 5 s.
        assert_eq!(figures("abandoned = \"cancelled\"\n", "5s"), [3.0, 3.0, 0.0, 0.0, 1.0], "{servers}");
        assert_eq!(figures("abandoned = \"cancelled\"\n", "7s"), [4.0, 4.0, 1.0, 0.0, 1.0], "{servers}");
    }
}

#[test]
fn what_dies_on_its_way_ends_once() {
    // A worker lives 3 s and is back at once, 2 s and 4 s and 2 s are too long for it: every run dies at the server. By
    // hand: at 3, 6, 9, … until 99 s, 33 times, and each has been served its 4 s.
    let text = r#"
        horizon = "100s"
        [provider.network]
        send = "2s"
        receive = "2s"
        [clients.plain]
        layers = []
        [workers.pool]
        count = 1
        crashes = { every = "3s" }
        [traffic.job]
        kind = "jobs"
        workers = "pool"
        client = "plain"
        queue = { acknowledge = "late" }
        arrivals = { at = ["0s"] }
        steps = [{ name = "ask", input_tokens = 1, latency = "4s" }]
    "#;
    let run = Run::of(&read(text), 1);
    assert_eq!((run.count("classes.job.runs"), run.count("classes.job.delivery.crashed_runs")), (34, 33));
    assert_eq!(run.count("classes.job.responses.cancelled"), 33);
    // The one of 96 s is at the servers from 98 s until the end.
    assert_eq!(run.number("classes.job.wasted_server_s"), 32.0 * 4.0 + 2.0);
}

#[test]
fn steps_that_run_at_once_may_be_dropped_on_their_way() {
    let text = |more: &str| {
        format!(
            r#"
            horizon = "100s"
            [provider.network]
            send = "2s"
            receive = "2s"
            [provider.faults.broken]
            steps = ["first"]
            respond = {{ status = 500, after = "0s" }}
            [clients.plain]
            layers = []
            [traffic.turn]
            kind = "turns"
            client = "plain"
            when_one_fails = "cancel"
            arrivals = {{ at = ["0s"] }}
            steps = [
              {{ name = "first", group = "both", input_tokens = 1, latency = "1s" }},
              {{ name = "second", group = "both", input_tokens = 1, latency = "4s"{more} }},
            ]
            "#
        )
    };
    // The failure is back at 4 s. The other is served from 2 s to 6 s; or with 10 s for its connection it is not there.
    let served = |more: &str| {
        let run = Run::of(&read(&text(more)), 1);
        assert_eq!((run.count("classes.turn.failed"), run.count("classes.turn.responses.cancelled")), (1, 1));
        run.number("classes.turn.wasted_server_s")
    };
    assert_eq!([served(""), served(", connect = \"10s\"")], [4.0, 0.0]);
}

#[test]
fn a_limit_that_stops_answers_stops_those_that_nobody_wants() {
    // An answer of 64 tokens in 64 s, one a second, and a limit of 32: it stops after 32 s.
    let figures = |queue: &str, provider: &str, count: &str| {
        let text = format!(
            r#"
            horizon = "300s"
            [provider]
            {provider}
            [provider.limits.otpm]
            counts = "output_tokens"
            amount = 32
            per = "1h"
            algorithm = "fixed_window"
            charge = "streaming"
            when_used_up = "break"
            [clients.plain]
            layers = []
            [traffic.job]
            kind = "jobs"
            workers = 1
            client = "plain"
            {queue}
            arrivals = {{ at = {count} }}
            steps = [{{ name = "write", input_tokens = 1, output_tokens = 64, latency = "64s", first_token = "0s" }}]
            "#
        );
        let run = Run::of(&read(&text), 1);
        let keys = ["classes.job.server_s", "classes.job.wasted_server_s", "limits.otpm.cut_short"];
        // Nothing is cancelled, and nothing counted so, where no run can be killed.
        let cancelled = if queue.is_empty() { 0 } else { run.count("classes.job.responses.cancelled") };
        (keys.map(|key| run.number(key)), cancelled, run.count("classes.job.failed"))
    };
    for servers in ["", "capacity = { servers = 3 }\n"] {
        let one = r#"["0s"]"#;
        assert_eq!(figures("", servers, one), ([32.0, 0.0, 1.0], 0, 1), "{servers}");
        // Killed at 10 s, its answer goes on for nobody until the limit stops it.
        let killed = "queue = { timeout = \"10s\" }";
        assert_eq!(figures(killed, servers, one), ([32.0, 32.0, 1.0], 1, 1), "{servers}");
        // A provider that notices stops then; nothing is used up.
        let notices = format!("{servers}abandoned = \"cancelled\"\n");
        assert_eq!(figures(killed, &notices, one), ([10.0, 10.0, 0.0], 1, 1), "{servers}");
        // Three in turn, of which two are killed, at 10 and at 20 s. At 20 s 20 + 10 tokens are used, and the other two
        // are gone within a second: all three stop then, the last one before its time is over.
        let three = r#"["0s", "0s", "0s"]"#;
        let (seconds, cancelled, failed) = figures(killed, servers, three);
        assert_eq!((cancelled, failed), (2, 3), "{servers} {seconds:?}");
        assert_eq!(seconds[2], 3.0, "{servers}");
    }
}

/// A job whose message comes back after 3 s, and is not acknowledged before its end.
fn late(steps: &str, more: &str) -> Run {
    Run::of(
        &read(&format!(
            r#"
            horizon = "40s"
            {more}
            [clients.plain]
            layers = [{{ name = "queue", kind = "queue", max_attempts = 3, retry_on = "any", backoff = {{ fixed = "1s" }}, resume = "failed_step" }}]
            [traffic.job]
            kind = "jobs"
            workers = 2
            client = "plain"
            queue = {{ acknowledge = "late", visibility = "3s" }}
            arrivals = {{ at = ["0s", "7s"] }}
            steps = [{steps}]
            "#
        )),
        1,
    )
}

#[test]
fn copies_of_a_job_do_its_steps_each_for_themselves() {
    // Two steps at once that take as long as one do what one does, with twice the requests.
    let one = late(r#"{ name = "ask", input_tokens = 1, latency = "10s" }"#, "");
    let both = r#"{ name = "a", group = "both", input_tokens = 1, latency = "10s" }, { name = "b", group = "both", input_tokens = 1, latency = "10s" }"#;
    let two = late(both, "");
    for key in
        ["runs", "delivered", "delivery.redelivered", "delivery.copies", "delivery.wasted_runs", "delivery.copies_left"]
    {
        assert_eq!(two.count(&format!("classes.job.{key}")), one.count(&format!("classes.job.{key}")), "{key}");
    }
    assert!(one.count("classes.job.delivery.copies") > 2);
    assert_eq!(two.count("classes.job.requests"), 2 * one.count("classes.job.requests"));
    // A copy that begins when another has done the short step does it again: by hand two copies run from 0 s and from 3 s
    // on, a third from 10 s, and so on; each sends two requests.
    let short = both.replacen("10s", "2s", 1);
    let short = late(&short, "");
    assert_eq!(short.count("classes.job.requests"), 2 * short.count("classes.job.runs"));
}

#[test]
fn what_a_copy_has_done_is_kept_when_it_decides() {
    // The long step fails until 4 s, at once: the run of 0 s fails when the short one is done, at 2 s. The next begins at
    // 3 s with the failed step alone, and again at 4 s, where it is answered.
    let steps = r#"{ name = "a", group = "both", input_tokens = 1, latency = "2s" }, { name = "b", group = "both", input_tokens = 1, latency = "2s" }"#;
    let broken = "[provider.faults.broken]\nsteps = [\"b\"]\nwindow = [\"0s\", \"4s\"]\nrespond = { status = 500, after = \"0s\" }\n";
    let run = late(steps, broken);
    // Of the second job, at 7 s, two more requests.
    assert_eq!((run.count("classes.job.runs"), run.count("classes.job.requests")), (4, 6));
    assert_eq!((run.count("classes.job.delivered"), run.count("classes.job.delivery.copies")), (2, 0));
}
