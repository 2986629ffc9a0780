//! The provider at work: what it answers to a request, and when. It borrows nothing of the engine, so a real clock can
//! drive it as well as a simulated one.

use super::episodes::Path;
use super::fault::{Fault, Respond, StreamFault, carries_out};
use super::holds::{Cut, Ticket};
use super::limit::{HintForm, Limit};
use super::limits::LimitsState;
use super::model::window_exceeded;
use super::profile::Piece;
use super::script::Script;
use super::service::Service;
use super::shadow::Shadow;
use super::slots::SlotsState;
use super::{Provider, Request};
use crate::policy::Course;
use crate::policy::answer::{Answer, Hint};
use crate::policy::header::{HintGrammar, HintHeader, Said};
use crate::random::{Distribution, Key, Stream};
use crate::units::time::NANOS_PER_SEC;
use crate::units::{SimDuration, SimTime};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What its client would see, and when, if it waited for it.
    pub course: Course,
    /// The answer at the end of it.
    pub answer: Answer,
    /// Who gives it.
    pub by: AnsweredBy,
    /// Whether it passed the limits: it takes a slot of those on requests in flight for as long as it is served.
    pub admitted: bool,
    /// Whether the server carries the request out, if it is left to do so.
    pub carried_out: bool,
    /// Until when the server works on it; `course.written` where it does not.
    pub works_until: SimTime,
    /// Whether a limit refuses it that had room for it but for the retries of others.
    pub displaced: bool,
}

impl Verdict {
    /// A request that takes so long to connect and to write that its client has left before it is there.
    pub const fn lost(course: Course) -> Verdict {
        let works_until = course.written;
        Verdict {
            course,
            answer: Answer::TIMED_OUT,
            by: AnsweredBy::Nobody,
            admitted: false,
            carried_out: false,
            works_until,
            displaced: false,
        }
    }
}

/// Who answered a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsweredBy {
    /// The fault of this index.
    Fault(usize),
    /// The limit of this index.
    Limit(usize),
    /// The limit on requests in flight of this index.
    Slots(usize),
    /// The service itself.
    Service,
    /// The waiting room before the servers, which was full.
    Full,
    /// The model's context window, into which the request does not fit.
    Window,
    /// Nobody: the request never arrived.
    Nobody,
}

/// The provider in a run.
#[derive(Clone, Debug)]
pub struct ProviderState<'a> {
    settings: &'a Provider,
    limits: LimitsState<'a>,
    /// The same limits as they would stand had nobody ever sent a retry; `None` where nobody asks or knows.
    shadow: Option<Box<Shadow<'a>>>,
    /// For each limit on requests in flight, which slots are taken.
    slots: Vec<SlotsState>,
    /// For each fault the name's key word, so that its draws do not depend on its place in the file.
    fault_words: Vec<u64>,
    /// For each fault and class the piece of its probability that was last looked at. Time hardly moves between two
    /// requests; to look each of them up in the profile took a tenth of the event loop's time.
    chances: Vec<Vec<Piece>>,
    /// For each fault that comes in episodes, how far its path has been drawn.
    paths: Vec<Option<Path>>,
    limit_words: Vec<u64>,
    /// What each fault answers; `None` where nothing ever comes back.
    fault_answers: Vec<Option<Answer>>,
    /// How each limit refuses, without its hint.
    refusals: Vec<Answer>,
    /// The context window of each model; empty where none has one.
    windows: Vec<u32>,
}

/// Purposes of a request's draws, beyond those named after faults and limits.
const FAULT_LATENCY: u64 = 0x006c_6174_656e_6379;

impl<'a> ProviderState<'a> {
    /// A provider with full limits, in the world of this key.
    pub fn new(settings: &'a Provider, world: Key) -> Self {
        let path = |fault: &Fault| Some(Path::new(&fault.terms.as_ref()?.episodes.as_ref()?.path, world));
        ProviderState {
            settings,
            slots: settings.slots.iter().map(|_| SlotsState::default()).collect(),
            limits: LimitsState::new(&settings.limits),
            shadow: None,
            chances: settings.faults.iter().map(first_pieces).collect(),
            fault_words: settings.faults.iter().map(|fault| Key::word(&fault.name)).collect(),
            paths: settings.faults.iter().map(path).collect(),
            limit_words: settings.limits.iter().map(|limit| Key::word(&limit.name)).collect(),
            fault_answers: settings.faults.iter().map(|fault| fault.respond.answer()).collect(),
            refusals: settings.limits.iter().map(Limit::refusal).collect(),
            windows: windows(settings),
        }
    }

