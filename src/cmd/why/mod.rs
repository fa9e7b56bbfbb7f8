//! `slurm-triage why`: the whole story of a job, a case or a node, from the ledger alone.
mod document;
mod gather;
mod next;
mod resolve;
mod story;
mod tell;

use crate::args::{Common, WhyArgs};
use crate::exit::{self, CmdResult};
use crate::render;
use crate::site::Site;
use crate::view::PolicyView;
use resolve::Resolved;

pub(crate) fn run(common: &Common, args: &WhyArgs) -> CmdResult {
    let site = Site::find(common)?;
    let (catalog, complaint) = site.catalog();
    let ledger = site.open()?;
    let (subject, also) = match resolve::resolve(&ledger, &site, &args.what)? {
        Resolved::One { subject, also } => (subject, also),
        Resolved::No(no) => {
            drop(ledger);
            if common.json {
                render::json(&document::Unknown::new(&site, &args.what, &no))?;
            } else {
                render::print(no.page(&site, &args.what).text())?;
            }
            return Ok(exit::FINDINGS);
        }
    };
    let story = gather::gather(&ledger, &site, &catalog, subject)?;
    drop(ledger);
    if let Some(complaint) = complaint {
        render::complain(&format!("{complaint}; the shipped catalogue explains the codes"));
    }
    let next = next::next(&story, &PolicyView::load(&site));
    if common.json {
        render::json(&document::Document::new(&site, &args.what, &also, &story, &next))?;
    } else {
        render::print(tell::page(&story, &site, &also, &next).text())?;
    }
    Ok(exit::OK)
}
