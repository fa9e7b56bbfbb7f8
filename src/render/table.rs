//! Columns that line up. No colour, no frame: it is read in a pager, a mail, a ticket.
use super::escape;

/// A table for people.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these column heads.
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; control characters are escaped, nothing is shown as `-`.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        let shown = |cell: &String| if cell.is_empty() { "-".to_owned() } else { escape(cell).into_owned() };
        self.rows.push(cells.iter().map(shown).collect());
    }

    /// Head and rows; the last column is not padded.
    pub(crate) fn lines(&self) -> Vec<String> {
        let widths: Vec<usize> = (0..self.head.len()).map(|column| self.width(column)).collect();
        let head: Vec<String> = self.head.iter().map(|h| (*h).to_owned()).collect();
        std::iter::once(&head).chain(&self.rows).map(|row| aligned(row, &widths)).collect()
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(self.head.get(column).map(|h| h.len())).max().unwrap_or(0)
    }
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count()) + 2));
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_escapes_do_not_break_them() {
        let mut table = Table::new(&["NODE", "TEXT"]);
        table.row(vec!["n1".to_owned(), "a\u{1b}b".to_owned()]);
        table.row(vec!["gpu-12".to_owned(), String::new()]);
        assert_eq!(table.lines(), ["NODE    TEXT", "n1      a\\u{1b}b", "gpu-12  -"]);
    }
}
