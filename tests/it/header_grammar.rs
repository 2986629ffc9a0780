//! What real clients make of the same header, from the header's text to the wait: each client is a layer in general
//! keys, and the waits are the ones that were measured on it.

use retrycast::policy::header::HintHeader;
use retrycast::policy::hint::HintedWait;
use retrycast::policy::{Client, Hint};
use retrycast::probe::header::said;
use retrycast::scenario::{Source, load};

/// urllib3 2.8, anthropic-python 2.14, openai-python 3.57, and both of these SDKs as of 2024 (0.40 and 1.55).
const CLIENTS: [&str; 4] = [
    r#"hint = { obey = { cap = "6h", above = "clamp" } }, hint_headers = [{ header = "retry-after",
       negative = "fatal", fraction = "fatal", exponent = "fatal", not_a_number = "fatal", infinite = "fatal",
       unreadable = "fatal" }]"#,
    r#"hint = { obey = { cap = "4294967s", above = "clamp" } }"#,
    r#"hint = { obey = { cap = "120s", above = "give_up" } },
       hint_headers = [{ header = "retry-after-ms" }, { header = "retry-after", infinite = "nothing" }]"#,
    r#"hint = { obey = { cap = "60s", above = "own_backoff" } }"#,
];

/// A header's text (or that of a second one in milliseconds beside it), and what each client does: waits so many
/// seconds, `L` its own ladder, `X` an error, `N` no retry.
const MEASURED: [(&str, &str, [&str; 4]); 15] = [
    ("0", "", ["L", "L", "L", "L"]),
    ("-5", "", ["X", "L", "L", "L"]),
    ("0.503", "", ["X", "0.503", "0.503", "0.503"]),
    ("1e3", "", ["X", "1000", "N", "L"]),
    ("nan", "", ["X", "L", "L", "L"]),
    ("inf", "", ["X", "4294967", "L", "L"]),
    ("60", "", ["60", "60", "60", "60"]),
    ("61", "", ["61", "61", "61", "L"]),
    ("120", "", ["120", "120", "120", "L"]),
    ("121", "", ["121", "121", "N", "L"]),
    ("3600", "", ["3600", "3600", "N", "L"]),
    ("9999999999", "", ["21600", "4294967", "N", "L"]),
    ("20", "1500", ["20", "1.5", "1.5", "1.5"]),
    ("20", "0", ["20", "L", "L", "L"]),
    ("Thu, 25 Jun 2020 21:28:02 GMT", "", ["L", "L", "L", "L"]),
];

/// 2020-06-25T21:28:12Z.
const CLOCK: f64 = 1_593_120_492.0;

fn client(keys: &str) -> Client {
    let text = format!(
        "horizon = \"1h\"\n[clients.one]\nlayers = [{{ name = \"sdk\", max_attempts = 2, retry_on = [429], {} }}]\n{}",
        keys.replace('\n', " "),
        "[traffic.t]\nkind = \"turns\"\nclient = \"one\"\narrivals = { at = [\"0s\"] }\n\
         steps = [{ name = \"s\", input_tokens = 1, latency = \"1s\" }]\n"
    );
    load(&Source::new("one.toml", &text)).unwrap_or_else(|refusal| panic!("{refusal:#?}")).clients.remove(0)
}

/// The word for what a client does with these headers.
fn does(client: &Client, headers: &[(HintHeader, &str)]) -> String {
    let headers: Vec<_> = headers.iter().map(|(header, text)| (*header, said(*header, text, CLOCK))).collect();
    let hint = client.grammar().read(&headers);
    let policy = client.elements()[0].role.policy().expect("a layer has a policy");
    match policy.hint.read(hint) {
        HintedWait::Own => "L".to_owned(),
        HintedWait::Exactly { wait, .. } => format!("{}", wait.as_secs_f64()),
        HintedWait::GiveUp if hint == Hint::Fatal => "X".to_owned(),
        HintedWait::GiveUp => "N".to_owned(),
        HintedWait::AtLeast { .. } | HintedWait::Near { .. } => unreachable!("no client here has such a rule"),
    }
}

#[test]
fn the_same_header_makes_each_client_do_what_it_was_measured_to_do() {
    let clients = CLIENTS.map(client);
    for (text, milliseconds, expected) in MEASURED {
        let mut headers = vec![(HintHeader::RetryAfter, text)];
        if !milliseconds.is_empty() {
            headers.push((HintHeader::RetryAfterMs, milliseconds));
        }
        let done = clients.each_ref().map(|client| does(client, &headers));
        assert_eq!(done, expected, "{text} {milliseconds}");
    }
}

#[test]
fn a_date_is_the_same_wait_for_all_that_read_dates() {
    let clients = CLIENTS.map(client);
    for text in [
        "Thu, 25 Jun 2020 21:28:42 GMT",
        "Thursday, 25-Jun-20 21:28:42 GMT",
        "Thu Jun 25 21:28:42 2020",
        "Thu, 25 Jun 2020 21:28:42 -0000",
        "@date+30",
    ] {
        for client in &clients {
            assert_eq!(does(client, &[(HintHeader::RetryAfter, text)]), "30", "{text}");
        }
    }
}

#[test]
fn a_timer_of_32_bits_overflows_and_fires_at_once() {
    // 2^31 − 1 milliseconds are 2,147,483.647 s; 30 days are more.
    let client = client(r#"hint = { obey = { cap = "2147483647ms", above = "at_once" } }"#);
    assert_eq!(does(&client, &[(HintHeader::RetryAfter, "2592000")]), "0.001");
    assert_eq!(does(&client, &[(HintHeader::RetryAfter, "302539")]), "302539");
}

#[test]
fn a_year_that_no_calendar_has_is_no_hint() {
    for client in CLIENTS.map(client) {
        let done = does(&client, &[(HintHeader::RetryAfter, "Fri, 31 Dec 99999 23:59:59 GMT")]);
        assert!(["L", "X"].contains(&done.as_str()), "{done}");
    }
}
