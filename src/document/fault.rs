//! A fault says where, what and what to write instead. A file's faults are collected, so that one run of the program
//! shows them all; each cause is reported once, because a list in which nine of ten lines are echoes hides the tenth.

use std::cell::{Cell, RefCell};

use super::tree::Place;

/// The most faults that are kept: enough for any file a person wrote, and a bound for files nobody did.
const KEPT: usize = 1_000;

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What, in lower case, with the found value last.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault without a hint.
    pub fn new(place: Place, message: impl Into<String>) -> Fault {
        Fault { place, message: message.into(), hint: None }
    }

    /// The same fault with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }
}

/// All faults found so far.
#[derive(Debug, Default)]
pub struct Faults {
    list: RefCell<Vec<Fault>>,
    left_out: Cell<usize>,
}

impl Faults {
    /// Adds a fault.
    pub fn add(&self, fault: Fault) {
        if self.is_full() {
            self.left_out.set(self.left_out.get() + 1);
        } else {
            self.list.borrow_mut().push(fault);
        }
    }

    /// Whether further faults are only counted.
    pub fn is_full(&self) -> bool {
        self.list.borrow().len() >= KEPT
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    /// How many there are, the ones that were not kept included.
    pub fn len(&self) -> usize {
        self.list.borrow().len() + self.left_out.get()
    }

    /// The faults in the order of their places, each once, and how many more were not kept.
    pub fn into_sorted(self) -> (Vec<Fault>, usize) {
        let mut list = self.list.into_inner();
        list.sort_by(|a, b| (a.place, &a.message).cmp(&(b.place, &b.message)));
        list.dedup();
        (list, self.left_out.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tree::Text;

    #[test]
    fn faults_come_in_the_order_of_their_places_and_once() {
        let faults = Faults::default();
        let at = |text, from| Place { text, from, to: from + 1 };
        for place in [at(Text::Set(0), 3), at(Text::File, 90), at(Text::File, 7), at(Text::File, 90)] {
            faults.add(Fault::new(place, "is wrong"));
        }
        let (list, left_out) = faults.into_sorted();
        let places: Vec<Place> = list.iter().map(|fault| fault.place).collect();
        assert_eq!(places, [at(Text::File, 7), at(Text::File, 90), at(Text::Set(0), 3)]);
        assert_eq!(left_out, 0);
    }

    #[test]
    fn the_number_of_kept_faults_is_bounded() {
        let faults = Faults::default();
        (0..5_000).for_each(|_| faults.add(Fault::new(Place::TOP, "is wrong")));
        assert_eq!(faults.len(), 5_000);
        assert_eq!(faults.into_sorted().1, 4_000);
    }
}
