//! Texts of the command line that hold several values.

/// The parts between commas that are in no bracket, brace or quote.
pub(super) fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut depth, mut quote) = (Vec::new(), String::new(), 0_u32, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(std::mem::take(&mut part).trim().to_owned());
                continue;
            }
            (Some(_) | None, _) => {}
        }
        part.push(c);
    }
    parts.push(part.trim().to_owned());
    parts
}
