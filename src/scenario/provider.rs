//! Reading the provider: its rate limits and what goes wrong on its side.

use super::capacity::{Degrading, capacity, degraded, degrading};
use super::context::{Context, Read, each};
use super::distribution::{Measure, distribution};
use super::failures::code;
use super::limit::{self, ReadLimit};
use super::models::{Named, models, named};
use crate::document::{Fault as Wrong, Field, Place, Reader, near};
use crate::policy::TokenBucket;
use crate::policy::pacer::Counts;
use crate::provider::script::Entry;
use crate::provider::{
    Abandoned, Capacity, Fault, Limit, Model, ModelSet, Profile, Provider, Respond, Script, Slots, StreamFault, Window,
    default_refusal_latency,
};
use crate::random::Distribution;
use crate::units::SimTime;
use crate::units::parse::LARGEST;

/// The most limits and the most faults.
const MOST: usize = 64;

/// Names of default phases; a fault window of one of these names could not be told from it.
const TAKEN: [&str; 3] = ["before", "recovery", "after"];

/// When a fault can strike, as other parts refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// At all times.
    Always,
    /// In a window.
    In(Window),
    /// It said so wrongly and that is reported.
    Unknown,
}

/// The provider with what cross checks need.
pub(super) struct ReadProvider<'a> {
    /// The limits; `None` where one is wrong.
    pub(super) limits: Vec<Option<Limit>>,
    /// The limits on requests in flight.
    pub(super) slots: Vec<Slots>,
    /// What becomes of requests whose callers have left; `None` where that is wrong.
    pub(super) abandoned: Option<Abandoned>,
    /// The faults; `None` where one is wrong.
    pub(super) faults: Vec<Option<Fault>>,
    /// When each fault can strike, by its name.
    pub(super) windows: Vec<(&'a str, When)>,
    /// For each fault, where it says that it hangs.
    pub(super) hangs: Vec<Option<Place>>,
    /// The models that it describes; `None` where one is wrong.
    pub(super) models: Option<Vec<Model>>,
    /// The models that each limit is for.
    pub(super) limit_models: Vec<Named>,
    /// The models that each limit on requests in flight is for.
    pub(super) slot_models: Vec<Named>,
    /// The models that each fault is for.
    pub(super) fault_models: Vec<Named>,
    /// Its servers; `None` where that is wrong.
    pub(super) capacity: Read<Option<Capacity>>,
    /// What faults do to the servers.
    pub(super) degrading: Vec<Degrading>,
    /// Where it stands.
    pub(super) place: Place,
}

/// Reads the provider.
pub(super) fn provider<'a>(field: Option<&Field<'a>>, context: &Context<'_>) -> ReadProvider<'a> {
    let mut read = ReadProvider {
        limits: Vec::new(),
        slots: Vec::new(),
        abandoned: Some(Abandoned::default()),
        faults: Vec::new(),
        windows: Vec::new(),
        hangs: Vec::new(),
        models: Some(Vec::new()),
        limit_models: Vec::new(),
        slot_models: Vec::new(),
        fault_models: Vec::new(),
        capacity: Some(None),
        degrading: Vec::new(),
        place: field.map_or(Place::TOP, Field::place),
    };
    let Some(reader) = field.and_then(|field| field.table("limits and faults")) else { return read };
    if let Some(limits) = reader.get("limits").and_then(|field| field.table("limits")) {
        let mut names = Vec::new();
        for limit in each(&limits, MOST, "limits", |name, field| Some(limit::limits(name, field, context))) {
            for limit in limit.unwrap_or_else(|| vec![None]) {
                let Some(limit) = limit else {
                    read.limits.push(None);
                    read.limit_models.push(None);
                    continue;
                };
                names.push(limit.name().to_owned());
                match limit {
                    ReadLimit::InFlight(slots, models) => {
                        read.slots.push(slots);
                        read.slot_models.push(models);
                    }
                    ReadLimit::Rate(limit, models) => {
                        read.limits.push(Some(*limit));
                        read.limit_models.push(models);
                    }
                }
            }
        }
        limit::check_names(&names, MOST, &limits);
        limits.finish();
    }
    if let Some(faults) = reader.get("faults").and_then(|field| field.table("faults")) {
        read.faults = each(&faults, MOST, "faults", |name, field| fault(name, field, context, &mut read));
        faults.finish();
    }
    if let Some(field) = reader.get("models") {
        read.models = models(&field);
    }
    let has_servers = reader.get("capacity").is_some();
    read.capacity = reader.maybe("capacity", |field| capacity(field, context)).and_then(|read_capacity| {
        if read_capacity.is_none() && (read.degrading.is_empty() || has_servers) {
            return Some(None);
        }
        let usual = || Capacity::without_limit(context.classes.len());
        Some(Some(degraded(read_capacity.unwrap_or_else(usual), &read.degrading, context.faults)?))
    });
    let has_servers = has_servers || !read.degrading.is_empty();
    read.abandoned = reader.or("abandoned", Abandoned::default(), |field| abandoned(field, has_servers));
    reader.finish();
    read
}

