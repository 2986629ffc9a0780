//! Every level of nesting costs stack, in the parser and in everything that walks its tree, and a file of brackets
//! would overflow it. A quick scan before parsing bounds the depth: brackets by their nesting, dotted keys by their
//! dots. It knows just enough of TOML's strings and comments not to count what stands inside them.

use super::fault::Fault;
use super::tree::{Place, Text};

/// The deepest nesting of brackets and the longest dotted key that are read.
pub const DEEPEST: usize = 24;

/// The fault of a text that is nested too deeply.
pub fn check(source: &str, text: Text) -> Option<Fault> {
    let at = scan(source).too_deep?;
    let place = Place { text, from: at, to: at + 1 };
    Some(
        Fault::new(place, format!("is nested more than {DEEPEST} levels deep"))
            .hint("a scenario needs no more than eight; look for a bracket that is not closed"),
    )
}

/// The first bracket that is never closed.
pub fn unclosed(source: &str) -> Option<usize> {
    scan(source).open.first().copied()
}

/// What a scan finds.
struct Scan {
    /// The bracket or the dot that goes too deep; the scan ends there.
    too_deep: Option<usize>,
    /// Brackets that are open at the end.
    open: Vec<usize>,
}

fn scan(source: &str) -> Scan {
    let bytes = source.as_bytes();
    let (mut at, mut open, mut dots) = (0, Vec::new(), 0_usize);
    while at < bytes.len() {
        let next = match bytes[at] {
            b'#' => line_end(bytes, at),
            quote @ (b'"' | b'\'') => string_end(bytes, at, quote),
            _ => at + 1,
        };
        match bytes[at] {
            b'[' | b'{' => {
                open.push(at);
                dots = 0;
            }
            b']' | b'}' => {
                open.pop();
                dots = 0;
            }
            b'\n' | b',' | b'=' => dots = 0,
            b'.' => dots += 1,
            _ => {}
        }
        if open.len() > DEEPEST || dots > DEEPEST {
            return Scan { too_deep: Some(at), open };
        }
        at = next;
    }
    Scan { too_deep: None, open }
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| from + length)
}

/// The end of the string that begins at `from`; of an unclosed one, the end of its line or of the text.
fn string_end(bytes: &[u8], from: usize, quote: u8) -> usize {
    let triple = bytes[from..].starts_with(&[quote; 3]);
    let mut at = from + if triple { 3 } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote == b'"' => at += 1,
            b'\n' if !triple => return at,
            byte if byte == quote && !triple => return at + 1,
            byte if byte == quote && bytes[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_dots_are_counted_only_where_they_nest() {
        let dots = ".".repeat(200);
        for fine in [
            format!("a = \"{dots}\""),
            format!("# {dots}\na = '{dots}'"),
            format!("a = \"\"\"\n{dots}\n\"\"\""),
            "a = [[1], [2]]\n".repeat(500),
            "a.b.c = 1.5\n".repeat(500),
        ] {
            assert_eq!(check(&fine, Text::File), None, "{fine}");
        }
        for deep in ["[".repeat(20_000), "{a=".repeat(20_000), format!("a{}", ".a".repeat(20_000))] {
            assert!(check(&deep, Text::File).is_some());
        }
    }
}
