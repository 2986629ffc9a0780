//! Tests of whole pictures. With `RETRYCAST_PICTURES` set to a folder, each fixture is also written there, to be
//! looked at.

use super::fixture::{self, Fixture};
use super::sheet::{Frame, Mark};
use super::{Form, Picture, Setting, Theme, Words, odd, timeline};
use crate::observe::timeline::{AnswerKind, WorkerActivity};

fn draw(fixture: &Fixture, theme: &Theme, form: &Form) -> Picture {
    let long = fixture.scenario.name.len() > 100;
    let words = if long { long_words() } else { short_words() };
    timeline(&fixture.result, &fixture.scenario, theme, &words, form)
}

fn long_words() -> Words {
    Words {
        title: "A sentence that goes on and on about everything that was found in this run and in all others "
            .repeat(3),
        command:
            "retrycast run scenarios/report_storm.toml --variant before --set clients.batch.layers.sdk.max_retries=0 "
                .repeat(3),
    }
}

fn short_words() -> Words {
    Words {
        title: "Three stacked retry layers turned 420 requests into 3,920; the recovery burst gave 23\u{a0}% of live turns a 429".to_string(),
        command: "retrycast run scenarios/report_storm.toml --variant before --seed 1".to_string(),
    }
}

fn fixtures() -> Vec<(&'static str, Fixture)> {
    vec![
        ("incident", fixture::incident()),
        ("replicates", fixture::replicates()),
        ("three-queues", odd::three_queues()),
        ("ten-seconds", odd::ten_seconds()),
        ("three-days", odd::three_days()),
        ("nothing", odd::nothing()),
        ("huge", odd::huge()),
        ("tiny", odd::tiny()),
        ("five-classes", odd::five_classes()),
        ("rows", odd::rows()),
        ("long-names", odd::long_names()),
        ("guarded", odd::guarded()),
    ]
}

/// A fixture in the wide layout.
pub(super) fn draw_wide(fixture: &Fixture) -> Picture {
    draw(fixture, &Theme::LIGHT, &Form::WIDE)
}

/// All words of a picture, in the order in which they are painted.
pub(super) fn said(picture: &Picture) -> String {
    let svg = picture.svg(Setting::Page("run"));
    let texts = svg.lines().filter(|line| line.starts_with("<text"));
    texts.filter_map(|line| line.split(['<', '>']).nth(2)).collect::<Vec<_>>().join(" ")
}

fn show(name: &str, picture: &Picture) {
    let Ok(folder) = std::env::var("RETRYCAST_PICTURES") else { return };
    std::fs::write(format!("{folder}/{name}.svg"), picture.svg(Setting::File)).unwrap();
    std::fs::write(format!("{folder}/{name}.png"), picture.png(1.0).unwrap()).unwrap();
}

#[test]
fn both_themes_lay_out_alike() {
    for (name, fixture) in fixtures() {
        let [light, dark] = [Theme::LIGHT, Theme::DARK].map(|theme| draw(&fixture, &theme, &Form::WIDE));
        assert_eq!((light.height, light.marks.len()), (dark.height, dark.marks.len()), "{name}");
        show(name, &light);
        show(&format!("{name}-dark"), &dark);
    }
}

#[test]
fn text_never_leaves_the_canvas_and_never_touches_other_text() {
    for (name, fixture) in fixtures() {
        for form in [Form::WIDE, Form::narrow(360), Form::narrow(600)] {
            let picture = draw(&fixture, &Theme::LIGHT, &form);
            show(&format!("{name}-{}", form.width), &picture);
            let page =
                Frame { left: 0.0, top: 0.0, right: f64::from(picture.width), bottom: f64::from(picture.height) };
            let frames: Vec<Frame> = picture.marks.iter().filter_map(Mark::text_frame).collect();
            for (i, frame) in frames.iter().enumerate() {
                assert!(
                    page.holds(frame),
                    "{name} at {}: {:?}",
                    form.width,
                    picture.marks.iter().filter(|m| m.text_frame().is_some()).nth(i)
                );
                for other in &frames[i + 1..] {
                    assert!(
                        !frame.grown(-1.0).touches(&other.grown(-1.0)),
                        "{name} at {}: {frame:?} {other:?}",
                        form.width
                    );
                }
            }
        }
    }
}

