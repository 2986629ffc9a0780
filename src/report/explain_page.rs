//! Words on a page of 80 columns.

/// The width of a page.
pub(super) const WIDTH: usize = 80;

/// Adds `words` after `head`, wrapped, further lines indented.
pub(super) fn put(text: &mut String, head: &str, words: &str, indent: usize) {
    let lines = wrap(words, WIDTH - indent);
    for (row, words) in lines.iter().enumerate() {
        if row == 0 {
            line(text, &format!("{head}{words}"));
        } else {
            line(text, &format!("{}{words}", " ".repeat(indent)));
        }
    }
}

/// Adds a line without trailing spaces.
pub(super) fn line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Words in lines of at most `width` characters; a longer word has a line of its own. What stands between back-ticks
/// is to be copied and stays in one piece where it fits.
pub(super) fn wrap(words: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in pieces(words) {
        let last = lines.last_mut().expect("there is always a line");
        let length = last.chars().count();
        if length == 0 {
            *last = word;
        } else if length + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(&word);
        } else {
            lines.push(word);
        }
    }
    lines
}

/// What is not torn from the word before it: units, and a plus between two numbers.
const GLUED: [&str; 7] = ["s", "ms", "min", "h", "days", "%", "+"];

/// The words of a text. What stands between back-ticks is one word, and so are a number and its unit.
fn pieces(words: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut open = false;
    for word in words.split(' ') {
        match pieces.last_mut() {
            Some(last) if open || glued(last, word) => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => pieces.push(word.to_owned()),
        }
        open ^= word.matches('`').count() % 2 == 1;
    }
    pieces
}

fn glued(last: &str, word: &str) -> bool {
    let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
    GLUED.contains(&bare) && last.ends_with(|end: char| end.is_ascii_digit()) || last.ends_with(" +")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_together_stays_on_one_line() {
        assert_eq!(wrap("waits of 12 s, 36 + 6", 10), ["waits of", "12 s,", "36 + 6"]);
        assert_eq!(wrap("set `a = { b = 1 }` now", 12), ["set", "`a = { b = 1 }`", "now"]);
    }
}
