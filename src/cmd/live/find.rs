//! Which run is meant.
use std::collections::BTreeSet;
use triage_core::arrange::Gather as _;

use anyhow::bail;
use triage_core::JobSpan;
use triage_ledger::{Filter, JobFilter, Ledger};

use crate::site::Site;

/// Most runs looked at: an array may have thousands.
const MOST: u32 = 2000;

/// Most names told.
const NAMED: usize = 5;

/// The latest run of the job on this node.
pub(super) fn span(ledger: &Ledger, site: &Site, name: &str) -> anyhow::Result<JobSpan> {
    // A job's name may come with its step: `4711.0`, `4711.batch`.
    let bare = name.split_once('.').map_or(name, |(job, _)| job);
    let Some(job) = JobFilter::parse(bare) else {
        bail!("{name}: no such folder, and no job: name a bundle, or a job as 4711 or 4700_3");
    };
    let filter =
        Filter { job: Some(job), node: Some(site.node.clone()), limit: Some(MOST), ..Filter::default() };
    let spans = ledger.spans(&filter).map_err(crate::site::explained)?;
    let names: BTreeSet<String> = spans.iter().map(name_of).into_set();
    if names.len() > 1 {
        let some: Vec<&str> = names.iter().map(String::as_str).take(NAMED).collect();
        bail!(
            "{name}: {} jobs of this node have that number: name one, such as {}",
            names.len(),
            some.join(", ")
        );
    }
    match spans.into_iter().next_back() {
        Some(span) => Ok(span),
        None => bail!(
            "{name}: the ledger of {} knows no such job: ask on the job's first node, or name a bundle",
            site.node
        ),
    }
}

/// A component of a het job has a number of its own.
fn name_of(span: &JobSpan) -> String {
    match span.run.array {
        Some(array) => format!("{}_{}", array.job, array.task),
        None => span.run.job.to_string(),
    }
}
