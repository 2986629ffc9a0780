//! What the server asks for, and what each generation of clients makes of it.

use retrycast::sim::{Fact, Fate};

use super::super::stage::{facts, read};
use super::instants;

/// The only call of the second class: its requests' instants in seconds, and when it was answered, if it was.
fn call(text: &str) -> (Vec<f64>, Option<f64>) {
    let (mut sent, mut answered) = (Vec::new(), None);
    for fact in facts(&read(text), 1) {
        match fact {
            Fact::RequestEnded { class: 1, sent: at, .. } => sent.push(at.as_secs_f64()),
            Fact::TaskEnded { class: 1, at, fate: Fate::Delivered, .. } => answered = Some(at.as_secs_f64()),
            Fact::RequestEnded { .. } | Fact::TaskEnded { .. } | Fact::TaskArrived { .. } => {}
        }
    }
    (sent, answered)
}

/// A bucket of one request in 171 s, which somebody empties just before the call; its refusals say when it will have
/// one, in whole seconds.
pub(super) fn bucket(layers: &str) -> (Vec<f64>, Option<f64>) {
    call(&format!(
        r#"
        horizon = "10m"
        [provider.limits.one]
        counts = "requests"
        amount = 1
        per = "171s"
        refuse = {{ after = "0s" }}
        [clients.sdk]
        layers = [{layers}]
        [clients.first]
        layers = []
        [traffic.first]
        kind = "turns"
        client = "first"
        arrivals = {{ at = ["0s"] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        [traffic.call]
        kind = "turns"
        client = "sdk"
        arrivals = {{ at = ["0s"] }}
        steps = [{{ name = "ask", input_tokens = 1, latency = "0s" }}]
        "#
    ))
}

#[test]
fn a_server_that_asks_for_171_s_meets_three_generations_of_sdks() {
    // The 2024 SDKs ignore hints above 60 s, one of today does not retry above 120 s, another sleeps whatever it is told.
    let [p60, p120, unbounded] = ["openai-python-1.109", "openai-python-3.57", "anthropic-python-2.14"].map(|preset| {
        let sdk = format!(r#"{{ name = "sdk", preset = "{preset}" }}"#);
        let outer = r#"{ name = "outer", kind = "decorator", max_attempts = "unlimited", retry_on = "any",
                backoff = { fixed = "1s" }, hint = { obey = { cap = "120s" } } }"#
            .replace(",\n                ", ", ");
        (bucket(&sdk), bucket(&format!("{sdk}, {outer}")))
    });
    let within = |at: f64, low: f64, high: f64| assert!(at >= low && at <= high, "{at} is not in {low} to {high}");

    let ((alone, answered), (sent, end)) = p60;
    assert_eq!((alone.len(), answered), (3, None));
    within(alone[2], 1.125, 1.5);
    // The outer loop waits 120 s; then the server asks for 50, which the SDK does obey.
    assert_eq!(sent.len(), 5);
    within(end.unwrap(), 171.125, 171.5);

    let ((alone, answered), (sent, end)) = p120;
    assert_eq!((alone.len(), answered), (1, None));
    assert_eq!((sent, end), (vec![0.0, 120.0, 171.0], Some(171.0)));

    let ((alone, answered), (sent, _)) = unbounded;
    assert_eq!((alone.len(), answered), (2, Some(171.0)));
    assert_eq!(sent, alone);
}

/// The SDKs and the HTTP client in which headers were measured, as a scenario has them.
pub(super) const CLIENTS: [&str; 4] = [
    r#"preset = "urllib3-2.8", total = 3, backoff_factor = "1s""#,
    r#"preset = "anthropic-python-2.14""#,
    r#"preset = "openai-python-3.57""#,
    r#"preset = "openai-python-1.109""#,
];

/// The headers of a 429, and the wait of each client: `L` its own ladder, `X` an error, `N` no retry.
pub(super) const MEASURED: [(&str, [&str; 4]); 14] = [
    ("retry-after=0", ["L", "L", "L", "L"]),
    ("retry-after=-5", ["X", "L", "L", "L"]),
    ("retry-after=0.503", ["X", "0.503", "0.503", "0.503"]),
    ("retry-after=1e3", ["X", "1000", "N", "L"]),
    ("retry-after=nan", ["X", "L", "L", "L"]),
    ("retry-after=inf", ["X", "4294967", "L", "L"]),
    ("retry-after=60", ["60", "60", "60", "60"]),
    ("retry-after=61", ["61", "61", "61", "L"]),
    ("retry-after=120", ["120", "120", "120", "L"]),
    ("retry-after=121", ["121", "121", "N", "L"]),
    ("retry-after=3600", ["3600", "3600", "N", "L"]),
    ("retry-after=9999999999", ["21600", "4294967", "N", "L"]),
    ("retry-after-ms=1500 retry-after=20", ["20", "1.5", "1.5", "1.5"]),
    ("retry-after-ms=0 retry-after=20", ["20", "L", "L", "L"]),
];

/// One turn at an instant after the beginning of 2026, whose provider answers by a script.
pub(super) fn scripted(client: &str, script: &str, at: &str) -> String {
    let script = script.replace('"', "\\\"");
    format!(
        "horizon = \"366d\"\n[provider.faults.script]\nrespond = {{ script = \"{script}\" }}\n\
         [clients.one]\nlayers = [{{ name = \"sdk\", {client} }}]\n\
         [traffic.turn]\nkind = \"turns\"\nclient = \"one\"\narrivals = {{ at = [\"{at}\"] }}\n\
         steps = [{{ name = \"ask\", input_tokens = 1, latency = \"0s\" }}]\n"
    )
}

#[test]
fn each_client_reads_the_same_header_as_it_was_measured_to() {
    for (headers, expected) in MEASURED {
        for (client, expected) in CLIENTS.into_iter().zip(expected) {
            let sent = instants(&scripted(client, &format!("429 {headers}, 200"), "0s"));
            let waited = sent.get(1).copied();
            match expected {
                "X" | "N" => assert_eq!(waited, None, "{client}: {headers}"),
                // The first wait of urllib3 is none; those of the SDKs are 0.5 s less up to a quarter.
                "L" if client.contains("urllib3") => assert_eq!(waited, Some(0.0), "{client}: {headers}"),
                "L" => assert!(waited.is_some_and(|wait| (0.375..=0.5).contains(&wait)), "{client}: {headers}"),
                wait => assert_eq!(waited, wait.parse().ok(), "{client}: {headers}"),
            }
        }
    }
}

#[test]
fn a_date_is_read_by_its_own_zone_whatever_the_clocks_of_a_country_do() {
    // Half a minute before the end of summer time in New York, and ten seconds before its beginning in Berlin: days 304
    // and 87 of 2026.
    let autumn = ("304d5h59m30s", "Sun, 01 Nov 2026 06:00:30 GMT", 60.0);
    let spring = ("87d59m50s", "Sun, 29 Mar 2026 01:00:10 GMT", 20.0);
    for (at, date, expected) in [autumn, spring] {
        for client in &CLIENTS[..3] {
            let sent = instants(&scripted(client, &format!("429 retry-after=\"{date}\", 200"), at));
            assert_eq!(sent[1] - sent[0], expected, "{client}: {date}");
        }
    }
}

#[test]
fn a_date_without_its_fraction_costs_one_refusal_and_a_later_one_none() {
    // The limit lifts at 30.7 s; the server says :30, or :31. At :30 the hint is over, and the client's own second wait
    // of 0.75 to 1 s is enough.
    let sent = |second: u32| {
        let text = scripted(
            r#"preset = "anthropic-python-2.14""#,
            &format!("429 retry-after=\"Thu, 01 Jan 2026 00:00:{second} GMT\" forever"),
            "0s",
        );
        instants(
            &text.replace("[provider.faults.script]\n", "[provider.faults.script]\nwindow = [\"0s\", \"30700ms\"]\n"),
        )
    };
    let early = sent(30);
    assert_eq!((early.len(), early[1]), (3, 30.0));
    assert!((30.75..=31.0).contains(&early[2]), "{early:?}");
    assert_eq!(sent(31), [0.0, 31.0]);
}

#[test]
fn a_timer_of_32_bits_spends_all_retries_in_two_milliseconds() {
    // 30 days are more milliseconds than 32 bits hold; three and a half days are not.
    let client = r#"preset = "openai-npm-6.49""#;
    assert_eq!(instants(&scripted(client, "429 retry-after=2592000 forever", "0s")), [0.0, 0.001, 0.002]);
    let sent = instants(&scripted(client, "429 retry-after=302539, 200", "0s"));
    assert_eq!(sent, [0.0, 302_539.0]);
}

#[cfg(feature = "cli")]
#[test]
fn a_date_is_the_same_wait_on_every_machine() {
    // At UTC − 4 an old client took the two minutes for more than four hours.
    let probe = |zone: &str| {
        let answers = "429 retry-after='Thu, 25 Jun 2020 21:30:12 GMT', 200";
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_retrycast"))
            .args(["probe", "--client", "anthropic-python-2.14", "--clock", "1593120492", "--answers", answers])
            .args(["--format", "json"])
            .env("TZ", zone)
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("output is UTF-8")
    };
    let [utc, west, east] = ["UTC", "America/New_York", "Asia/Kolkata"].map(probe);
    assert!(utc.contains("\"total_wait_s\": 120") || utc.contains("120.0"), "{utc}");
    assert_eq!((&utc, &utc), (&west, &east));
}
