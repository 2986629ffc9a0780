//! What all panels share: a title that says what in bold and how in grey, level grid lines with the unit on the
//! uppermost, the time axis at the foot, and one number in the gutter with what it counts.

use plotters::style::RGBColor;

use super::answers::Answers;
use super::axis::TimeAxis;
use super::facts::Facts;
use super::font::Face;
use super::form::Form;
use super::incident::Incident;
use super::label::Label;
use super::lanes::Lane;
use super::level::Level;
use super::paragraph;
use super::queue::Queue;
use super::range::Range;
use super::scale::Scale;
use super::share::Share;
use super::sheet::{Frame, Phrase, Sheet};
use super::steps::{Bins, Ground};
use super::theme::Theme;
use super::tracks::Tracks;
use super::workers::Workers;

/// Everything that a panel looks at.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// The numbers.
    pub(super) facts: Facts<'a>,
    /// What happened, and the recovery.
    pub(super) incident: &'a Incident,
    /// What is shown of the run.
    pub(super) range: &'a Range,
    /// The axis below all panels.
    pub(super) axis: &'a TimeAxis,
    /// The colours.
    pub(super) theme: &'a Theme,
    /// The layout.
    pub(super) form: &'a Form,
}

impl View<'_> {
    /// The width of a narrow bin in seconds.
    pub(super) fn bin(&self) -> f64 {
        self.facts.result.timeline.bin.as_secs_f64()
    }

    /// The width of a wide bin in seconds.
    pub(super) fn wide(&self) -> f64 {
        self.facts.result.timeline.wide.as_secs_f64()
    }

    /// The end of the run in seconds.
    pub(super) fn end(&self) -> f64 {
        super::range::end_of(&self.facts.result.timeline, self.facts.scenario)
    }
}

/// A panel before it is drawn.
pub(super) struct Panel {
    /// What it shows, and how: the first part in bold.
    pub(super) title: String,
    /// The clauses after the title; those that do not fit are dropped from the end.
    pub(super) how: Vec<String>,
    /// Its height without title and axis, in the wide layout.
    pub(super) height: f64,
    /// Room above the scale, below the title.
    pub(super) above: f64,
    /// Its scale.
    pub(super) scale: Scale,
    /// Writes a mark of the scale, its unit apart.
    pub(super) unit: Unit,
    /// The number beside it.
    pub(super) note: Option<Note>,
    /// Its content.
    pub(super) body: Body,
}

/// How the marks of a value axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// As a bare number.
    None,
    /// As a percentage.
    Percent,
    /// As a rate in this unit of time.
    Per(super::number::TimeUnit),
}

/// The content of a panel.
pub(super) enum Body {
    /// Requests by answer.
    Answers(Answers),
    /// The share of turns that met a 429.
    Share(Share),
    /// What is left of a limit.
    Level(Level),
    /// Jobs that wait, and those that failed.
    Queue(Queue),
    /// What the workers do.
    Workers(Workers),
    /// Nothing, where another run that stands beside this one has something.
    Nothing,
    /// Each task, request by request.
    Tracks(Tracks),
    /// What a guard or a retry budget did.
    Lane(Lane),
}

/// What a panel shows, whichever run it is of: its kind and whose it is.
pub(super) type Row = (u8, String);

/// The room between a mark of a value axis and the axis.
pub(super) const TICK_GAP: f64 = 8.0;

/// One number in the gutter and what it counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Note {
    number: String,
    color: Option<RGBColor>,
    text: String,
    spread: Option<String>,
    /// Whether it stands beside a low panel, and begins at its title.
    is_small: bool,
}

/// The most lines that say what a gutter number counts; one more may say how sure it is.
const NOTE_LINES: usize = 3;

impl Note {
    /// A number and what it counts.
    pub(super) fn new(number: impl Into<String>, text: impl Into<String>) -> Note {
        Note { number: number.into(), color: None, text: text.into(), spread: None, is_small: false }
    }

    /// The note with a word on how sure the number is.
    pub(super) fn spread(self, spread: Option<String>) -> Note {
        Note { spread, ..self }
    }

    /// The note with its number in a hue: for the one that hurts.
    pub(super) fn loud(self, color: RGBColor) -> Note {
        Note { color: Some(color), ..self }
    }

    /// The note in small type.
    pub(super) fn small(self) -> Note {
        Note { is_small: true, ..self }
    }