#[test]
fn the_same_run_gives_the_same_bytes_without_any_nan() {
    for (name, fixture) in fixtures() {
        for setting in [Setting::File, Setting::Page("run")] {
            let [first, second] = [(); 2].map(|()| draw(&fixture, &Theme::LIGHT, &Form::WIDE).svg(setting));
            assert_eq!(first, second, "{name}");
            let body = &first[first.find("</desc>").unwrap()..];
            assert!(!body.contains("NaN") && !body.contains("inf,") && !body.contains("-2147483648"), "{name}");
        }
    }
}

#[test]
fn a_png_has_the_size_of_its_picture() {
    let picture = draw(&odd::tiny(), &Theme::DARK, &Form::WIDE);
    for zoom in [0.5f32, 1.0] {
        let pixels = tiny_skia::Pixmap::decode_png(&picture.png(zoom).unwrap()).unwrap();
        let expected = [picture.width, picture.height].map(|side| (side as f32 * zoom).round() as u32);
        assert_eq!([pixels.width(), pixels.height()], expected);
        // The last pixel is page, not nothing.
        let corner = pixels.pixel(expected[0] - 1, expected[1] - 1).unwrap();
        assert_eq!((corner.red(), corner.green(), corner.blue(), corner.alpha()), (0x12, 0x17, 0x1D, 255));
    }
    assert!(picture.png(0.0).is_err());
}

/// The incident with an element for a guard in the client of its jobs.
fn guarded(guard: crate::policy::Guard) -> Fixture {
    use crate::policy::{Client, Element, Kind, Role};
    let mut fixture = fixture::incident();
    fixture.scenario.guards = vec![guard];
    let element =
        Element { name: "guard".into(), kind: Kind::Client, role: Role::Guard(0), preset: None, unspoken: Vec::new() };
    fixture.scenario.clients = vec![Client::new("batch".into(), false, vec![element]).unwrap()];
    fixture
}

#[test]
fn workers_go_on_at_once_only_where_they_do() {
    let said_of = |fixture: &Fixture| said(&draw(fixture, &Theme::LIGHT, &Form::WIDE));
    let mut fixture = fixture::incident();
    fixture.result.timeline.classes[1].queue[192] = 85;
    assert!(said_of(&fixture).contains("go on at once"), "{}", said_of(&fixture));
    // Nothing gets through after the window either.
    let mut still = fixture::incident();
    still.result.timeline.classes[1].queue[192] = 85;
    for kind in [AnswerKind::Delivered, AnswerKind::Throttled] {
        still.result.timeline.classes[1].answers[kind as usize][192..220].fill(0);
    }
    assert!(!said_of(&still).contains("go on at once"));
    assert!(said_of(&still).contains("the provider is back, with"), "{}", said_of(&still));
    // A breaker holds them back.
    let mut held = guarded(crate::explain::adversary::breaker());
    held.result.timeline.classes[1].queue[192] = 85;
    assert!(!said_of(&held).contains("go on at once"));
}

#[test]
fn what_workers_wait_for_is_named_after_what_is_there() {
    let [breaker, slots] = crate::explain::adversary::guards();
    for (guard, word) in [(breaker, "waits for a breaker"), (slots, "waits for a permit")] {
        let mut fixture = guarded(guard);
        let waiting = &mut fixture.result.timeline.classes[1].workers;
        waiting[WorkerActivity::WaitingLimiter as usize][192..234].fill(60.0);
        waiting[WorkerActivity::Serving as usize][192..234].fill(0.0);
        let text = said(&draw(&fixture, &Theme::LIGHT, &Form::WIDE));
        assert!(text.contains(word) && !text.contains("limiter"), "{text}");
    }
}

#[test]
fn a_share_of_the_overload_does_not_stand_in_the_recovery() {
    // 11 % of the overload's worker time, told by the figures; the thickest place of that layer is the recovery.
    let mut fixture = fixture::incident();
    fixture::set(
        &mut fixture,
        &["phases", "overload", "classes", "report", "worker_time_s", "waiting_limiter"],
        1_305.0,
    );
    let waiting = &mut fixture.result.timeline.classes[1].workers[WorkerActivity::WaitingLimiter as usize];
    waiting[192..234].fill(60.0);
    waiting[60..192].fill(0.0);
    let text = said(&draw(&fixture, &Theme::LIGHT, &Form::WIDE));
    assert!(text.contains("waits for a limiter") && !text.contains("waits for a limiter 11"), "{text}");
}

