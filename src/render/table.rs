//! Columns that line up. No colour, no frame: it is read in a pager, a mail, a ticket.
use std::io::{self, Write};

use super::escape;

/// A table for people.
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these column heads.
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; control characters are escaped.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| escape(cell).into_owned()).collect());
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes head and rows; the last column is not padded.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.head.len()).map(|column| self.width(column)).collect();
        let head: Vec<String> = self.head.iter().map(|h| (*h).to_owned()).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count()) + 2));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(self.head.get(column).map(|h| h.len())).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_escapes_do_not_break_them() {
        let mut table = Table::new(&["NODE", "TEXT"]);
        table.row(vec!["n1".to_owned(), "a\u{1b}b".to_owned()]);
        table.row(vec!["gpu-12".to_owned(), "c".to_owned()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "NODE    TEXT\nn1      a\\u{1b}b\ngpu-12  c\n");
    }
}