fn abandoned(field: &Field<'_>, has_servers: bool) -> Option<Abandoned> {
    let words = [
        ("served", Abandoned::Served),
        ("skipped", Abandoned::Skipped),
        ("dequeued", Abandoned::Dequeued),
        ("cancelled", Abandoned::Cancelled),
    ];
    let abandoned = field.word(&words)?;
    if matches!(abandoned, Abandoned::Skipped | Abandoned::Dequeued) && !has_servers {
        let hint = r#"describe the servers as [provider.capacity], or write "served" or "cancelled""#;
        return field.wrong("nobody waits where servers are not limited", hint);
    }
    Some(abandoned)
}

impl ReadProvider<'_> {
    /// The settings; `None` where something is wrong.
    pub(super) fn settled(self, models: Vec<Model>) -> Option<Provider> {
        let limits = self.limits.into_iter().collect::<Option<_>>()?;
        let faults = self.faults.into_iter().collect::<Option<_>>()?;
        let (abandoned, capacity) = (self.abandoned?, self.capacity?);
        Some(Provider { limits, slots: self.slots, faults, models, abandoned, capacity })
    }
}

/// What limits and pacers count.
pub(super) fn counts(field: &Field<'_>) -> Option<Counts> {
    let all = [Counts::Requests, Counts::InputTokens, Counts::OutputTokens, Counts::TotalTokens];
    field.word(&all.map(|counts| (counts.word(), counts)))
}

