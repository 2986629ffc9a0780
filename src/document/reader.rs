//! A reader hands out the keys of one table and remembers which it was asked for. At the end every other key is a slip
//! of its author: silently ignored, `max_retrys = 0` would simulate the default.
//!
//! A slip often is a missing key at the same time. It is reported once: where an unknown key is near to a missing one,
//! only the unknown one is.

use std::cell::{Cell, RefCell};

use super::fault::{Fault, Faults};
use super::field::Field;
use super::near;
use super::tree::{Place, Table};

/// Reads one table.
#[derive(Debug)]
pub struct Reader<'a> {
    table: &'a Table,
    place: Place,
    faults: &'a Faults,
    asked: RefCell<Vec<&'a str>>,
    missing: RefCell<Vec<(&'a str, String)>>,
    unchosen: RefCell<Vec<Fault>>,
    /// Whether the keys are names, of which none is a slip.
    names: Cell<bool>,
}

impl<'a> Reader<'a> {
    /// A reader of the table that stands at `place`.
    pub fn new(table: &'a Table, place: Place, faults: &'a Faults) -> Self {
        let (asked, missing, unchosen) = (RefCell::default(), RefCell::default(), RefCell::default());
        Reader { table, place, faults, asked, missing, unchosen, names: Cell::new(false) }
    }

