//! `slurm-triage baseline`: what the node had when it was admitted, what differs now, and taking it anew.
mod show;

use serde::Serialize;
use triage_core::baseline::{Baseline, Difference, Learned, diff, learn};
use triage_core::checks::{CheckState, CheckWord};
use triage_core::reading::NvmlState;
use triage_core::{NodeName, Stamp};
use triage_ledger::{Filter, Ledger};

use super::people::{begin, no, word};
use crate::args::{BaselineArgs, Common};
use crate::exit::{self, CmdResult};
use crate::render::{self, Page, Table};
use crate::site::Site;
use crate::view;

/// A look older than this is no news of the node: its health check does not run.
const FRESH_S: i64 = 3_600;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    /// When the node was looked at that this is about.
    looked: Option<Stamp>,
    /// True: it was learned by this call.
    learned: bool,
    /// The baseline that holds; null: there is none.
    baseline: Option<&'a Learned>,
    /// What differs from it now, or from the one before when it was just learned; null: not asked for.
    differences: Option<&'a [Difference]>,
}

/// What the last health check saw.
struct Seen {
    baseline: Baseline,
    /// Why it is not fit to be learned from; empty: it is.
    against: Vec<String>,
}

pub(crate) fn run(common: &Common, args: &BaselineArgs) -> CmdResult {
    match (args.learn, &args.reason) {
        (true, Some(reason)) => take(common, reason, args.force),
        _ if args.diff => compare(common),
        _ => tell(common),
    }
}

fn tell(common: &Common) -> CmdResult {
    let site = Site::find(common)?;
    let Some(learned) = site.open()?.baseline()? else { return none(common, &site) };
    if common.json {
        let looked = Some(learned.baseline.at);
        render::json(&Document { looked, baseline: Some(&learned), ..document(&site) })?;
        return Ok(exit::OK);
    }
    render::print(show::page(&site, &learned).text())?;
    Ok(exit::OK)
}

fn compare(common: &Common) -> CmdResult {
    let site = Site::find(common)?;
    let ledger = site.open()?;
    let (learned, seen) = (ledger.baseline()?, seen(&ledger)?);
    drop(ledger);
    let Some(learned) = learned else { return none(common, &site) };
    let Some(seen) = seen else { return no(exit::FINDINGS, &never_looked(&site)) };
    let differences = diff(&learned.baseline, &seen.baseline);
    let status = if differences.is_empty() { exit::OK } else { exit::FINDINGS };
    if common.json {
        let looked = Some(seen.baseline.at);
        let differences = Some(differences.as_slice());
        render::json(&Document { looked, baseline: Some(&learned), differences, ..document(&site) })?;
        return Ok(status);
    }
    let mut page = Page::default();
    page.line(
        0,
        format_args!(
            "{}: the health check of {} against the baseline of {}",
            site.node,
            render::seconds(seen.baseline.at),
            render::seconds(learned.baseline.at)
        ),
    );
    tell_differences(&mut page, &differences);
    render::print(page.text())?;
    Ok(status)
}

fn take(common: &Common, reason: &str, force: bool) -> CmdResult {
    let (site, mut ledger, person) = begin(common)?;
    let word = word(&person, reason);
    let Some(seen) = seen(&ledger)? else { return no(exit::FINDINGS, &never_looked(&site)) };
    if word.now.micros_since(seen.baseline.at) > FRESH_S * 1_000_000 {
        let text = format!(
            "the last health check of {} was at {}: run triage-healthcheck first",
            site.node,
            render::seconds(seen.baseline.at)
        );
        return no(exit::REFUSED, &text);
    }
    if !seen.against.is_empty() && !force {
        let text = format!(
            "{} is not as it should be, and what it is now would be learned as right: {}; mend it, or say --force",
            site.node,
            seen.against.join("; ")
        );
        return no(exit::REFUSED, &text);
    }
    let before = ledger.baseline()?;
    let learned =
        Learned { baseline: seen.baseline, by: person.name.clone(), why: forced(reason, &seen.against) };
    ledger.learn(&learned, &word)?;
    drop(ledger);
    let differences = before.map(|before| diff(&before.baseline, &learned.baseline));
    if common.json {
        let looked = Some(learned.baseline.at);
        let differences = differences.as_deref();
        let base = document(&site);
        render::json(&Document { looked, learned: true, baseline: Some(&learned), differences, ..base })?;
        return Ok(exit::OK);
    }
    let mut page = show::page(&site, &learned);
    match &differences {
        Some(differences) => {
            page.heading("Against the baseline before");
            tell_differences(&mut page, differences);
        }
        None => page.line(0, "it is the first one"),
    }
    render::print(page.text())?;
    Ok(exit::OK)
}

/// What was wrong and learned all the same stays with the reason.
fn forced(reason: &str, against: &[String]) -> String {
    match against {
        [] => reason.to_owned(),
        some => format!("{reason} (forced, although {})", some.join("; ")),
    }
}

/// What the last health check read, as a baseline.
fn seen(ledger: &Ledger) -> anyhow::Result<Option<Seen>> {
    let Some(facts) = ledger.last_facts()? else { return Ok(None) };
    // A sweep of another boot, or of long before the facts, is none of this look.
    let same = |at: Stamp| at.micros_since(facts.at).abs() <= FRESH_S * 1_000_000;
    let reading = ledger.last_reading()?.filter(|reading| reading.boot == facts.boot && same(reading.at));
    let reading = reading.map(|reading| reading.reading);
    let mut against = Vec::new();
    let open = ledger.cases(&Filter { open_only: true, ..Filter::default() })?;
    let open = open.iter().filter(|case| !case.synthetic);
    against.extend(open.map(|case| format!("case {} ({} on {}) is open", case.id, case.code, case.resource)));
    let bad = crate::view::current_checks(ledger.checks()?);
    against.extend(
        bad.iter()
            .filter(|state| speaks_against(state))
            .map(|state| format!("{}: {}", state.name, state.text)),
    );
    if let Some(reading) = reading
        .as_ref()
        .filter(|reading| reading.state != NvmlState::Ok && reading.state != NvmlState::LibraryMissing)
    {
        against.push(format!("NVML could not be read: {}", reading.detail));
    }
    Ok(Some(Seen { baseline: learn(&facts, reading.as_ref()), against }))
}

/// A difference from the very baseline that is to be replaced is no argument against replacing it.
fn speaks_against(state: &CheckState) -> bool {
    state.state == CheckWord::Bad && state.name != "gpu_identity"
}

fn tell_differences(page: &mut Page, differences: &[Difference]) {
    if differences.is_empty() {
        page.line(1, "nothing differs");
        return;
    }
    let mut table = Table::new(&["WHAT", "WAS", "IS"]);
    for difference in differences {
        let of = |value: &Option<String>| value.clone().unwrap_or_default();
        table.row(vec![difference.what.clone(), of(&difference.was), of(&difference.now)]);
    }
    page.table(1, &table);
}

fn none(common: &Common, site: &Site) -> CmdResult {
    if common.json {
        render::json(&document(site))?;
        return Ok(exit::FINDINGS);
    }
    let text = format!(
        "{} has no baseline: slurm-triage baseline --learn --reason '...' takes what the last health check saw",
        site.node
    );
    no(exit::FINDINGS, &text)
}

fn never_looked(site: &Site) -> String {
    format!("no health check has looked at {} yet: run triage-healthcheck first", site.node)
}

fn document(site: &Site) -> Document<'_> {
    Document {
        v: view::VERSION,
        node: &site.node,
        at: site.now,
        looked: None,
        learned: false,
        baseline: None,
        differences: None,
    }
}