    /// The same, beside limits that only know of first requests, where that can be exact.
    #[must_use]
    pub fn with_shadow(mut self) -> Self {
        self.shadow = Shadow::of(self.settings).map(Box::new);
        self
    }

    /// The limits that know of no retries.
    #[cfg(test)]
    pub(super) fn shadow_mut(&mut self) -> &mut Shadow<'a> {
        self.shadow.as_mut().unwrap()
    }

    /// What becomes of a request that is sent at `now`; `service` is asked how long it takes to serve.
    pub fn receive(&mut self, now: SimTime, request: &Request<'_>, service: impl FnOnce() -> Service) -> Verdict {
        if self.windows.get(request.model as usize).is_some_and(|window| request.input_tokens > *window) {
            let course = request.arrives(now);
            let (by, works_until) = (AnsweredBy::Window, course.written);
            let answer = window_exceeded();
            return Verdict { course, answer, by, admitted: false, carried_out: false, works_until, displaced: false };
        }
        self.limits.move_to(now);
        let mut twist = None;
        for (index, fault) in self.settings.faults.iter().enumerate() {
            if self.strikes(index, now, request) {
                if fault.respond.is_served() {
                    twist = Some(index);
                    break;
                }
                return self.fault_verdict(index, fault, now, request, service);
            }
        }
        let fits_alone = self.shadow.as_mut().is_some_and(|shadow| shadow.admits(now, request));
        if let Some((index, shortfall)) = self.limits.longest_shortfall(now, request) {
            if fits_alone {
                let course = self.course(twist, request, service(), now);
                self.hold_alone(now, course.ends, request, &course);
            }
            let limit = &self.settings.limits[index];
            let told = self.limits.refuse(index, shortfall, now, request);
            let headers = limit.terms.as_ref().map_or(&[][..], |terms| &terms.headers);
            let (latency, hint) = (&limit.refusal_latency, limit.hint);
            let refusal = Refusal { latency, hint, headers, answer: self.refusals[index] };
            let verdict = refusal.verdict(told, self.limit_words[index], AnsweredBy::Limit(index), now, request);
            return Verdict { displaced: fits_alone, ..verdict };
        }
        if let Some((index, wait)) = self.longest_wait(now, request) {
            self.limits.charge_refused(now, request);
            if let Some(shadow) = &mut self.shadow {
                shadow.passes_alone(&self.limits, now, request);
            }
            if fits_alone {
                let course = self.course(twist, request, service(), now);
                self.hold_alone(now, course.ends, request, &course);
            }
            let slots = &self.settings.slots[index];
            let (latency, hint) = (&slots.refusal_latency, slots.hint);
            let refusal = Refusal { latency, hint, headers: &[], answer: slots.refusal() };
            return refusal.verdict(wait, Key::word(&slots.name), AnsweredBy::Slots(index), now, request);
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.parts(&self.limits, request);
            self.limits.charge(now, request);
            shadow.joins(&self.limits);
        } else {
            self.limits.charge(now, request);
        }
        let course = self.course(twist, request, service(), now);
        let (answer, works_until) = (Answer::DELIVERED, course.ends);
        let by = AnsweredBy::Service;
        Verdict { course, answer, by, admitted: true, carried_out: true, works_until, displaced: false }
    }

    /// A request that was admitted just now takes this course and is served until then: it takes a slot of every limit
    /// on requests in flight that counts it.
    #[inline]
    pub fn serves_until(&mut self, now: SimTime, until: SimTime, request: &Request<'_>, course: &Course) -> Ticket {
        for (settings, slots) in self.settings.slots.iter().zip(&mut self.slots) {
            if settings.covers(request.sender, request.model) {
                slots.take(until);
            }
        }
        self.hold_alone(now, until, request, course);
        self.limits.hold(now, until, request, course)
    }

    /// The limits that know of no retries hold the request, if it is the first for its step and they admitted it.
    #[inline]
    fn hold_alone(&mut self, now: SimTime, until: SimTime, request: &Request<'_>, course: &Course) {
        if let Some(shadow) = self.shadow.as_mut().filter(|_| request.is_first) {
            shadow.hold(now, until, request, course);
        }
    }

    /// The service of a request that was admitted begins now: it waited for a server, and its course was not known.
    pub fn begins_serving(&mut self, ticket: Ticket, now: SimTime, course: &Course) {
        self.limits.begin(ticket, now, course);
    }

    /// A request of this sender to this model that would have been served until then no longer is: its slots are free.
    pub fn stops_serving(&mut self, now: SimTime, until: SimTime, sender: u8, model: u8, ticket: Ticket) {
        for (settings, slots) in self.settings.slots.iter().zip(&mut self.slots) {
            if settings.covers(sender, model) {
                slots.free(until);
            }
        }
        self.limits.cut(ticket, now);
    }

    /// Charges what is due by now, and says which requests that cuts short, one by one.
    pub fn next_cut(&mut self, now: SimTime) -> Option<Cut> {
        self.limits.next_cut(now)
    }

    /// When a limit charges something next of what is served.
    pub fn next_due(&self) -> Option<SimTime> {
        self.limits.next_due()
    }

    /// Which slots are taken of each limit on requests in flight, in the order of the settings.
    pub fn slots(&self) -> &[SlotsState] {
        &self.slots
    }

    /// Charges and gives back what is due by now.
    pub fn settle_until(&mut self, now: SimTime) {
        self.limits.move_to(now);
    }

    /// The limits as they stand.
    pub const fn limits(&self) -> &LimitsState<'a> {
        &self.limits
    }

    #[inline]
    fn strikes(&mut self, fault: usize, now: SimTime, request: &Request<'_>) -> bool {
        let settings = &self.settings.faults[fault];
        if !settings.models.contains(request.model) || settings.window.is_some_and(|window| !window.contains(now)) {
            return false;
        }
        let piece = &mut self.chances[fault][request.class as usize];
        if !piece.span.contains(now) {
            *piece = settings.probability[request.class as usize].piece(now);
        }
        let mut probability = piece.at(now);
        if let Some(terms) = &settings.terms {
            probability = terms.probability(probability, now, request, self.paths[fault].as_mut());
        }
        probability > 0.0 && request.key.with(self.fault_words[fault]).unit() < probability
    }

    fn fault_verdict(
        &self,
        index: usize,
        fault: &Fault,
        now: SimTime,
        request: &Request<'_>,
        service: impl FnOnce() -> Service,
    ) -> Verdict {
        let by = AnsweredBy::Fault(index);
        if let Respond::Script(script) = &fault.respond {
            return scripted(script, fault, by, now, request);
        }
        let connected = now + request.connect;
        let written = connected + request.write;
        let draw = |time: &Distribution| SimDuration::from_secs_f64(time.sample(&mut self.fault_draws(index, request)));
        let answer =
            self.fault_answers[index].map_or(Answer::TIMED_OUT, |answer| as_read(answer, &[], request.grammar));
        let course = match &fault.respond {
            Respond::ConnectHang => Course::without_connection(SimTime::NEVER),
            Respond::Unreachable { after } => Course::without_connection(now + draw(after)),
            Respond::Silence { at, .. } => service().course_into_silence(connected, written, draw(at)),
            Respond::Stream { how: StreamFault::Broken, after } => {
                service().course_broken_off(connected, written, draw(after))
            }
            respond => {
                let after = respond.after().map_or(SimDuration::MAX, draw);
                Service::whole(after).course(connected, written)
            }
        };
        verdict(course, answer, by, fault)
    }

    /// How a request is served that a fault may have struck, and nobody refuses.
    #[inline]
    fn course(&self, twist: Option<usize>, request: &Request<'_>, service: Service, now: SimTime) -> Course {
        let connected = now + request.connect;
        let written = connected + request.write;
        match twist {
            None => service.course(connected, written),
            Some(index) => self.twisted(index, request, service, connected, written),
        }
    }

    /// How a struck request is served.
    fn twisted(
        &self,
        index: usize,
        request: &Request<'_>,
        service: Service,
        connected: SimTime,
        written: SimTime,
    ) -> Course {
        let mut draws = self.fault_draws(index, request);
        let mut draw = |time: &Distribution| SimDuration::from_secs_f64(time.sample(&mut draws));
        match &self.settings.faults[index].respond {
            Respond::SlowFirstToken(first) => service.slowed(draw(first)).course(connected, written),
            Respond::Silence { at, gap: Some(gap) } => {
                let at = draw(at);
                service.course_with_gap(connected, written, at, draw(gap))
            }
            _ => service.course(connected, written),
        }
    }

    fn fault_draws(&self, index: usize, request: &Request<'_>) -> Stream {
        request.key.with(self.fault_words[index]).with(FAULT_LATENCY).stream()
    }

    /// The limit on requests in flight whose next slot is free last, and in how long; `None` where all have one.
    #[inline]
    fn longest_wait(&mut self, now: SimTime, request: &Request<'_>) -> Option<(usize, SimDuration)> {
        let states = self.settings.slots.iter().zip(&mut self.slots).enumerate();
        let states = states.filter(|(_, (settings, _))| settings.covers(request.sender, request.model));
        let full = states.filter_map(|(index, (settings, state))| Some((index, state.wait(settings, now)?)));
        full.max_by_key(|(index, wait)| (*wait, std::cmp::Reverse(*index)))
    }
}

