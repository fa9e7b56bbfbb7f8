//! `slurm-triage inject`: a synthetic fault, for a drill. The health check puts it through its pass, as it would a real
//! one; this asks it to, and tells what came of it.
use anyhow::{Context, anyhow, bail};
use nix::unistd::{User, getuid};
use serde::Serialize;
use triage_core::classify::prefix;
use triage_core::{Case, CaseState, Decision, Event, ExitStatus, NodeName, PciAddress, Stamp};
use triage_hooks::drill::Ended;
use triage_hooks::drill::order::{Answer, LIMIT, Order};
use triage_host::clock::{Clock, SystemClock};
use triage_host::runner::{Command, Finished, Runner, SystemRunner};
use triage_ledger::Ledger;

use crate::advice;
use crate::args::{Common, InjectArgs};
use crate::exit::{self, CmdResult};
use crate::render::{self, Page};
use crate::site::{Site, absolute, elsewhere};
use crate::view::{self, DecisionView};

/// What makes the pass.
const PROGRAM: &str = "triage-healthcheck";

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
    actions: &'a [String],
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
    let line = if args.end { None } else { Some(line(args)?) };
    if let Some(code) = args.code.as_deref().filter(|code| site.catalog().0.entry(code).is_none()) {
        bail!("{code} is not in the catalogue: --line takes any line; nothing was recorded");
    }
    // Before the health check is asked: what a person may not do is told in words for a person.
    let ledger = site.open_to_write("a drill goes into the node's ledger")?;
    if let Some(gpu) = args.gpu {
        refuse_unknown(&ledger, &site, gpu)?;
    }
    drop(ledger);
    match ask(&site, &Order { ledger: absolute(&site.ledger).into(), actor: actor(), line, act: args.act })? {
        Answer::Begun { events, cases, decisions, actions } => {
            tell(common, &site, args.act, (&events, &cases, &decisions, &actions))?;
            Ok(exit::OK)
        }
        Answer::Ended(ended) => tell_end(common, &site, &ended),
        Answer::Acts => {
            render::complain(
                "policy acts on this node, so a drill has to say that it may: --act lets the next health check drain it, \
                 as for a real fault; nothing was recorded",
            );
            Ok(exit::REFUSED)
        }
        Answer::Refused(why) => bail!("{why}"),
    }
}

/// Has the health check carry out the order.
fn ask(site: &Site, order: &Order) -> anyhow::Result<Answer> {
    let program = site.config.paths.libexec.join(PROGRAM);
    let order = serde_json::to_string(order)?;
    let args = ["--config".to_owned(), absolute(&site.config_path), "--drill".to_owned(), order];
    let command = Command::new(&program, LIMIT).args(args).env("SLURMD_NODENAME", site.node.as_str());
    let path = program.display();
    let Finished { status, stdout, stderr, .. } = SystemRunner.run(&elsewhere(command)).with_context(|| {
        format!(
            "{path} puts a drill through its pass; [paths] libexec in triage.toml is where it is looked for"
        )
    })?;
    let words = String::from_utf8_lossy(&stderr);
    if status != ExitStatus::Exit(0) {
        bail!("{path} ended with {status}: {}", words.trim());
    }
    triage_core::json::from_bytes(&stdout)
        .map_err(|error| anyhow!("{path} gave no answer ({error}): is it of this release? {}", words.trim()))
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

type Begun<'a> = (&'a [Event], &'a [Case], &'a [Decision], &'a [String]);

fn tell(
    common: &Common,
    site: &Site,
    act: bool,
    (events, cases, decisions, actions): Begun<'_>,
) -> anyhow::Result<()> {
    if common.json {
        return render::json(&Document {
            v: view::VERSION,
            node: &site.node,
            at: SystemClock.now(),
            act,
            events,
            cases,
            decisions: decisions.iter().map(DecisionView::from).collect(),
            actions,
        });
    }
    let mut page = Page::default();
    let leave = if act { "it may act" } else { "nothing comes of it" };
    page.line(0, format_args!("{}: a drill is recorded; {leave}", site.node));
    for event in events {
        page.line(1, format_args!("event: {} on {}", render::marked(&event.code, true), event.resource));
    }
    for case in cases {
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
    for decision in decisions {
        let outcome = decision
            .held_by()
            .map_or_else(|| "wanted".to_owned(), |gate| format!("HELD by {}: {}", gate.name, gate.why));
        page.line(1, format_args!("{} {}: {outcome}", decision.intent, decision.subject));
    }
    // Cases that were open before are decided about as well: a kind once is enough for a person.
    let mut told: Vec<&str> = Vec::new();
    for kind in actions {
        if !told.contains(&kind.as_str()) {
            told.push(kind);
        }
    }
    if !told.is_empty() {
        page.line(0, format_args!("The next health check carries out: {}.", told.join(", ")));
    }
    page.line(
        0,
        match cases.first() {
            Some(case) => {
                format!("slurm-triage why {} tells of it; slurm-triage inject --end ends it.", case.id)
            }
            None => "No case was opened: such an event alone is no reason to.".to_owned(),
        },
    );
    Ok(render::print(page.text())?)
}

fn tell_end(common: &Common, site: &Site, ended: &[Ended]) -> CmdResult {
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
    for Ended { case, before } in ended {
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
