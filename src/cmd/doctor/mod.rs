//! `slurm-triage doctor`: is everything set up as it should be, and what to mend where it is not.
//!
//! A check may meet what it is to find: a dead disk, a controller that does not answer, a GPU that blocks in the
//! kernel. So each runs in a process of its own, all at once and each under a deadline; one that does not come back is
//! killed, or left behind, and that is its finding.
mod catalog;
mod checks;
mod clock;
mod config;
mod elf;
mod finding;
mod kernel_log;
mod ledger;
mod nvml;
mod parts;
mod paths;
mod plugin;
mod plugstack;
mod policy;
mod slurm;
mod supervise;

use serde::Serialize;
use triage_core::{NodeName, Stamp};

use crate::args::{Common, DoctorArgs};
use crate::exit::{self, CmdResult};
use crate::render::{self, Page};
use crate::site::Site;
use crate::view;
use finding::{Finding, Level};

pub(crate) use parts::Part;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    /// Nothing is to be mended.
    well: bool,
    findings: &'a [Finding],
}

pub(crate) fn run(common: &Common, args: &DoctorArgs) -> CmdResult {
    if let Some(part) = args.here {
        render::json(&part.check(common, args.offline))?;
        return Ok(exit::OK);
    }
    let site = parts::site(common)?;
    let asked: Vec<Part> = if args.only.is_empty() { Part::ALL.to_vec() } else { args.only.clone() };
    let findings = supervise::all(common, &site, args.offline, &asked);
    let well = findings.iter().all(|finding| finding.level < Level::Warn);
    if common.json {
        let document =
            Document { v: view::VERSION, node: &site.node, at: site.now, well, findings: &findings };
        render::json(&document)?;
    } else {
        render::print(page(&findings, &site).text())?;
    }
    Ok(if well { exit::OK } else { exit::FINDINGS })
}

fn page(findings: &[Finding], site: &Site) -> Page {
    let mut page = Page::default();
    for finding in findings {
        let level = if finding.level < Level::Warn {
            finding.level.to_string()
        } else {
            finding.level.to_string().to_uppercase()
        };
        let label = format!("{level:<4}  {:<10}", finding.part.to_string());
        page.paragraph(0, &label, &finding.what);
        page.paragraph(0, &format!("{:<16}", ""), &finding.remedy);
    }
    let bad = findings.iter().filter(|finding| finding.level >= Level::Warn).count();
    page.heading(match bad {
        0 => format!("{}: nothing to mend", site.node),
        1 => format!("{}: 1 thing to mend", site.node),
        n => format!("{}: {n} things to mend", site.node),
    });
    page
}
