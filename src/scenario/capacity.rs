//! Reading the provider's servers: how many, who waits for them, and what becomes of whom who finds no room.

use super::context::{Context, Read, each};
use super::refuse::{Refusal, refusal};
use crate::document::{Fault, Field, Place, Reader, near};
use crate::provider::Window;
use crate::provider::capacity::{Capacity, Late, Order, Steps};
use crate::units::SimDuration;

/// The most servers, and the most that may wait for them.
const MOST: u64 = 1_000_000;

/// How many times as fast or as slow as usual servers may be.
const FASTEST: f64 = 1_000.0;

/// The most points of a slowdown.
const MOST_POINTS: usize = 1_000;

/// What happens to the servers in the window of a fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct Degrading {
    /// When.
    pub(super) window: Window,
    /// How many servers there are then; `None` where that does not change.
    pub(super) servers: Option<u32>,
    /// How fast they are then, in millionths; `None` where that does not change.
    pub(super) speed: Option<u32>,
    /// Where it is said.
    pub(super) place: Place,
}

/// Reads the servers.
pub(super) fn capacity(field: &Field<'_>, context: &Context<'_>) -> Option<Capacity> {
    let reader = field.table("servers, queue and how they are served")?;
    let classes = context.classes.len();
    let none = Capacity::without_limit(classes);
    let servers = reader.or("servers", u32::MAX, |field| amount(field, 1));
    let room = reader.or("queue", u32::MAX, |field| amount(field, 0));
    let words = [("fifo", Order::Fifo), ("lifo", Order::Lifo), ("priority", Order::Priority)];
    let order = reader.or("order", Order::Fifo, |field| field.word(&words));
    let priorities = match reader.get("priorities") {
        None => Some(none.priorities),
        Some(field) => priorities(&field, order, context),
    };
    let shares = match reader.get("shed") {
        None => Some(none.shares),
        Some(field) => shed(&field, room, context),
    };
    let slowdown = reader.or("slowdown", Vec::new(), slowdown);
    let per_token = |key| reader.or(key, SimDuration::ZERO, Field::duration);
    let (per_input_token, per_output_token) = (per_token("per_input_token"), per_token("per_output_token"));
    let usual = || Refusal { status: 503, ..Refusal::without_hint() };
    let words = [("served", Late::Served), ("dropped", Late::Dropped), ("refused", Late::Refused)];
    let late = reader.or("late", Late::Served, |field| field.word(&words));
    let full = reader.get("when_full").map_or_else(|| Some(usual()), |field| refusal(&field, &usual(), false));
    reader.finish();
    let Refusal { status, after, hint, code, .. } = full?;
    Some(Capacity {
        servers: Steps::constant(servers?),
        room: room?,
        shares: shares?,
        order: order?,
        priorities: priorities?,
        slowdown: slowdown?,
        per_input_token: per_input_token?,
        per_output_token: per_output_token?,
        status,
        refusal_latency: after,
        hint,
        code,
        late: late?,
        speed: none.speed,
    })
}

/// A number, or `"unlimited"`.
fn amount(field: &Field<'_>, least: u64) -> Option<u32> {
    if field.node.as_str() == Some("unlimited") {
        return Some(u32::MAX);
    }
    field.whole(least..=MOST).map(|amount| amount as u32)
}