    fn draw(&self, sheet: &mut Sheet, view: &View<'_>, top: f64) {
        let (form, theme) = (view.form, view.theme);
        let left = form.gutter_left();
        let width = form.width - form.margin - left;
        let color = self.color.unwrap_or(theme.ink);
        let in_size = |size| Phrase::new(&self.number, Face::Bold, size, color);
        // A number of many digits is set in smaller type, not cut.
        let sizes = if self.is_small { [0.6, 0.6, 0.5] } else { [1.0, 0.8, 0.64] };
        let sizes = sizes.map(|share| in_size(share * form.number));
        let top = if self.is_small { top - 33.0 } else { top };
        let number = sizes.iter().find(|number| number.width() <= width).unwrap_or(&sizes[2]).clone().fitted(width);
        let mut baseline = top + 0.76 * form.number;
        sheet.write(left, baseline, &number);
        let mut lines = paragraph::wrap(&self.text, width, Face::Regular, form.note);
        if lines.len() > NOTE_LINES {
            lines.truncate(NOTE_LINES);
            lines[NOTE_LINES - 1].push('…');
        }
        let spread = self.spread.iter().flat_map(|text| paragraph::wrap(text, width, Face::Regular, form.note));
        lines.extend(spread.take(1));
        baseline += 4.0;
        for line in &lines {
            baseline += 1.42 * form.note;
            let line = Phrase::new(line, Face::Regular, form.note, theme.second);
            sheet.write(left, baseline, &line.fitted(width));
        }
    }
}

impl Panel {
    /// The height of the panel in this layout.
    pub(super) fn height(&self, form: &Form) -> f64 {
        (self.height * form.scale).round()
    }

    /// What it shows.
    pub(super) fn row(&self, view: &View<'_>) -> Row {
        let class = |class: usize| view.facts.class(class).name.clone();
        match &self.body {
            Body::Answers(answers) => (0, class(answers.class())),
            Body::Share(share) => (1, class(share.class)),
            Body::Level(level) => (2, view.facts.scenario.provider.limits[level.limit].name.clone()),
            Body::Queue(queue) => (3, class(queue.class)),
            Body::Workers(workers) => (4, class(workers.class)),
            Body::Tracks(_) => (5, String::new()),
            Body::Lane(lane) => (6, lane.name.clone()),
            Body::Nothing => (u8::MAX, String::new()),
        }
    }

    /// Its outline, to be drawn again over the same panel of another run.
    pub(super) fn outline(&self) -> Option<Bins> {
        match &self.body {
            Body::Answers(answers) => Some(answers.total()),
            Body::Share(share) => Some(share.met.clone()),
            Body::Level(level) => Some(level.left.clone()),
            Body::Queue(queue) => Some(queue.length.clone()),
            Body::Workers(_) | Body::Tracks(_) | Body::Lane(_) | Body::Nothing => None,
        }
    }

    /// Draws the panel beside others, with the outline of one of them over it; `marked` where the marks of the value
    /// axis stand before it.
    pub(super) fn draw_beside(&self, sheet: &mut Sheet, view: &View<'_>, top: f64, marked: bool, other: Option<&Bins>) {
        let form = view.form;
        let frame = Frame { left: form.left, right: form.right(), top, bottom: top + self.height(form) };
        let ground = Ground { frame, axis: view.axis, top: self.scale.top };
        self.heading(sheet, view, top);
        self.grid(sheet, view, &ground, marked);
        self.body.draw(sheet, view, &ground);
        if let Some(other) = other {
            sheet.dashed(&ground.under(other), view.theme.ink, view.theme.page);
        }
        view.axis.base(sheet, &frame, view.theme);
        self.body.name(sheet, view, &ground);
    }

    /// Draws the panel; `top` is where its scale ends.
    pub(super) fn draw(&self, sheet: &mut Sheet, view: &View<'_>, top: f64) {
        let form = view.form;
        self.draw_beside(sheet, view, top, true, None);
        if let Some(note) = self.note.as_ref().filter(|_| form.gutter > 0.0) {
            // A panel of marks alone has its marks above its scale, and no height for a number.
            let marks = matches!(&self.body, Body::Share(share) if share.is_marks_alone());
            note.draw(sheet, view, if marks { top - self.above } else { top });
        }
    }

