//! `slurm-triage trail`: who did what, when and why.
use serde::Serialize;
use triage_core::{NodeName, Stamp};
use triage_ledger::Found;

use super::lists;
use crate::args::{Common, TrailArgs};
use crate::exit::{self, CmdResult};
use crate::render::{self, Table};
use crate::site::Site;
use crate::view::{self, TrailView};

/// Most characters of the reason shown in the table.
const WHY: usize = 100;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    more: bool,
    trail: Vec<TrailView<'a>>,
}

pub(crate) fn run(common: &Common, args: &TrailArgs) -> CmdResult {
    let site = Site::find(common)?;
    let ledger = site.open()?;
    let list = args.list();
    let mut filter = list.filter(&site);
    if let Some(case) = &args.case {
        match ledger.case(case)? {
            Found::One(case) => filter.case = Some(case.id),
            Found::None => {
                render::complain(&format!("there is no case {case} in the ledger of {}", site.node));
                return Ok(exit::FINDINGS);
            }
            Found::Several(ids) => {
                render::complain(&format!("several cases begin with {case}: {}", ids.join(", ")));
                return Ok(exit::FINDINGS);
            }
        }
    }
    let latest = list.latest(ledger.audit(&filter)?);
    drop(ledger);
    let trail: Vec<TrailView<'_>> = latest.rows.iter().map(TrailView::from).collect();
    if common.json {
        let document =
            Document { v: view::VERSION, node: &site.node, at: site.now, more: latest.more, trail };
        render::json(&document)?;
        return Ok(exit::OK);
    }
    let table = (!trail.is_empty()).then(|| table(&trail));
    let page = lists::page(&site.node, "row on the trail", table.as_ref(), latest.more);
    render::print(page.text())?;
    Ok(exit::OK)
}

fn table(trail: &[TrailView<'_>]) -> Table {
    let mut table = Table::new(&["WHEN", "WHO", "WHAT", "ABOUT", "OUTCOME", "WHY"]);
    for row in trail {
        let outcome = row.outcome();
        // The text of an action begins with what came of it, for those who read it alone.
        let why = row.why.strip_prefix(&format!("{outcome}: ")).unwrap_or(row.why);
        table.row(vec![
            render::seconds(row.at),
            row.who(),
            render::marked(row.what, row.synthetic),
            row.subject.to_owned(),
            outcome,
            render::clip(why, WHY).into_owned(),
        ]);
    }
    table
}