fn windows(settings: &Provider) -> Vec<u32> {
    if settings.models.iter().all(|model| model.context_window.is_none()) {
        return Vec::new();
    }
    settings.models.iter().map(|model| model.context_window.unwrap_or(u32::MAX)).collect()
}

/// How a limit refuses.
struct Refusal<'r> {
    latency: &'r Distribution,
    hint: Option<HintForm>,
    /// The headers that carry it; `retry-after` where there is none here.
    headers: &'r [HintHeader],
    /// Without its hint.
    answer: Answer,
}

impl Refusal<'_> {
    /// The refusal of a request that would fit after `wait`.
    fn verdict(&self, wait: SimDuration, word: u64, by: AnsweredBy, now: SimTime, request: &Request<'_>) -> Verdict {
        let after = SimDuration::from_secs_f64(self.latency.sample(&mut request.key.with(word).stream()));
        let hint = self.hint.map_or(Hint::None, |form| Hint::After(form.hint(wait)));
        let answer = as_read(Answer { hint, ..self.answer }, self.headers, request.grammar);
        let connected = now + request.connect;
        let course = Service::whole(after).course(connected, connected + request.write);
        let works_until = course.written;
        Verdict { course, answer, by, admitted: false, carried_out: false, works_until, displaced: false }
    }
}