fn priorities(field: &Field<'_>, order: Option<Order>, context: &Context<'_>) -> Option<Vec<u8>> {
    if order.is_some_and(|order| order != Order::Priority) {
        return field.wrong("nobody looks at priorities in this order", r#"write order = "priority", or leave it out"#);
    }
    let named = by_class(field, context, |field| field.whole(0..=254))?;
    let of = |class| named.iter().find(|(named, _)| *named == class).map_or(u8::MAX, |(_, priority)| *priority as u8);
    Some((0..context.classes.len()).map(of).collect())
}

/// From how many waiting on requests of a class find no room.
fn shed(field: &Field<'_>, room: Option<u32>, context: &Context<'_>) -> Option<Vec<u32>> {
    let named = by_class(field, context, |field| {
        if field.node.as_str().is_some_and(|text| text.contains('%')) {
            let share = field.ratio()?;
            if room == Some(u32::MAX) {
                return field
                    .wrong("a share of a queue without end", "write how many wait, such as 50, or limit `queue`");
            }
            return Some((share * f64::from(room?)) as u64);
        }
        field.whole(0..=MOST)
    })?;
    let of = |class| named.iter().find(|(named, _)| *named == class).map_or(u32::MAX, |(_, most)| *most as u32);
    Some((0..context.classes.len()).map(of).collect())
}

fn by_class(
    field: &Field<'_>,
    context: &Context<'_>,
    read: impl Fn(&Field<'_>) -> Option<u64>,
) -> Option<Vec<(usize, u64)>> {
    let reader = field.table("classes and their numbers")?;
    let named = each(&reader, context.classes.len().max(1), "classes", |name, field| {
        let class = context.classes.iter().position(|class| *class == name);
        if class.is_none() {
            let hint = near::existing("classes", &context.classes, name);
            context.faults.add(Fault::new(field.key, "no class has this name").hint(hint));
        }
        let value = read(field);
        Some((class?, value?))
    });
    reader.finish();
    named.into_iter().collect()
}

/// How service slows down: by a share for each request in service, or along points.
fn slowdown(field: &Field<'_>) -> Option<Vec<(u32, f64)>> {
    if field.node.as_array().is_none() {
        let each = field.number(0.0..=FASTEST)?;
        return Some(vec![(0, 1.0), (1, 1.0 + each)]);
    }
    let mut points: Vec<(u32, f64)> = Vec::new();
    let mut sound = true;
    for item in field.list("points", MOST_POINTS)? {
        let point = item.pair("how many are in service and how many times as long it takes, such as [100, 2]");
        let point = point.and_then(|(many, times)| {
            let (n, factor) = (many.whole(0..=MOST), times.number(0.0..=1e6));
            let n = n? as u32;
            if points.last().is_some_and(|(last, _)| *last >= n) {
                return many.wrong("is not more than in the point before it", "write the points in ascending order");
            }
            Some((n, factor?))
        });
        match point {
            Some(point) => points.push(point),
            None => sound = false,
        }
    }
    if points.is_empty() && sound {
        return field.wrong("has no point", "write at least one, such as [[100, 2]], or leave it out");
    }
    sound.then_some(points)
}

/// What a fault does to the servers in its window, if it says so.
pub(super) fn degrading(reader: &Reader<'_>, window: Read<Option<Window>>) -> Read<Option<Degrading>> {
    let (servers_field, speed_field) = (reader.get("servers"), reader.get("speed"));
    let Some(place) = servers_field.as_ref().or(speed_field.as_ref()).map(Field::place) else { return Some(None) };
    let servers = reader.maybe("servers", |field| amount(field, 0));
    let speed = reader.maybe("speed", |field| field.number(0.0..=FASTEST).map(Capacity::millionths));
    let mut sound = true;
    for key in ["respond", "probability", "by_class", "models"] {
        if let Some(field) = reader.get(key) {
            let message = "a fault of the servers answers nobody: it is felt by whoever is served";
            reader.faults().add(Fault::new(field.key, message).hint("leave it out, or write two faults"));
            sound = false;
        }
    }
    if window == Some(None) {
        let message = "lacks the key `window`";
        let hint = r#"write when, such as window = ["10m", "11m"]; what always holds belongs into [provider.capacity]"#;
        reader.faults().add(Fault::new(place, message).hint(hint));
        sound = false;
    }
    let (servers, speed, window) = (servers?, speed?, window??);
    sound.then_some(Some(Degrading { window, servers, speed, place }))
}

/// The servers with what faults do to them; `None` where two of these do the same thing at once, and a fault says so.
pub(super) fn degraded(
    capacity: Capacity,
    degrading: &[Degrading],
    faults: &crate::document::Faults,
) -> Option<Capacity> {
    let mut sound = true;
    let mut steps = |base: &Steps, value: fn(&Degrading) -> Option<u32>| {
        let mut windows: Vec<(Window, u32)> =
            degrading.iter().filter_map(|one| Some((one.window, value(one)?))).collect();
        windows.sort_by_key(|(window, _)| window.from);
        let changed = base.clone().in_windows(&windows);
        if changed.is_none() {
            let mut places = degrading.iter().filter(|one| value(one).is_some()).map(|one| one.place);
            let message = "two faults change the same of the servers at the same time";
            let place = places.next_back().unwrap_or(Place::TOP);
            faults.add(Fault::new(place, message).hint("let one window end before the other begins"));
            sound = false;
        }
        changed
    };
    let servers = steps(&capacity.servers, |one| one.servers);
    let speed = steps(&capacity.speed, |one| one.speed);
    if !sound {
        return None;
    }
    Some(Capacity { servers: servers?, speed: speed?, ..capacity })
}
