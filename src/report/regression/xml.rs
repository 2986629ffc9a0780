//! Text inside XML 1.0: what would be markup is escaped, and what XML cannot hold at all is replaced.

/// Text for the content of an element or between the quotes of an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_what_cannot_stand_there_is_replaced() {
        assert_eq!(escaped("<a b=\"c\" d='e'> & f"), "&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt; &amp; f");
        assert_eq!(escaped("a\nb\u{0}\u{1b}\u{7f}\u{ffff}é"), "a&#10;b\u{fffd}\u{fffd}\u{fffd}\u{fffd}é");
    }
}
