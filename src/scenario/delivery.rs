//! Reading how the queue of a class hands out its jobs, and how long they may take.

use crate::document::{Fault, Field, Reader};
use crate::traffic::{Delivery, WorkerPool};
use crate::units::SimDuration;

/// The most receives and redeliveries.
const MOST_TIMES: u64 = 1_000_000;

/// Reads `queue` of a class whose pool is known.
pub(super) fn delivery(field: &Field<'_>, pool: Option<&WorkerPool>) -> Option<Box<Delivery>> {
    let before = field.faults().len();
    let reader = field.table("how the queue hands out jobs")?;
    let words = [("early", false), ("late", true)];
    let late = reader.or("acknowledge", false, |field| field.word(&words));
    let time = |key| reader.maybe(key, Field::positive_duration);
    let (visibility, look_every) = (time("visibility"), time("look_every"));
    let first_look = reader.maybe("first_look", Field::duration);
    let renews = reader.or("renews", false, Field::truth);
    let front = reader.or("redeliver", false, |field| field.word(&[("back", false), ("front", true)]));
    let delays = reader.or("delays", false, |field| field.word(&[("queue", false), ("worker", true)]));
    let words = [("delivered", false), ("all", true)];
    let removes_all = reader.or("acknowledgement_removes", false, |field| field.word(&words));
    let times = |key, least| reader.maybe(key, |field| field.whole(least..=MOST_TIMES).map(|n| n as u32));
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
        &["look_every", "first_look", "renews"],
        r#"write a `visibility`, such as "300s", or leave it out"#,
    );
    needs(
        &reader,
        sees || crashes,
        &["redeliver", "acknowledgement_removes", "redeliveries_at_most"],
        NOTHING_COMES_BACK,
    );
    if let (Some(Some(_)), Some(None), Some(field)) = (first_look, look_every, reader.get("first_look")) {
        reader.faults().add(Fault::new(field.key, "there are no looks").hint("write `look_every` beside it"));
    }
    if renews == Some(true)
        && let Some(field) = reader.get("renews")
        && !crashes
    {
        let message = "no worker dies, so that no message would come back";
        reader.faults().add(Fault::new(field.key, message).hint("use a pool with `crashes`, or leave it out"));
    }
    reader.finish();
    let read = Delivery {
        late: late?,
        visibility: visibility?,
        renews: renews?,
        look_every: look_every?,
        first_look: first_look?.or(look_every?).unwrap_or(SimDuration::ZERO),
        held_delays: delays?,
        front: front?,
        removes_all: removes_all?,
        receives_at_most: receives?,
        redeliveries_at_most: redeliveries?,
        timeout: timeout?,
        expires: expires?,
        deadline: deadline?,
    };
    (field.faults().len() == before).then(|| Box::new(read))
}

const VISIBILITY: &str = r#"write acknowledge = "late", or use a pool with `prefetch`: what is acknowledged when its run begins does not come back"#;

const NOTHING_COMES_BACK: &str = "write a `visibility`, or use a pool with `crashes`: no message comes back otherwise";

/// Refuses keys that mean nothing without something else.
fn needs(reader: &Reader<'_>, is_there: bool, keys: &[&'static str], hint: &str) {
    for key in keys {
        if let Some(field) = reader.get(key).filter(|_| !is_there) {
            reader.faults().add(Fault::new(field.key, "means nothing here").hint(hint));
        }
    }
}