#[test]
fn an_empty_limit_is_not_blamed_on_workers_that_are_idle() {
    let mut fixture = fixture::incident();
    assert!(said(&draw(&fixture, &Theme::LIGHT, &Form::WIDE)).contains("busy workers ask"));
    for activity in [WorkerActivity::Serving, WorkerActivity::Refused, WorkerActivity::WaitingRetry] {
        fixture.result.timeline.classes[1].workers[activity as usize].fill(0.0);
    }
    assert!(!said(&draw(&fixture, &Theme::LIGHT, &Form::WIDE)).contains("busy workers ask"));
}

#[test]
fn live_turns_that_failed_have_their_marks_and_their_number() {
    let mut fixture = fixture::incident();
    fixture.result.timeline.classes[0].wide_with_429.fill(0);
    fixture.result.timeline.classes[0].failures[100] = 12;
    fixture::set(&mut fixture, &["classes", "live", "failed"], 12.0);
    fixture::set(&mut fixture, &["classes", "live", "tasks_with_429"], 0.0);
    let text = said(&draw(&fixture, &Theme::LIGHT, &Form::WIDE));
    assert!(text.contains("Live turns that failed for good"), "{text}");
    assert!(text.contains("12 of 7,044"), "{text}");
}

#[test]
fn work_that_outlives_its_window_is_followed_to_its_end() {
    let mut fixture = fixture::incident();
    fixture::set(&mut fixture, &["phases", "overload", "classes", "report", "amplification_by_task"], 14.0);
    let text = said(&draw(&fixture, &Theme::LIGHT, &Form::WIDE));
    assert!(text.contains("14.0×") && text.contains("9.3× in the overload itself"), "{text}");
}

#[test]
fn what_guards_did_stands_in_the_foot() {
    let mut fixture = guarded(crate::explain::adversary::breaker());
    for (key, value) in [("trips", 12.0), ("refused", 340.0), ("waits", 0.0), ("waited_s", 0.0)] {
        fixture::set(&mut fixture, &["guards", "breaker", key], value);
    }
    let text = said(&draw(&fixture, &Theme::LIGHT, &Form::WIDE));
    assert!(text.contains("opened 12 times, refused 340 calls"), "{text}");
}

#[test]
fn a_class_named_after_its_tasks_says_so_once() {
    let mut fixture = fixture::incident();
    fixture.scenario.traffic[1].name = "job".into();
    let text = said(&draw(&fixture, &Theme::LIGHT, &Form::WIDE));
    assert!(text.contains("Jobs waiting in the queue") && !text.contains("ob jobs"), "{text}");
}

#[test]
fn panels_without_anything_to_show_are_left_out_and_named_in_the_foot() {
    let text = said(&draw(&odd::three_queues(), &Theme::LIGHT, &Form::WIDE));
    assert!(!text.contains("limit left") && !text.contains("turns that met"));
    for reason in ["no live turns", "the provider has no limit", "no job had to wait and none failed"] {
        assert!(text.contains(reason), "{reason}");
    }
    let nothing = said(&draw(&odd::nothing(), &Theme::LIGHT, &Form::WIDE));
    assert!(nothing.contains("there is nothing to show"));
}

#[test]
fn a_guard_that_acted_has_a_strip_and_one_that_did_not_has_none() {
    let text = said(&draw(&odd::guarded(), &Theme::LIGHT, &Form::WIDE));
    for strip in ["Breaker", "Semaphore slots: permits in use", "Retry budget of sdk in batch", "opened, for 19.7"] {
        assert!(text.contains(strip), "{strip}: {text}");
    }
    // Nine acted and there is room for six; the one that did not act is nowhere.
    assert!(text.contains("Not drawn, as others acted for longer: ") && !text.contains("Size idle"), "{text}");
    assert!(!said(&draw(&fixture::incident(), &Theme::LIGHT, &Form::WIDE)).contains("Breaker"));
}