/// The bucket of a limit or of a pacer.
pub(super) fn bucket(reader: &Reader<'_>) -> Option<TokenBucket> {
    let amount = reader.need("amount", r#"write how much flows in during `per`, such as "700k""#);
    let amount = amount.and_then(|field| field.whole(1..=LARGEST));
    let per = reader.need("per", r#"write the period of `amount`, such as "1m""#);
    let per = per.and_then(|field| field.positive_duration());
    let capacity_field = reader.get("capacity");
    let capacity = match &capacity_field {
        None => per,
        Some(field) => field.positive_duration(),
    };
    let (amount, per, capacity) = (amount?, per?, capacity?);
    let bucket = TokenBucket::new(amount, per, capacity)?;
    if bucket.capacity_tokens() < 1.0
        && let Some(field) = capacity_field
    {
        return field.must("be long enough to hold one", r#"write the time in which the bucket fills, such as "1m""#);
    }
    Some(bucket)
}

fn fault<'a>(name: &'a str, field: &Field<'a>, context: &Context<'_>, read: &mut ReadProvider<'a>) -> Option<Fault> {
    let before = context.faults.len();
    read.hangs.push(None);
    read.windows.push((name, When::Unknown));
    read.fault_models.push(None);
    let reader = field.table("a fault's settings")?;
    let window = reader.maybe("window", window);
    if let (Some(last), Some(window)) = (read.windows.last_mut(), window) {
        last.1 = window.map_or(When::Always, When::In);
    }
    if TAKEN.contains(&name) && window != Some(None) {
        let wrong = Wrong::new(field.key, format!("`{name}` is the name of a default phase"));
        context.faults.add(wrong.hint("call the fault by what happens, such as `overload`"));
    }
    let since = window.flatten().map_or(SimTime::ZERO, |window| window.from);
    if let (Some(last), Some(named)) = (read.fault_models.last_mut(), named(reader.get("models"))) {
        *last = named;
    }
    let of_servers = degrading(&reader, window);
    if !matches!(of_servers, Some(None)) {
        reader.finish();
        let degrading = of_servers??;
        read.degrading.push(degrading);
        let probability = vec![Profile::constant(0.0)?; context.classes.len()];
        let (name, respond, window) = (name.to_owned(), Respond::Degraded, Some(degrading.window));
        return Some(Fault { name, window, probability, respond, models: ModelSet::ALL, carried_out: None });
    }
    let probability = reader.or("probability", Profile::constant(1.0)?, |field| profile(field, since));
    let by_class = match reader.get("by_class") {
        None => Some(Vec::new()),
        Some(field) => by_class(&field, since, context),
    };
    let respond = reader.need("respond", r"write what a struck request gets, such as { status = 529 }");
    let respond = respond.and_then(|field| {
        let answer = self::respond(&field)?;
        if let Some(last) = read.hangs.last_mut() {
            *last = answer.hangs;
        }
        Some(answer)
    });
    reader.finish();
    if let Some((_, when @ When::Always)) = read.windows.last_mut()
        && context.faults.len() > before
    {
        // The slip may have been the window's.
        *when = When::Unknown;
    }
    let (window, probability, by_class, respond) = (window?, probability?, by_class?, respond?);
    let of_class = |class: usize| by_class.iter().find(|(named, _)| *named == class).map(|(_, profile)| profile);
    let probability = (0..context.classes.len()).map(|class| of_class(class).unwrap_or(&probability).clone()).collect();
    let ReadRespond { respond, carried_out, .. } = respond;
    Some(Fault { name: name.to_owned(), window, probability, respond, models: ModelSet::ALL, carried_out })
}

/// A window of two times since the run began.
pub(super) fn window(field: &Field<'_>) -> Option<Window> {
    let (from, to) = field.pair(r#"the beginning and the end, such as ["10m", "32m"]"#)?;
    let (begins, ends) = (from.instant(), to.instant());
    let window = Window { from: begins?, to: ends? };
    if window.to < window.from {
        let hint = format!("write the start first: [{}, {}]", to.node.value, from.node.value);
        return field.wrong("ends before it begins", hint);
    }
    if window.to == window.from {
        return field.wrong("is empty: it ends when it begins", "write a later end, or leave the fault out");
    }
    Some(window)
}

/// A probability: a share, or points in time since `since`.
fn profile(field: &Field<'_>, since: SimTime) -> Option<Profile> {
    if field.node.as_array().is_none() {
        return Profile::constant(field.ratio()?);
    }
    let mut points = Vec::new();
    let mut sound = true;
    for item in field.list("points", 10_000)? {
        let point = item.pair(r#"a time and a share, such as ["7.5m", 0.55]"#).and_then(|(time, share)| {
            let (at, share) = (time.duration(), share.ratio());
            let at = since + at?;
            if points.last().is_some_and(|(last, _)| *last >= at) {
                return time.wrong("is not later than the point before it", "write the points in ascending time");
            }
            Some((at, share?))
        });
        match point {
            Some(point) => points.push(point),
            None => sound = false,
        }
    }
    if sound { Profile::through(points) } else { None }
}

fn by_class(field: &Field<'_>, since: SimTime, context: &Context<'_>) -> Option<Vec<(usize, Profile)>> {
    let reader = field.table("classes and their probabilities")?;
    let named = each(&reader, MOST, "classes", |name, field| {
        let class = context.classes.iter().position(|class| *class == name);
        let profile = profile(field, since);
        if class.is_none() {
            let hint = near::existing("classes", &context.classes, name);
            context.faults.add(Wrong::new(field.key, "no class has this name").hint(hint));
        }
        Some((class?, profile?))
    });
    reader.finish();
    named.into_iter().collect()
}

/// What a struck request gets.
struct ReadRespond {
    respond: Respond,
    /// Whether it is said that the server carries it out, and if it does.
    carried_out: Option<bool>,
    /// Where it is said that it hangs.
    hangs: Option<Place>,
}

fn respond(field: &Field<'_>) -> Option<ReadRespond> {
    const FORMS: [&str; 9] =
        ["status", "stream", "cut", "drop", "unreachable", "script", "hang", "connect_hang", "slow_first_token"];
    let reader = field.table("one answer")?;
    let chosen = reader.only(&FORMS);
    let respond = match &chosen {
        None => {
            reader.knows(&["after", "at", "for", "retry_after", "should_retry", "code", "carried_out"]);
            None
        }
        Some(("status", field)) => status(field, &reader),
        Some(("stream", field)) => stream(field, &reader),
        Some(("cut", field)) => must_be_true(field).and(after(&reader)).map(|after| Respond::Cut { after }),
        Some(("drop", field)) => must_be_true(field).and(after(&reader)).map(|after| Respond::Drop { after }),
        Some(("unreachable", field)) => {
            must_be_true(field).and(after(&reader)).map(|after| Respond::Unreachable { after })
        }
        Some(("script", field)) => script(field).map(Respond::Script),
        Some(("connect_hang", field)) => must_be_true(field).map(|()| Respond::ConnectHang),
        Some(("slow_first_token", field)) => distribution(field, Measure::Seconds).map(Respond::SlowFirstToken),
        Some((_, field)) => must_be_true(field).map(|()| Respond::Hang),
    };
    // What is served is carried out.
    let is_served = respond.as_ref().is_some_and(Respond::is_served);
    let carried_out = if is_served { Some(None) } else { reader.maybe("carried_out", Field::truth) };
    reader.finish();
    let (respond, carried_out) = (respond?, carried_out?);
    let hangs = match &respond {
        Respond::Hang => true,
        Respond::Script(script) => script.entries().iter().any(Entry::hangs),
        // Who has no timeout for a connection, or for a silent stream, waits for ever: that is how such clients hang.
        Respond::ConnectHang
        | Respond::Silence { .. }
        | Respond::Status { .. }
        | Respond::Stream { .. }
        | Respond::Cut { .. }
        | Respond::Drop { .. }
        | Respond::Unreachable { .. }
        | Respond::Degraded
        | Respond::SlowFirstToken(_) => false,
    };
    Some(ReadRespond { respond, carried_out, hangs: chosen.filter(|_| hangs).map(|(_, field)| field.place()) })
}

/// The clock by which dates in a script's headers are read: the first instant of 2026, in Unix seconds.
pub const SCRIPT_CLOCK: f64 = 1_767_225_600.0;

/// Answers one by one, in the words of `probe`.
fn script(field: &Field<'_>) -> Option<Script> {
    match Script::parse(field.text()?, SCRIPT_CLOCK) {
        Ok(script) => Some(script),
        Err(faults) => {
            for fault in faults {
                field.wrong::<()>(fault.message, fault.hint);
            }
            None
        }
    }
}

/// Seconds until an answer is back.
fn after(reader: &Reader<'_>) -> Option<Distribution> {
    reader.or("after", default_refusal_latency(), |field| distribution(field, Measure::Seconds))
}

fn status(field: &Field<'_>, reader: &Reader<'_>) -> Option<Respond> {
    let status = field.whole(400..=599);
    let hint = reader.maybe("retry_after", Field::positive_duration);
    let should_retry = reader.maybe("should_retry", Field::truth);
    let code = reader.maybe("code", code);
    let after = after(reader);
    let code = code?.map(str::to_owned);
    Some(Respond::Status { status: status? as u16, after: after?, hint: hint?, should_retry: should_retry?, code })
}

fn stream(field: &Field<'_>, reader: &Reader<'_>) -> Option<Respond> {
    let how = field.word(&StreamFault::ALL.map(|(how, word)| (word, how)));
    if how == Some(StreamFault::Silent) {
        return silent(reader);
    }
    Some(Respond::Stream { how: how?, after: after(reader)? })
}

/// A stream that falls silent: until a stated time, or from a stated time on.
fn silent(reader: &Reader<'_>) -> Option<Respond> {
    let Some(at) = reader.get("at") else {
        if let Some(field) = reader.get("for") {
            return field.wrong("says how long, and not from when on", r#"write at = "3s" too"#);
        }
        // Silence is noticed by a timeout, and none is as short as an error's way back.
        let hint = r#"write when it falls silent, such as at = "3s", or how long until a timeout of 60 s ends it all"#;
        reader.need("after", hint)?;
        return Some(Respond::Stream { how: StreamFault::Silent, after: after(reader)? });
    };
    if let Some(field) = reader.get("after") {
        return field.wrong("says when the silence ends, and `at` when it begins", "keep one of them");
    }
    let at = distribution(&at, Measure::Seconds);
    let gap = reader.maybe("for", |field| distribution(field, Measure::Seconds));
    Some(Respond::Silence { at: at?, gap: gap? })
}

fn must_be_true(field: &Field<'_>) -> Option<()> {
    if field.truth()? { Some(()) } else { field.must("be true", "leave the fault out where it does not happen") }
}
