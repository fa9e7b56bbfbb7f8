//! `slurm-triage hold` and `release`: hands off, and on again.
use anyhow::bail;
use serde::Serialize;
use triage_core::{Hold, HoldOn, JobName, NodeName, Stamp};
use triage_ledger::{Filter, Found, Held, JobFilter, Ledger};

use super::{begin, no, word};
use crate::args::{Common, HoldArgs, ReleaseArgs};
use crate::exit::{self, CmdResult};
use crate::render::{self, Page};
use crate::site::Site;
use crate::view::{self, HoldView};

/// Fewest hex digits that are taken for the beginning of a case's id.
const SHORTEST_PREFIX: usize = 4;

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    by: &'a str,
    /// `node`, `case` or `job`.
    kind: &'static str,
    name: String,
    /// False: it was so already.
    changed: bool,
    /// What stands now; null after a release.
    hold: Option<HoldView<'a>>,
    /// What stood before.
    before: Option<HoldView<'a>>,
}

pub(crate) fn hold(common: &Common, args: &HoldArgs) -> CmdResult {
    let (site, mut ledger, person) = begin(common)?;
    let on = match resolve(&site, &ledger, &args.what)? {
        Ok(on) => on,
        Err(text) => return no(exit::FINDINGS, &text),
    };
    let word = word(&person, &args.reason);
    let until = args.length.map(|micros| word.now.plus_micros(micros));
    let held = ledger.hold(&on, until, &word)?;
    let standing = ledger.holds(word.now)?.into_iter().find(|hold| hold.on == on);
    let was_here = was_here(&ledger, &on)?;
    drop(ledger);
    let (before, changed) = match held {
        Held::Now(before) => (before, true),
        Held::Already(_) => (standing.clone(), false),
    };
    if common.json {
        return answer(&site, word.now, &person.name, &on, changed, standing.as_ref(), before.as_ref());
    }
    let mut page = Page::default();
    if let Some(standing) = &standing {
        let already = if changed { "" } else { "already: " };
        page.line(0, format_args!("{}: {already}{}", site.node, standing.sentence()));
    }
    page.line(1, effect(&site, &on));
    if let Some(before) = before.filter(|_| changed) {
        page.line(1, format_args!("it replaces: {}", before.sentence()));
    }
    if !was_here {
        page.line(1, "no run of that job has been on this node yet: is the number right?");
    }
    render::print(page.text())?;
    Ok(exit::OK)
}

pub(crate) fn release(common: &Common, args: &ReleaseArgs) -> CmdResult {
    let (site, mut ledger, person) = begin(common)?;
    let on = match resolve(&site, &ledger, &args.what)? {
        Ok(on) => on,
        Err(text) => return no(exit::FINDINGS, &text),
    };
    let word = word(&person, &args.reason);
    let held = ledger.release(&on, &word)?;
    drop(ledger);
    let (Held::Now(before) | Held::Already(before)) = &held;
    let changed = matches!(held, Held::Now(_));
    if common.json {
        return answer(&site, word.now, &person.name, &on, changed, None, before.as_ref());
    }
    let mut page = Page::default();
    match before {
        Some(before) => page.line(0, format_args!("{}: released: {}", site.node, before.sentence())),
        None => page.line(0, format_args!("{}: {on} is not on hold", site.node)),
    }
    render::print(page.text())?;
    Ok(exit::OK)
}

fn answer(
    site: &Site,
    at: Stamp,
    by: &str,
    on: &HoldOn,
    changed: bool,
    hold: Option<&Hold>,
    before: Option<&Hold>,
) -> CmdResult {
    render::json(&Document {
        v: view::VERSION,
        node: &site.node,
        at,
        by,
        kind: on.kind(),
        name: on.name(),
        changed,
        hold: hold.map(HoldView::from),
        before: before.map(HoldView::from),
    })?;
    Ok(exit::OK)
}

fn effect(site: &Site, on: &HoldOn) -> String {
    let what = match on {
        HoldOn::Node(node) => format!("nothing is done to {node}, nor by it to its jobs"),
        HoldOn::Case(case) => format!("nothing is done because of case {case}"),
        HoldOn::Job(job) => format!("nothing is done to job {job} by {}", site.node),
    };
    format!("{what}: it is still decided and written down, held by operator_hold")
}

fn was_here(ledger: &Ledger, on: &HoldOn) -> anyhow::Result<bool> {
    let HoldOn::Job(job) = on else { return Ok(true) };
    let job = JobFilter { job: job.job, task: job.task };
    let one = Filter { job: Some(job), limit: Some(1), ..Filter::default() };
    Ok(!ledger.spans(&one)?.is_empty())
}

/// What a name means, in the order of `why`: a node, a job, a case. The inner error is for the person.
fn resolve(site: &Site, ledger: &Ledger, text: &str) -> anyhow::Result<Result<HoldOn, String>> {
    let (kind, name) = match text.split_once(':') {
        Some((kind @ ("node" | "job" | "case"), name)) => (Some(kind), name),
        _ => (None, text),
    };
    if name.is_empty() {
        bail!("no name: give a node, a job or a case");
    }
    let wanted = |this: &str| kind.is_none_or(|kind| kind == this);
    if wanted("node") && name == site.node.as_str() {
        return Ok(Ok(HoldOn::Node(site.node.clone())));
    }
    if kind == Some("node") {
        return Ok(Err(format!("this is the ledger of {}: hold {name} on that node", site.node)));
    }
    let bare = name.split_once('.').map_or(name, |(job, _)| job);
    if let Some(job) = JobName::parse(bare).filter(|_| wanted("job")) {
        return Ok(Ok(HoldOn::Job(job)));
    }
    if kind == Some("job") {
        return Ok(Err(format!("{name} is no job: use 4711, or 4700_3 for a task of an array")));
    }
    let found = if name.len() >= SHORTEST_PREFIX { ledger.case(name)? } else { Found::None };
    Ok(match found {
        // A closed case as well: our drain for it may still be there to be lifted.
        Found::One(case) => Ok(HoldOn::Case(case.id)),
        Found::Several(ids) => Err(format!("several cases begin with {name}: {}", ids.join(", "))),
        Found::None => Err(format!(
            "nothing is known of \"{name}\" here: give this node ({}), a job, or a case; another node is held on that node",
            site.node
        )),
    })
}