/// A fault's verdict. What the server carries out it works on until its answer breaks off.
fn verdict(course: Course, answer: Answer, by: AnsweredBy, fault: &Fault) -> Verdict {
    let carried_out = fault.carried_out.unwrap_or_else(|| carries_out(answer.outcome));
    let breaks_off = if course.ends == SimTime::NEVER { course.quiet } else { course.ends };
    let works_until = if carried_out && breaks_off < SimTime::NEVER { breaks_off } else { course.written };
    Verdict { course, answer, by, admitted: false, carried_out, works_until, displaced: false }
}

/// The answer of a script to a request.
fn scripted(script: &Script, fault: &Fault, by: AnsweredBy, now: SimTime, request: &Request<'_>) -> Verdict {
    let entry = script.entry(u64::from(request.ordinal));
    let course = entry.course(now, request.connect, request.write);
    let answer = entry.answer(request.grammar, course.ends);
    if answer.is_delivered() {
        let works_until = course.ends;
        let by = AnsweredBy::Service;
        return Verdict { course, answer, by, admitted: false, carried_out: true, works_until, displaced: false };
    }
    verdict(course, answer, by, fault)
}

/// The answer with its hint as the client reads it from these headers, or from `retry-after`.
pub fn as_read(answer: Answer, headers: &[HintHeader], grammar: &HintGrammar) -> Answer {
    let Hint::After(wait) = answer.hint else { return answer };
    let hint = if headers.is_empty() {
        grammar.read(&[(HintHeader::RetryAfter, said(HintHeader::RetryAfter, wait))])
    } else {
        let mut all = [(HintHeader::RetryAfter, Said::Unreadable); HintHeader::ALL.len()];
        for (place, header) in all.iter_mut().zip(headers) {
            *place = (*header, said(*header, wait));
        }
        grammar.read(&all[..headers.len().min(all.len())])
    };
    Answer { hint, ..answer }
}

/// A wait in the words of a header: a whole number of its unit where it is one.
fn said(header: HintHeader, wait: SimDuration) -> Said {
    let unit = match header {
        HintHeader::RetryAfter => NANOS_PER_SEC,
        HintHeader::RetryAfterMs | HintHeader::AmzRetryAfterMs | HintHeader::GrpcPushbackMs => 1_000_000,
        HintHeader::RateLimitReset => return Said::Duration(wait.as_secs_f64()),
    };
    if wait.as_nanos().is_multiple_of(unit) {
        Said::Whole((wait.as_nanos() / unit) as f64)
    } else {
        Said::Fraction(wait.as_nanos() as f64 / unit as f64)
    }
}

fn first_pieces(fault: &Fault) -> Vec<Piece> {
    fault.probability.iter().map(|profile| profile.piece(SimTime::ZERO)).collect()
}
