//! `slurm-triage events`: what was seen.
use serde::Serialize;
use triage_core::{Event, NodeName, Stamp};

use super::lists;
use crate::args::{Common, ListArgs};
use crate::exit::{self, CmdResult};
use crate::render::{self, Table};
use crate::site::Site;
use crate::view;

/// Most characters of a line shown in the table; all of it is in `--json` and in `why`.
const TEXT: usize = 100;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    more: bool,
    events: &'a [Event],
}

pub(crate) fn run(common: &Common, args: &ListArgs) -> CmdResult {
    let site = Site::find(common)?;
    let latest = args.latest(site.open()?.events(&args.filter(&site))?);
    if common.json {
        let document = Document {
            v: view::VERSION,
            node: &site.node,
            at: site.now,
            more: latest.more,
            events: &latest.rows,
        };
        render::json(&document)?;
        return Ok(exit::OK);
    }
    let table = (!latest.rows.is_empty()).then(|| table(&latest.rows));
    let page = lists::page(&site.node, "event", table.as_ref(), latest.more);
    render::print(page.text())?;
    Ok(exit::OK)
}

fn table(events: &[Event]) -> Table {
    let mut table = Table::new(&["TIME", "CODE", "RESOURCE", "CLASS", "ROLE", "SOURCE", "TEXT"]);
    for event in events {
        table.row(vec![
            render::millis(event.at),
            render::marked(&event.code, event.synthetic),
            event.resource.to_string(),
            event.class.to_string(),
            event.role.to_string(),
            event.source.to_string(),
            render::clip(&event.text, TEXT).into_owned(),
        ]);
    }
    table
}
