//! Two layouts of the same picture: a wide one for files and a README, a narrow one for a phone. A wide picture that
//! is only shrunk would have letters that nobody can read.

/// The measures of a layout, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// How wide the picture is.
    pub width: f64,
    /// The margin of the page.
    pub(super) margin: f64,
    /// Where the panels begin.
    pub(super) left: f64,
    /// The room right of the panels for one number each; 0 for none.
    pub(super) gutter: f64,
    /// Whether title, subtitle and foot are part of the picture.
    pub(super) whole: bool,
    /// The size of the title.
    pub(super) title: f64,
    /// The size of a panel's title.
    pub(super) heading: f64,
    /// The size of direct labels.
    pub(super) label: f64,
    /// The size of the marks of an axis.
    pub(super) tick: f64,
    /// The size of a gutter number.
    pub(super) number: f64,
    /// The size of what stands under it, and of the foot.
    pub(super) note: f64,
    /// The room between two panels, the title of the lower one included.
    pub(super) gap: f64,
    /// The least room for a mark of the time axis.
    pub(super) tick_room: f64,
    /// Heights of panels are this many times those of the wide layout.
    pub(super) scale: f64,
}

impl Form {
    /// 1600 pixels wide, with title, gutter and foot.
    pub const WIDE: Form = Form {
        width: 1600.0,
        margin: 20.0,
        left: 66.0,
        gutter: 250.0,
        whole: true,
        title: 29.0,
        heading: 15.5,
        label: 13.5,
        tick: 13.0,
        number: 30.0,
        note: 13.0,
        gap: 54.0,
        tick_room: 95.0,
        scale: 1.0,
    };

    /// A narrow layout, 320 to 800 pixels wide: the panels alone, for a page that has title and numbers around it.
    pub fn narrow(width: u32) -> Form {
        Form {
            width: f64::from(width.clamp(320, 800)),
            margin: 4.0,
            left: 44.0,
            gutter: 0.0,
            whole: false,
            title: 0.0,
            heading: 13.0,
            label: 11.5,
            tick: 11.0,
            number: 0.0,
            note: 11.0,
            gap: 58.0,
            tick_room: 52.0,
            scale: 0.62,
        }
    }

    /// The layout of one of several columns of the wide one, from one edge to the other, with nothing beside it.
    pub(super) const fn column(left: f64, right: f64) -> Form {
        // The right edge is four pixels inside of what a layout without a gutter calls its width.
        Form { width: right + 4.0, margin: 0.0, left, gutter: 0.0, ..Form::WIDE }
    }

    /// Where the panels end.
    pub(super) const fn right(&self) -> f64 {
        if self.gutter > 0.0 { self.width - self.gutter } else { self.width - self.margin - 4.0 }
    }

    /// Where the gutter's text begins.
    pub(super) const fn gutter_left(&self) -> f64 {
        self.right() + 22.0
    }
}