    /// Where the table stands.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Where the faults go.
    pub const fn faults(&self) -> &'a Faults {
        self.faults
    }

    /// The key, where the table has it.
    pub fn get(&self, key: &'a str) -> Option<Field<'a>> {
        self.knows(&[key]);
        let entry = self.table.get(key)?;
        Some(Field::new(entry.key, &entry.node, self.faults))
    }

    /// The key; a fault with this hint where the table has none.
    pub fn need(&self, key: &'a str, hint: &str) -> Option<Field<'a>> {
        let field = self.get(key);
        if field.is_none() {
            self.missing.borrow_mut().push((key, hint.to_owned()));
        }
        field
    }

    /// The key converted: `default` where the table does not have it, `None` where it is wrong.
    pub fn or<T>(&self, key: &'a str, default: T, convert: impl FnOnce(&Field<'a>) -> Option<T>) -> Option<T> {
        match self.get(key) {
            None => Some(default),
            Some(field) => convert(&field),
        }
    }

    /// The key converted: `Some(None)` where the table does not have it, `None` where it is wrong.
    pub fn maybe<T>(&self, key: &'a str, convert: impl FnOnce(&Field<'a>) -> Option<T>) -> Option<Option<T>> {
        match self.get(key) {
            None => Some(None),
            Some(field) => convert(&field).map(Some),
        }
    }

    /// Keys that are no slips although nobody asks for their values here.
    pub fn knows(&self, keys: &[&'a str]) {
        self.asked.borrow_mut().extend_from_slice(keys);
    }

    /// The one key of these that the table has; a fault where there is none or more than one.
    pub fn only(&self, keys: &[&'a str]) -> Option<(&'a str, Field<'a>)> {
        let there: Vec<(&str, Field<'a>)> = keys.iter().filter_map(|key| Some((*key, self.get(key)?))).collect();
        match there[..] {
            [one] => Some(one),
            [] => {
                // Where there is an unknown key it was meant as one of these, and is the fault; `finish` knows.
                let fault = Fault::new(self.place, "says none of the things that it could");
                self.unchosen.borrow_mut().push(fault.hint(format!("give one of {}", near::listed(keys))));
                None
            }
            [(first, _), (second, field), ..] => {
                let message = format!("says `{second}` beside `{first}`");
                self.faults.add(Fault::new(field.key, message).hint("keep one of them"));
                None
            }
        }
    }

    /// All keys as named things, in the order of writing; names that no result could carry are faults.
    pub fn named(&self) -> Vec<(&'a str, Field<'a>)> {
        let all = self.table.in_order();
        self.names.set(true);
        for (name, entry) in &all {
            if !is_name(name) {
                self.faults.add(bad_name(entry.key, name));
            }
        }
        all.into_iter().map(|(name, entry)| (name, Field::new(entry.key, &entry.node, self.faults))).collect()
    }

    /// Reports the keys that are missing and the ones that nobody asked for.
    pub fn finish(self) {
        if self.names.get() {
            return;
        }
        let asked = self.asked.into_inner();
        let (mut missing, mut unchosen) = (self.missing.into_inner(), self.unchosen.into_inner());
        for (name, entry) in self.table.in_order() {
            if asked.contains(&name) {
                continue;
            }
            unchosen.clear();
            if self.faults.is_full() {
                self.faults.add(Fault::new(entry.key, "unknown key"));
                continue;
            }
            // A slip more likely stands for a key that is not there than for one that is.
            let absent = near::nearest(name, asked.iter().copied().filter(|key| !self.table.contains(key)));
            missing.retain(|(key, _)| Some(*key) != absent);
            let best = absent.or_else(|| near::nearest(name, asked.iter().copied()));
            let fault = Fault::new(entry.key, "unknown key");
            self.faults.add(match best {
                Some(best) => fault.hint(format!("did you mean `{best}`?")),
                None => fault.hint(known(&asked)),
            });
        }
        for (key, hint) in missing {
            self.faults.add(Fault::new(self.place, format!("lacks the key `{key}`")).hint(hint));
        }
        for fault in unchosen {
            self.faults.add(fault);
        }
    }
}

/// A hint that lists the keys of a table.
fn known(asked: &[&str]) -> String {
    let mut keys: Vec<&str> = Vec::new();
    for key in asked {
        if !keys.contains(key) {
            keys.push(key);
        }
    }
    if keys.is_empty() { "no key is read here".to_owned() } else { format!("keys here are {}", near::listed(&keys)) }
}

/// Whether results can carry this name: letters, digits, `_` and `-`, at most 64.
pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
}

/// The fault of a name that results could not carry.
pub fn bad_name(place: Place, name: &str) -> Fault {
    let found = crate::units::parse::quoted(name);
    Fault::new(place, format!("is no name, found {found}"))
        .hint("names are made of letters, digits, `_` and `-`, at most 64 of them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;

    fn faults_of(source: &str, read: impl Fn(&Reader<'_>)) -> Vec<(String, String)> {
        let faults = Faults::default();
        let root = parse::own(source);
        let reader = Reader::new(&root, Place::TOP, &faults);
        read(&reader);
        reader.finish();
        faults.into_sorted().0.into_iter().map(|fault| (fault.message, fault.hint.unwrap_or_default())).collect()
    }

    #[test]
    fn a_slip_of_a_required_key_is_reported_once() {
        let found = faults_of("horizonn = 1\n", |reader| {
            reader.need("horizon", "say when the run ends");
            reader.get("title");
        });
        assert_eq!(found, [("unknown key".to_owned(), "did you mean `horizon`?".to_owned())]);
    }

    #[test]
    fn missing_and_strange_keys_are_two_faults() {
        let found = faults_of("colour = 1\n", |reader| {
            reader.need("horizon", "say when the run ends");
        });
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.contains(&("lacks the key `horizon`".to_owned(), "say when the run ends".to_owned())));
        assert!(found.contains(&("unknown key".to_owned(), "keys here are `horizon`".to_owned())));
    }

    #[test]
    fn one_of_several_forms_must_be_chosen() {
        let choose = |reader: &Reader<'_>| {
            reader.only(&["fixed", "exponential"]);
        };
        let both = faults_of("fixed = 1\nexponential = 2\n", choose);
        assert_eq!(both, [("says `exponential` beside `fixed`".to_owned(), "keep one of them".to_owned())]);
        let slip = faults_of("fixd = 1\n", choose);
        assert_eq!(slip, [("unknown key".to_owned(), "did you mean `fixed`?".to_owned())]);
        let none = faults_of("", choose);
        assert_eq!(none[0].1, "give one of `fixed`, `exponential`");
    }
}
