//! Tests of whole pictures. With `RETRYCAST_PICTURES` set to a folder, each fixture is also written there, to be
//! looked at.

use super::fixture::{self, Fixture};
use super::sheet::{Frame, Mark};
use super::{Form, Picture, Setting, Theme, Words, odd, timeline};

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
        ("long-names", odd::long_names()),
    ]
}

/// All words of a picture, in the order in which they are painted.
fn said(picture: &Picture) -> String {
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
