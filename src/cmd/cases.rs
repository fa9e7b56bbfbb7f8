//! `slurm-triage cases`: what is claimed to be broken.
use serde::Serialize;
use triage_core::{Case, NodeName, Stamp};
use triage_ledger::Filter;

use super::lists;
use crate::args::{Common, ListArgs};
use crate::exit::{self, CmdResult};
use crate::render::{self, Table};
use crate::site::Site;
use crate::view::{self, GoneView, HoldView};

/// Most characters of the reason shown in the table.
const WHY: usize = 80;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    more: bool,
    cases: &'a [Case],
    /// Open cases whose check looks no more.
    gone_checks: &'a [GoneView<'a>],
    /// What people have put on hold.
    holds: Vec<HoldView<'a>>,
}

pub(crate) fn run(common: &Common, args: &ListArgs) -> CmdResult {
    let site = Site::find(common)?;
    let filter = Filter { open_only: !args.all, ..args.filter(&site) };
    let ledger = site.open()?;
    let (latest, holds) = (args.latest(ledger.cases(&filter)?), ledger.holds(site.now)?);
    let states = ledger.checks()?;
    drop(ledger);
    let gone = GoneView::all(&latest.rows, &site.config.checks, &states);
    let holds: Vec<HoldView<'_>> = holds.iter().map(HoldView::from).collect();
    if common.json {
        let document = Document {
            v: view::VERSION,
            node: &site.node,
            at: site.now,
            more: latest.more,
            cases: &latest.rows,
            gone_checks: &gone,
            holds,
        };
        render::json(&document)?;
        return Ok(exit::OK);
    }
    let table = (!latest.rows.is_empty()).then(|| table(&latest.rows, site.now));
    let kind = if args.all { "case" } else { "open case" };
    let mut page = lists::page(&site.node, kind, table.as_ref(), latest.more);
    gone.iter().for_each(|gone| page.line(0, gone.line()));
    if !holds.is_empty() {
        page.heading("On hold");
        page.table(0, &hold_table(&holds));
    }
    render::print(page.text())?;
    Ok(exit::OK)
}

/// What is on hold as a table.
pub(crate) fn hold_table(holds: &[HoldView<'_>]) -> Table {
    let mut table = Table::new(&["ON", "SINCE", "UNTIL", "BY", "REASON"]);
    for hold in holds {
        table.row(vec![
            format!("{} {}", hold.kind, hold.name),
            render::seconds(hold.at),
            hold.until.map_or_else(|| "it is released".to_owned(), render::seconds),
            hold.by.to_owned(),
            hold.reason.to_owned(),
        ]);
    }
    table
}

/// The cases as a table.
pub(crate) fn table(cases: &[Case], now: Stamp) -> Table {
    let head = ["CASE", "STATE", "CODE", "RESOURCE", "CLASS", "SURE", "OPENED", "LAST SEEN", "JOB", "WHY"];
    let mut table = Table::new(&head);
    for case in cases {
        table.row(vec![
            case.id.to_string(),
            state(case),
            render::marked(&case.code, case.synthetic),
            case.resource.to_string(),
            case.class.to_string(),
            case.confidence.to_string(),
            render::seconds(case.opened_at),
            render::ago(now, case.last_seen),
            case.run.as_ref().map(ToString::to_string).unwrap_or_default(),
            render::clip(&case.why, WHY).into_owned(),
        ]);
    }
    table
}

/// Where the case stands, in a word or three.
pub(crate) fn state(case: &Case) -> String {
    let stood_down = case.stood_down && case.is_open() && !case.synthetic;
    format!("{}{}", case.state, if stood_down { ", stood down" } else { "" })
}
