//! A page of text for people, built up and printed once. Every line is escaped on its way in.
use std::fmt::Display;

use super::{Table, escape};

/// Columns of one step of indentation.
const STEP: usize = 2;

/// Columns of a line of running text. Lines of a log are never broken.
const WIDTH: usize = 110;

/// Columns that running text has at least, whatever stands before it.
const MIN_ROOM: usize = 30;

/// A page in the making.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
}

impl Page {
    /// A line, `depth` steps in. A line feed in it is shown as one, so that no text can pose as a line of ours.
    pub(crate) fn line(&mut self, depth: usize, text: impl Display) {
        let text = text.to_string();
        self.text.extend(std::iter::repeat_n(' ', depth * STEP));
        self.text.push_str(escape(text.trim_end()).as_ref());
        self.text.push('\n');
    }

    /// Running text behind a label, broken into lines of at most [`WIDTH`] columns that line up behind it.
    pub(crate) fn paragraph(&mut self, depth: usize, label: &str, text: &str) {
        let hang = if label.is_empty() { 0 } else { label.chars().count() + 1 };
        let room = WIDTH.saturating_sub(depth * STEP + hang).max(MIN_ROOM);
        let mut lead = label.to_owned();
        for line in broken(text, room) {
            self.line(depth, if hang == 0 { line } else { format!("{lead} {line}") });
            lead = " ".repeat(hang.saturating_sub(1));
        }
    }

    /// A heading, with an empty line before it.
    pub(crate) fn heading(&mut self, text: impl Display) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line(0, text);
    }

    /// A table, `depth` steps in.
    pub(crate) fn table(&mut self, depth: usize, table: &Table) {
        for line in table.lines() {
            self.line(depth, line);
        }
    }

    /// The page as it stands.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// `text` in lines of at most `room` columns; a longer word has a line of its own.
fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_text_lines_up_behind_its_label() {
        let mut page = Page::default();
        page.paragraph(1, "What  ", &"word ".repeat(50));
        let lines: Vec<&str> = page.text().lines().collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
        assert!(lines[0].starts_with("  What   word") && lines[1].starts_with("         word"), "{lines:#?}");
        assert_eq!(page.text().matches("word").count(), 50);
    }

    #[test]
    fn a_word_longer_than_the_line_is_kept_whole() {
        let mut page = Page::default();
        page.paragraph(0, "", &format!("a {} b", "x".repeat(500)));
        assert_eq!(page.text(), format!("a\n{}\nb\n", "x".repeat(500)));
        page.paragraph(0, "nothing", "");
        assert!(!page.text().contains("nothing"));
    }

    #[test]
    fn a_text_with_a_line_feed_stays_one_line() {
        let mut page = Page::default();
        page.line(1, "a\nnext: all is well\u{1b}[0m");
        assert_eq!(page.text(), "  a\\nnext: all is well\\u{1b}[0m\n");
    }
}
