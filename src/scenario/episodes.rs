//! Reading the episodes of a fault: how long it is on and off, or whose episodes it shares.

use super::check::is_often_instant;
use super::distribution::{Measure, distribution};
use crate::document::{Field, Place, Reader};
use crate::provider::episodes::{Episodes, Starts};
use crate::random::Distribution;
use crate::units::SimTime;

/// The episodes of a fault as far as they are known while it is read.
#[derive(Clone, Debug)]
pub(super) struct ReadEpisodes {
    /// Its own, or those of the fault of this name, which is written there.
    pub(super) path: Result<Episodes, (String, Place)>,
    /// How probable it is that the fault strikes while they are off.
    pub(super) otherwise: f64,
}

/// Reads the episodes of the fault of this name, which begin at `begins`.
pub(super) fn episodes(name: &str, field: &Field<'_>, begins: SimTime) -> Option<ReadEpisodes> {
    let reader = field.table("how long the fault is on and off")?;
    let otherwise = reader.or("otherwise", 0.0, Field::ratio);
    let path = match reader.get("as") {
        Some(shared) => {
            let mut sound = true;
            for key in ["on", "off", "starts"] {
                if let Some(field) = reader.get(key) {
                    field.wrong::<()>(
                        "is said by the fault whose episodes these are",
                        "leave it out, or leave out `as`",
                    );
                    sound = false;
                }
            }
            shared.text().filter(|_| sound).map(|other| Err((other.to_owned(), shared.place())))
        }
        None => own(name, &reader, begins).map(Ok),
    };
    reader.finish();
    Some(ReadEpisodes { path: path?, otherwise: otherwise? })
}

fn own(name: &str, reader: &Reader<'_>, begins: SimTime) -> Option<Episodes> {
    let on = reader.need("on", r#"write how long an episode lasts, such as { exponential = { mean = "30s" } }"#);
    let off = reader.need("off", r#"write how long it is until the next, such as { exponential = { mean = "10m" } }"#);
    let (on, off) = (on.and_then(|field| length(&field)), off.and_then(|field| length(&field)));
    let words = [("stationary", Starts::Stationary), ("off", Starts::Off), ("on", Starts::On)];
    let starts = reader.or("starts", Starts::default(), |field| field.word(&words));
    Some(Episodes { name: name.to_owned(), on: on?, off: off?, starts: starts?, begins })
}

/// How long an episode lasts: more than no time.
fn length(field: &Field<'_>) -> Option<Distribution> {
    let length = distribution(field, Measure::Seconds)?;
    if is_often_instant(&length) {
        return field.wrong("is often no time at all", r#"write how long it lasts, such as "30s""#);
    }
    Some(length)
}
