//! What the lists share.
use triage_core::NodeName;
use triage_ledger::Filter;

use crate::args::ListArgs;
use crate::render::{Page, Table};
use crate::site::Site;

/// The records asked for, oldest first.
#[derive(Debug)]
pub(crate) struct Latest<T> {
    /// At most as many as asked for.
    pub(crate) rows: Vec<T>,
    /// There are older ones.
    pub(crate) more: bool,
}

impl ListArgs {
    /// What the ledger is asked: one more than is shown, so that it is known whether there are more.
    pub(crate) fn filter(&self, site: &Site) -> Filter {
        Filter {
            since: self.since.map(|when| when.resolve(site.now)),
            job: self.job,
            code: self.code.clone(),
            limit: (!self.all).then(|| self.limit.saturating_add(1)),
            ..Filter::default()
        }
    }

    /// The latest so many of `rows`, which are oldest first.
    pub(crate) fn latest<T>(&self, mut rows: Vec<T>) -> Latest<T> {
        let limit = if self.all { usize::MAX } else { usize::try_from(self.limit).unwrap_or(usize::MAX) };
        let surplus = rows.len().saturating_sub(limit);
        rows.drain(..surplus);
        Latest { rows, more: surplus > 0 }
    }
}

/// What to say under a list that was cut.
const CUT: &str = "there are older ones: --limit N or --all shows them";

/// The page of a list: its table, or that there is none such on the node, and whether it was cut.
pub(crate) fn page(node: &NodeName, kind: &str, table: Option<&Table>, more: bool) -> Page {
    let mut page = Page::default();
    match table {
        Some(table) => page.table(0, table),
        None => page.line(0, format_args!("{node}: no such {kind}")),
    }
    if more {
        page.line(0, CUT);
    }
    page
}
