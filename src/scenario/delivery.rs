//! Reading how the queue of a class hands out its jobs, and how long they may take.

use super::context::Read;
use super::spoken::spoken;
use crate::document::{Fault, Field, Reader};
use crate::preset::queues;
use crate::traffic::{Delivery, WorkerPool};
use crate::units::SimDuration;

/// The most receives and redeliveries.
const MOST_TIMES: u64 = 1_000_000;

/// Reads `queue` of a class whose pool is known: general keys, or the words of a preset with general keys beside them.
pub(super) fn delivery(field: &Field<'_>, pool: Option<&WorkerPool>) -> Option<Box<Delivery>> {
    let Some(spoken) = spoken(field, queues::find)? else {
        return settings(field.table("how the queue hands out jobs")?, pool);
    };
    if let Some(word) = queues::lacks(&spoken.preset, &spoken.table) {
        let message = format!("lacks the key `{word}`, without which `{}` takes no job", spoken.preset.family.word);
        field.faults().add(Fault::new(spoken.name, message).hint(format!(r#"write one, such as {word} = "10m""#)));
    }
    settings(spoken.reader(field), pool)
}

fn settings(reader: Reader<'_>, pool: Option<&WorkerPool>) -> Option<Box<Delivery>> {
    let faults = reader.faults();
    let before = faults.len();
    let words = [("early", false), ("late", true)];
    let late = reader.or("acknowledge", false, |field| field.word(&words));
    let time = |key| reader.or(key, None, |field| or_none(field, Field::positive_duration));
    let (visibility, look_every) = (time("visibility"), time("look_every"));
    let first_look = reader.maybe("first_look", Field::duration);
    let renews = reader.or("renews", false, Field::truth);
    let front = reader.or("redeliver", false, |field| field.word(&[("back", false), ("front", true)]));
    let delays = reader.or("delays", false, |field| field.word(&[("queue", false), ("worker", true)]));
    let words = [("delivered", false), ("all", true)];
    let removes_all = reader.or("acknowledgement_removes", false, |field| field.word(&words));
    let times = |key, least| {
        let whole = |field: &Field<'_>| field.whole(least..=MOST_TIMES).map(|n| n as u32);
        reader.or(key, None, |field| or_none(field, whole))
    };
    let after_crash = reader.maybe("after_crash", |field| field.word(&[("at_once", true), ("when_overdue", false)]));
    let (receives, redeliveries) = (times("receives_at_most", 1), times("redeliveries_at_most", 0));
    let (timeout, expires, deadline) = (time("timeout"), time("expires"), time("deadline"));
    let prefetches = pool.is_some_and(|pool| pool.prefetch.is_some());
    let crashes = pool.is_some_and(|pool| pool.crashes.is_some());
    needs(&reader, late == Some(true) || prefetches, &["visibility"], VISIBILITY);
    needs(&reader, prefetches, &["delays"], "use a pool with `prefetch`, whose processes take jobs ahead");
    let sees = matches!(visibility, Some(Some(_)) | None);
    needs(
        &reader,
        sees,
        &["look_every", "first_look", "renews", "after_crash"],
        r#"write a `visibility`, such as "300s", or leave it out"#,
    );
    needs(
        &reader,
        sees || crashes,
        &["redeliver", "acknowledgement_removes", "redeliveries_at_most"],
        NOTHING_COMES_BACK,
    );
    if let (Some(Some(_)), Some(None), Some(field)) = (first_look, look_every, said(&reader, "first_look")) {
        reader.faults().add(Fault::new(field.key, "there are no looks").hint("write `look_every` beside it"));
    }
    if renews == Some(true)
        && let Some(field) = said(&reader, "renews")
        && !crashes
    {
        let message = "no worker dies, so that no message would come back";
        reader.faults().add(Fault::new(field.key, message).hint("use a pool with `crashes`, or leave it out"));
    }
    if let (Some(Some(_)), false, Some(field)) = (after_crash, crashes, said(&reader, "after_crash")) {
        let message = "no worker dies, so that no message would come back";
        reader.faults().add(Fault::new(field.key, message).hint("use a pool with `crashes`, or leave it out"));
    }
    reader.finish();
    let is_held = late? || prefetches;
    let visibility = visibility?.filter(|_| is_held);
    let read = Delivery {
        late: late?,
        visibility,
        // Who has no clock has nothing to renew.
        at_once_after_crash: after_crash?.unwrap_or(visibility.is_none()),
        renews: renews?,
        look_every: look_every?,
        first_look: first_look?.or(look_every?).unwrap_or(SimDuration::ZERO),
        held_delays: delays? && prefetches,
        front: front?,
        removes_all: removes_all?,
        receives_at_most: receives?,
        redeliveries_at_most: redeliveries?,
        timeout: timeout?,
        expires: expires?,
        deadline: deadline?,
    };
    (faults.len() == before).then(|| Box::new(read))
}

/// A value, or none where the file says so: what a preset brings, or the file before a variant, can be left out.
pub(super) fn or_none<'a, T>(field: &Field<'a>, convert: impl FnOnce(&Field<'a>) -> Option<T>) -> Read<Option<T>> {
    if field.is_none() { Some(None) } else { convert(field).map(Some) }
}

/// A key that must not say what means nothing. What a preset says, or the file in its words, may: the pool decides.
fn said<'a>(reader: &Reader<'a>, key: &'static str) -> Option<Field<'a>> {
    if reader.get("preset").is_some() { None } else { reader.get(key) }
}

const VISIBILITY: &str = r#"write acknowledge = "late", or use a pool with `prefetch`: what is acknowledged when its run begins does not come back"#;

const NOTHING_COMES_BACK: &str = "write a `visibility`, or use a pool with `crashes`: no message comes back otherwise";

/// Refuses keys that mean nothing without something else.
fn needs(reader: &Reader<'_>, is_there: bool, keys: &[&'static str], hint: &str) {
    for key in keys {
        if let Some(field) = said(reader, key).filter(|_| !is_there) {
            reader.faults().add(Fault::new(field.key, "means nothing here").hint(hint));
        }
    }
}
