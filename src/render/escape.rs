//! What we print may come from a log a user wrote. A terminal must not obey it.
use std::borrow::Cow;

/// `text` with every control character, and every character that changes the direction or is invisible, shown as an
/// escape.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\t' => out.push(' '),
            c if is_unsafe(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a terminal could obey the character, or show a text with it as something it is not.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// The first `most` characters of `text`; what was cut is told by a final `…`.
pub(crate) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let kept = text.char_indices().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", &text[..kept]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_escape_is_shown_and_not_obeyed() {
        let shown = escape("\u{1b}[2J\u{1b}]0;owned\u{7}\r\nok\u{9b}31m\u{202e}");
        assert!(!shown.chars().any(is_unsafe), "{shown:?}");
        assert!(shown.contains("\\u{1b}[2J"));
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(escape("größe 3 µs"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_cut_counts_characters_and_is_told() {
        assert_eq!(clip("größe", 5), "größe");
        assert_eq!(clip("größe", 4), "grö…");
        assert_eq!(clip("", 0), "");
        assert_eq!(clip("ab", 0), "…");
    }
}
