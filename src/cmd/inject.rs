//! `slurm-triage inject`: a synthetic fault, for a drill.
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use nix::unistd::{User, getuid};
use serde::Serialize;
use triage_core::classify::prefix;
use triage_core::pipeline::Output;
use triage_core::{Action, Case, CaseState, Event, NodeName, PciAddress, Stamp};
use triage_hooks::ctx::Ctx;
use triage_hooks::drill::{self, Drill, Ended};
use triage_host::clock::{Clock, SystemClock};
use triage_host::proc::Root;
use triage_host::runner::SystemRunner;
use triage_ledger::{Ledger, OpenOptions};

use crate::advice;
use crate::args::{Common, InjectArgs};
use crate::exit::{self, CmdResult};
use crate::render::{self, Page};
use crate::site::{self, LEDGER_WAIT, Site};
use crate::view::{self, DecisionView};

/// How long the pass may take: the controller is asked for this node's record.
const LIMIT: Duration = Duration::from_secs(15);

#[derive(Serialize)]
struct Document<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    /// What is decided may be carried out.
    act: bool,
    events: &'a [Event],
    cases: &'a [Case],
    decisions: Vec<DecisionView<'a>>,
    /// What is left to the next health check to be carried out.
    actions: Vec<&'static str>,
}

#[derive(Serialize)]
struct EndDocument<'a> {
    v: u32,
    node: &'a NodeName,
    at: Stamp,
    ended: Vec<&'a Case>,
}

pub(crate) fn run(common: &Common, args: &InjectArgs) -> CmdResult {
    let site = Site::find(common)?;
    let seams = (&SystemClock as &dyn Clock, &SystemRunner as _);
    let config = (site.config_path.clone(), &site.config);
    let mut ctx = Ctx::new("slurm-triage", config, site.node.clone(), Root::default(), seams, LIMIT)?;
    if args.end {
        return end(common, &site, &ctx);
    }
    if drill::site_acts(&ctx.policy) && !args.act {
        render::complain(
            "policy acts on this node, so a drill has to say that it may: --act lets the next health check drain it, as \
             for a real fault; nothing was recorded",
        );
        return Ok(exit::REFUSED);
    }
    let line = line(args)?;
    let drill = Drill { line: &line, act: args.act, actor: &actor() };
    if let Some(code) = args.code.as_deref().filter(|code| ctx.catalog().entry(code).is_none()) {
        bail!("{code} is not in the catalogue: --line takes any line; nothing was recorded");
    }
    let mut ledger = open(&site)?;
    if let Some(gpu) = args.gpu {
        refuse_unknown(&ledger, &site, gpu)?;
    }
    let output = drill::inject(&mut ctx, &mut ledger, &drill)?;
    tell(common, &site, args.act, &output)?;
    Ok(exit::OK)
}

/// A GPU that the last sweep over NVML did not see is none of this node's. A node that was never swept may have any.
fn refuse_unknown(ledger: &Ledger, site: &Site, gpu: PciAddress) -> anyhow::Result<()> {
    let readings = ledger.readings(1)?;
    let seen: Vec<PciAddress> =
        readings.iter().flat_map(|reading| &reading.reading.gpus).filter_map(|gpu| gpu.pci).collect();
    if seen.is_empty() || seen.contains(&gpu) {
        return Ok(());
    }
    let seen: Vec<String> = seen.iter().map(PciAddress::to_string).collect();
    bail!("{} has no GPU at {gpu}: it has {}; nothing was recorded", site.node, seen.join(", "));
}

/// The ledger, for writing. One that is not there is not begun: the node may be misspelt.
fn open(site: &Site) -> anyhow::Result<Ledger> {
    if !site.ledger.exists() {
        bail!(
            "{}: there is no ledger yet: a drill goes into one that a hook of this node has begun",
            site.ledger.display()
        );
    }
    let max_bytes = u64::from(site.config.ledger.max_mb).saturating_mul(1_000_000);
    let options = OpenOptions { max_bytes, ..OpenOptions::writer(LEDGER_WAIT, SystemClock.now()) };
    Ledger::open(&site.ledger, &options)
        .map_err(site::explained)
        .context("a drill writes into the node's ledger")
}

