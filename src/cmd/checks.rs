//! `slurm-triage checks`: which state checks there are, and what each found last.
use std::time::Duration;

use serde::Serialize;
use triage_core::{NodeName, Stamp};

use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::render::{self, Page, Table};
use crate::site::Site;
use crate::view::{self, CheckView};

/// Most characters of what a check found shown in the table.
const TEXT: usize = 100;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    /// No check finds something bad, and none is blind.
    well: bool,
    checks: &'a [CheckView<'a>],
}

pub(crate) fn run(common: &Common) -> CmdResult {
    let site = Site::find(common)?;
    let states = view::current_checks(site.open()?.checks()?);
    let checks = CheckView::all(&site.config.checks, &states);
    let well = !checks.iter().any(CheckView::wants_attention);
    if common.json {
        render::json(&Document { v: view::VERSION, node: &site.node, at: site.now, well, checks: &checks })?;
    } else {
        let mut page = Page::default();
        page.table(0, &table(&checks, site.now));
        render::print(page.text())?;
    }
    Ok(if well { exit::OK } else { exit::FINDINGS })
}

/// The checks as a table.
pub(crate) fn table<'a>(checks: impl IntoIterator<Item = &'a CheckView<'a>>, now: Stamp) -> Table {
    let mut table = Table::new(&["CHECK", "STATE", "LOOKED", "COST", "WHERE", "ACTION", "VALUE", "FOUND"]);
    for check in checks {
        let state = check.state.unwrap_or("never looked");
        let held = if check.mode == "monitor" { " (monitor)" } else { "" };
        table.row(vec![
            check.name.to_owned(),
            if check.wants_attention() { state.to_uppercase() } else { state.to_owned() },
            check.last.map(|at| render::ago(now, at)).unwrap_or_default(),
            check.cost_us.map(|us| render::duration(Duration::from_micros(us))).unwrap_or_default(),
            check.at.join(","),
            format!("{}{held}", check.action),
            check.value.unwrap_or_default().to_owned(),
            render::clip(check.text, TEXT).into_owned(),
        ]);
    }
    table
}