    fn heading(&self, sheet: &mut Sheet, view: &View<'_>, top: f64) {
        let (form, theme) = (view.form, view.theme);
        let room = form.right() - form.left;
        let baseline = top - 15.0 - self.above;
        let what = Phrase::new(&self.title, Face::Bold, form.heading, theme.ink);
        if form.whole {
            let said = self.clauses(room - what.width(), "  ", form.heading);
            let line = what.and(said, Face::Regular, form.heading, theme.second);
            sheet.write(form.left, baseline, &line.fitted(room));
        } else {
            // One below the other: a narrow line has no room for both.
            sheet.write(form.left, baseline - 1.45 * form.note, &what.fitted(room));
            let said = self.clauses(room, "", form.note);
            sheet.write(form.left, baseline, &Phrase::new(said, Face::Regular, form.note, theme.second));
        }
    }

    /// As many clauses as fit.
    fn clauses(&self, room: f64, before: &str, size: f64) -> String {
        (0..=self.how.len())
            .rev()
            .map(|n| if n == 0 { String::new() } else { format!("{before}{}", self.how[..n].join("; ")) })
            .find(|text| Face::Regular.width(text, size) <= room)
            .unwrap_or_default()
    }

    fn grid(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>, marked: bool) {
        let (form, theme) = (view.form, view.theme);
        for (value, text) in self.marks(form) {
            let y = ground.y(value);
            let phrase = Phrase::new(text, Face::Regular, form.tick, theme.second);
            if marked {
                sheet.write_before(form.left - TICK_GAP, y + 0.36 * form.tick, &phrase);
            }
            if value > 0.0 {
                sheet.level(form.left, form.right(), y, theme.grid);
            }
        }
    }

    /// The marks of the value axis: the unit is on the uppermost one. Rows have their names instead.
    fn marks(&self, form: &Form) -> Vec<(f64, String)> {
        if let Body::Tracks(tracks) = &self.body {
            return tracks.names(form);
        }
        if matches!(&self.body, Body::Share(share) if share.is_marks_alone()) {
            return Vec::new();
        }
        if matches!(&self.body, Body::Lane(_)) && self.scale.step > self.scale.top {
            return Vec::new();
        }
        let marks: Vec<f64> = std::iter::once(0.0).chain(self.scale.marks()).collect();
        let last = marks.len() - 1;
        let write = |(i, value): (usize, &f64)| (*value, self.unit.write(*value, self.scale.step, i == last));
        marks.iter().enumerate().map(write).collect()
    }

    /// The width of the longest mark.
    pub(super) fn marks_width(&self, form: &Form) -> f64 {
        self.marks(form).iter().map(|(_, text)| Face::Regular.width(text, form.tick)).fold(0.0, f64::max)
    }
}

impl Unit {
    fn write(self, value: f64, step: f64, with_unit: bool) -> String {
        use super::number::tick;
        let (text, sign) = match self {
            Unit::None => (tick(value, step), String::new()),
            Unit::Percent => (tick(value * 100.0, step * 100.0), "\u{a0}%".to_string()),
            Unit::Per(unit) => (tick(value, step), format!("\u{a0}/{}", unit.sign())),
        };
        if with_unit { text + &sign } else { text }
    }
}

impl Body {
    fn draw(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        match self {
            Body::Answers(answers) => answers.draw(sheet, view, ground),
            Body::Share(share) => share.draw(sheet, view, ground),
            Body::Level(level) => level.draw(sheet, view, ground),
            Body::Queue(queue) => queue.draw(sheet, view, ground),
            Body::Workers(workers) => workers.draw(sheet, view, ground),
            Body::Nothing => {}
            Body::Tracks(tracks) => tracks.draw(sheet, view, ground),
            Body::Lane(lane) => lane.draw(sheet, view, ground),
        }
    }

    /// Writes the direct labels, over everything else.
    fn name(&self, sheet: &mut Sheet, view: &View<'_>, ground: &Ground<'_>) {
        match self {
            Body::Answers(answers) => answers.name(sheet, view, ground),
            Body::Share(share) => share.name(sheet, view, ground),
            Body::Level(level) => level.name(sheet, view, ground),
            Body::Queue(queue) => queue.name(sheet, view, ground),
            Body::Workers(workers) => workers.name(sheet, view, ground),
            Body::Nothing => {
                let label = Label::plain("none", view.theme.second, view.form);
                label.at(sheet, &[], &ground.frame, (ground.frame.left + 8.0, ground.frame.top + 4.0));
            }
            Body::Tracks(tracks) => tracks.name(sheet, view, ground),
            Body::Lane(lane) => lane.name(sheet, view, ground),
        }
    }
}
