//! Tests of whole pictures. With `RETRYCAST_PICTURES` set to a folder, each fixture is also written there, to be
//! looked at.

use super::fixture::{self, Fixture};
use super::sheet::{Frame, Mark};
use super::{Form, Picture, Setting, Theme, Words, timeline};
use crate::traffic::TaskKind;

fn draw(fixture: &Fixture, theme: &Theme, form: &Form) -> Picture {
    let words = Words {
        title: "Three stacked retry layers turned 420 requests into 3,920; the recovery burst gave 23\u{a0}% of live turns a 429".to_string(),
        command: "retrycast run scenarios/report_storm.toml --variant before --seed 1".to_string(),
    };
    timeline(&fixture.result, &fixture.scenario, theme, &words, form)
}

fn fixtures() -> Vec<(&'static str, Fixture)> {
    vec![("incident", fixture::incident()), ("replicates", fixture::replicates())]
}

fn show(name: &str, picture: &Picture) {
    let Ok(folder) = std::env::var("RETRYCAST_PICTURES") else { return };
    std::fs::write(format!("{folder}/{name}.svg"), picture.svg(Setting::File)).unwrap();
    std::fs::write(format!("{folder}/{name}.png"), picture.png(1.0).unwrap()).unwrap();
}

#[test]
fn pictures_can_be_looked_at() {
    for (name, fixture) in fixtures() {
        show(name, &draw(&fixture, &Theme::LIGHT, &Form::WIDE));
        show(&format!("{name}-dark"), &draw(&fixture, &Theme::DARK, &Form::WIDE));
        show(&format!("{name}-narrow"), &draw(&fixture, &Theme::LIGHT, &Form::narrow(390)));
    }
}
