//! `slurm-triage jobs`: which jobs ran here and how they ended.
use std::collections::BTreeSet;
use triage_core::arrange::Gather as _;

use serde::Serialize;
use triage_core::{JobSpan, NodeName, RunId, Stamp, Verdict};
use triage_ledger::{Filter, Ledger};

use super::lists::{self, Latest};
use crate::args::{Common, ListArgs};
use crate::exit::{self, CmdResult};
use crate::render::{self, Table};
use crate::site::Site;
use crate::view::{self, JobView};

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    more: bool,
    jobs: Vec<JobView<'a>>,
}

pub(crate) fn run(common: &Common, args: &ListArgs) -> CmdResult {
    let site = Site::find(common)?;
    let (latest, verdicts) = read(&site.open()?, &site, args)?;
    let jobs: Vec<JobView<'_>> = latest.rows.iter().map(|span| JobView::new(span, &verdicts)).collect();
    if common.json {
        let document = Document { v: view::VERSION, node: &site.node, at: site.now, more: latest.more, jobs };
        render::json(&document)?;
        return Ok(exit::OK);
    }
    let table = (!jobs.is_empty()).then(|| table(&jobs));
    let page = lists::page(&site.node, "job", table.as_ref(), latest.more);
    render::print(page.text())?;
    Ok(exit::OK)
}

fn read(ledger: &Ledger, site: &Site, args: &ListArgs) -> anyhow::Result<(Latest<JobSpan>, Vec<Verdict>)> {
    let asked = args.filter(site);
    let spans = match &args.code {
        // Runs carry no code; the cases that met them do.
        Some(_) => {
            let met = ledger.cases(&Filter { since: None, limit: None, ..asked.clone() })?;
            let met: BTreeSet<RunId> = met.into_iter().filter_map(|case| case.run).into_set();
            let mut spans = ledger.spans(&Filter { limit: None, ..asked.clone() })?;
            spans.retain(|span| met.contains(&span.run));
            spans
        }
        None => ledger.spans(&asked)?,
    };
    let verdicts =
        ledger.verdicts(&Filter { since: spans.first().map(|s| s.run.start), ..Filter::default() })?;
    Ok((args.latest(spans), verdicts))
}

fn table(jobs: &[JobView<'_>]) -> Table {
    let head = [
        "JOB",
        "RESTART",
        "USER",
        "PARTITION",
        "NODES",
        "GPUS",
        "STARTED",
        "ENDED",
        "ENDED WITH",
        "STATE",
        "CAUSE",
    ];
    let mut table = Table::new(&head);
    for job in jobs {
        table.row(vec![
            job.job.clone(),
            job.restart.to_string(),
            job.owner(),
            job.partition.to_owned(),
            job.nodes.len().max(1).to_string(),
            gpus(job.gpus),
            render::seconds(job.started),
            job.ended.map_or_else(|| "on the node".to_owned(), render::seconds),
            job.exit.map(render::ending).unwrap_or_default(),
            job.state.to_owned(),
            job.verdict
                .as_ref()
                .map(|v| render::marked(format_args!("{} {}", v.confidence, v.class), v.synthetic))
                .unwrap_or_default(),
        ]);
    }
    table
}

/// `0-3,6`, as Slurm writes lists.
pub(crate) fn gpus(indices: &[u32]) -> String {
    let mut sorted = indices.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let shown = runs.filter_map(|run| match (run.first()?, run.last()?) {
        (first, last) if first == last => Some(first.to_string()),
        (first, last) => Some(format!("{first}-{last}")),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_told_as_slurm_lists_them() {
        for (indices, told) in
            [(&[][..], ""), (&[3], "3"), (&[2, 0, 1, 6, 6], "0-2,6"), (&[0, 2, u32::MAX], "0,2,4294967295")]
        {
            assert_eq!(gpus(indices), told);
        }
    }
}