fn line(args: &InjectArgs) -> anyhow::Result<String> {
    match (&args.line, &args.code, args.gpu) {
        (Some(line), ..) => {
            if line.contains(['\n', '\0']) {
                bail!("the line holds a line feed or a NUL byte: a kernel log line has neither");
            }
            Ok(String::from_utf8_lossy(prefix::peel(line.as_bytes()).text).into_owned())
        }
        (None, Some(code), Some(gpu)) => xid_line(code, gpu),
        // clap asks for one of the two.
        _ => Err(anyhow!("name a code and a GPU, or a line")),
    }
}

/// A line as the driver writes it since r510: bus address without function, process unknown.
fn xid_line(code: &str, gpu: PciAddress) -> anyhow::Result<String> {
    let number = code.strip_prefix("xid.").and_then(|number| number.parse::<u32>().ok());
    let number = number.with_context(|| format!("{code} is no Xid: --code takes xid.N, --line any line"))?;
    let PciAddress { domain, bus, device, .. } = gpu;
    Ok(format!(
        "NVRM: Xid (PCI:{domain:04x}:{bus:02x}:{device:02x}): {number}, pid='<unknown>', name=<unknown>, drill"
    ))
}

/// The person, for the audit.
fn actor() -> String {
    let uid = getuid();
    let name = User::from_uid(uid).ok().flatten().map_or_else(|| format!("uid {uid}"), |user| user.name);
    let plain = |name: &String| !name.is_empty() && name.len() <= 64 && !name.chars().any(char::is_control);
    match std::env::var("SUDO_USER").ok().filter(plain) {
        Some(sudo) => format!("{name} ({sudo} by sudo)"),
        None => name,
    }
}

fn tell(common: &Common, site: &Site, act: bool, output: &Output) -> anyhow::Result<()> {
    if common.json {
        return render::json(&Document {
            v: view::VERSION,
            node: &site.node,
            at: SystemClock.now(),
            act,
            events: &output.events,
            cases: &output.cases,
            decisions: output.decisions.iter().map(DecisionView::from).collect(),
            actions: kinds(output),
        });
    }
    let mut page = Page::default();
    let leave = if act { "it may act" } else { "nothing comes of it" };
    page.line(0, format_args!("{}: a drill is recorded; {leave}", site.node));
    for event in &output.events {
        page.line(1, format_args!("event: {} on {}", render::marked(&event.code, true), event.resource));
    }
    for case in &output.cases {
        page.line(
            1,
            format_args!(
                "case {}: {}, {} {}",
                render::marked(&case.id, case.synthetic),
                case.state,
                case.confidence,
                case.class
            ),
        );
    }
    for decision in &output.decisions {
        let outcome = decision
            .held_by()
            .map_or_else(|| "wanted".to_owned(), |gate| format!("HELD by {}: {}", gate.name, gate.why));
        page.line(1, format_args!("{} {}: {outcome}", decision.intent, decision.subject));
    }
    // Cases that were open before are decided about as well: a kind once is enough for a person.
    let mut told: Vec<&str> = Vec::new();
    for kind in kinds(output) {
        if !told.contains(&kind) {
            told.push(kind);
        }
    }
    if !told.is_empty() {
        page.line(0, format_args!("The next health check carries out: {}.", told.join(", ")));
    }
    page.line(
        0,
        match output.cases.first() {
            Some(case) => {
                format!("slurm-triage why {} tells of it; slurm-triage inject --end ends it.", case.id)
            }
            None => "No case was opened: such an event alone is no reason to.".to_owned(),
        },
    );
    Ok(render::print(page.text())?)
}

fn kinds(output: &Output) -> Vec<&'static str> {
    output.actions.iter().map(Action::kind).collect()
}

fn end(common: &Common, site: &Site, ctx: &Ctx<'_>) -> CmdResult {
    let ended = drill::end(ctx, &mut open(site)?, &actor())?;
    if common.json {
        let cases = ended.iter().map(|ended| &ended.case).collect();
        let document =
            EndDocument { v: view::VERSION, node: &site.node, at: SystemClock.now(), ended: cases };
        render::json(&document)?;
        return Ok(exit::OK);
    }
    let mut page = Page::default();
    if ended.is_empty() {
        page.line(0, format_args!("{}: there is no drill to end", site.node));
    }
    for Ended { case, before } in &ended {
        page.line(
            0,
            format_args!("{}: case {} is acquitted: {} on {}", site.node, case.id, case.code, case.resource),
        );
        if *before == CaseState::Acted {
            page.line(
                1,
                format_args!(
                    "the node was drained for it; when nothing else speaks against it: {}",
                    advice::undrain(&case.node)
                ),
            );
        }
    }
    render::print(page.text())?;
    Ok(exit::OK)
}
