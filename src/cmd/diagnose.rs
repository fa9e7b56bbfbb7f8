//! `slurm-triage diagnose`: why the job of an incident bundle ended, and whose fault it was. Needs no Slurm, no ledger and
//! no configuration.
use std::path::PathBuf;

use clap::Args;
use triage_bundle::{Discounted, Report};

use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::render::{self, Page};

/// Most entries of a list shown to a person; JSON has all.
const SHOWN: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct DiagnoseArgs {
    /// The bundle: a folder with an incident.toml in it.
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
}

pub(crate) fn run(common: &Common, args: &DiagnoseArgs) -> CmdResult {
    let report = triage_bundle::diagnose(&args.bundle, &triage_catalog::embedded())?;
    if common.json {
        render::json(&report)?;
    } else {
        render::print(page(&report).text())?;
    }
    Ok(exit::OK)
}

fn page(report: &Report) -> Page {
    let mut page = Page::default();
    for line in &report.story {
        page.line(0, line);
    }
    if !report.evidence.is_empty() {
        page.heading("Evidence");
        for evidence in report.evidence.iter().take(SHOWN) {
            let told = [evidence.time.as_deref(), evidence.node.as_deref(), Some(evidence.code.as_str())];
            let told: Vec<&str> = told.into_iter().flatten().collect();
            page.line(1, format_args!("{}: {}", told.join(" "), render::clip(&evidence.text, 160)));
        }
        more(&mut page, report.evidence.len());
    }
    if !report.discounted.is_empty() {
        page.heading("Does not count");
        for discounted in report.discounted.iter().take(SHOWN) {
            page.line(1, one_discounted(discounted));
        }
        more(&mut page, report.discounted.len());
    }
    if !report.blind.is_empty() {
        page.heading("Could not be read");
        for blind in report.blind.iter().take(SHOWN) {
            page.line(1, blind);
        }
        more(&mut page, report.blind.len());
    }
    page
}

fn one_discounted(discounted: &Discounted) -> String {
    let node = discounted.node.as_ref().map_or_else(String::new, |node| format!("{node} "));
    let times = if discounted.count > 1 { format!(" ({} times)", discounted.count) } else { String::new() };
    format!("{node}{}{times}: {}", discounted.code, discounted.why)
}

fn more(page: &mut Page, all: usize) {
    if let Some(more) = all.checked_sub(SHOWN).filter(|more| *more > 0) {
        page.line(1, format_args!("and {more} more, in --json"));
    }
}
