//! `slurm-triage diagnose`: why a job ended, and whose fault it was. Of an incident bundle that needs no Slurm, no ledger and
//! no configuration; of a job of this node it takes them all.
use std::path::{Path, PathBuf};

use clap::Args;
use triage_bundle::{Discounted, Report};
use triage_core::policy::Policy;

use super::live::{Live, LiveArgs};
use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::render::{self, Page};
use crate::site::Site;

/// Most entries of a list shown to a person; JSON has all.
const SHOWN: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct DiagnoseArgs {
    /// A bundle (a folder with an incident.toml in it), else a job that ran on this node: 4711, 4700_3.
    #[arg(value_name = "BUNDLE|JOB")]
    pub(crate) what: PathBuf,

    #[command(flatten)]
    pub(crate) live: LiveArgs,
}

pub(crate) fn run(common: &Common, args: &DiagnoseArgs) -> CmdResult {
    let report = if is_job(&args.what) {
        live(common, &args.what.to_string_lossy(), &args.live)?
    } else {
        triage_bundle::diagnose(&args.what, &triage_catalog::embedded())?
    };
    if common.json {
        render::json(&report)?;
    } else {
        render::print(page(&report).text())?;
    }
    Ok(exit::OK)
}

/// A path that is there, or that looks like one, is a bundle.
fn is_job(what: &Path) -> bool {
    let is_name = what.components().count() == 1 && !what.to_string_lossy().contains('/');
    is_name && !what.exists()
}

/// The policy is the one that is shipped, as for a bundle: what this site's policy did is told by `why`.
fn live(common: &Common, job: &str, args: &LiveArgs) -> anyhow::Result<Report> {
    let site = Site::find(common)?;
    let (catalog, complaint) = site.catalog();
    if let Some(complaint) = complaint {
        render::complain(&format!("{complaint}; the shipped catalogue tells what lines mean"));
    }
    let policy = Policy::default();
    let bundle = Live::find(&site, (&catalog, &policy), job, args)?.read();
    Ok(triage_bundle::explain(&bundle, &catalog, &policy))
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
