//! A whole node went away, or would not let its processes go.
use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::ending::Ending;
use crate::attribute::faults::Faults;
use crate::attribute::scene::{Scene, TOGETHER};
use crate::attribute::{Evidence, Fault};
use crate::{Advice, CauseClass, Code, Confidence, Event, Provenance, Resource, Role, Stamp, TaskWhat};

/// A node was booted while the run was on it, or Slurm lost a node and one alone fell silent.
pub(super) const NODE_LOST: Rule = Rule { name: "node_lost", tier: Tier::Specific, judge: node_lost };

/// Processes hung in the kernel of a node, and the run stood still or would not die.
pub(super) const STUCK_PROCESSES: Rule =
    Rule { name: "stuck_processes", tier: Tier::Specific, judge: stuck_processes };

/// How long a process hangs before the kernel reports it, microseconds: `hung_task_timeout_secs` is 120 by default.
const HUNG_BEFORE_REPORT: i64 = 120_000_000;

/// How long before a boot an orderly shutdown may have been announced, microseconds.
const SHUTDOWN: i64 = 600_000_000;

fn node_lost(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let rebooted =
        (0..scene.evidence.nodes.len()).find_map(|node| Some((node, scene.booted_within_run(node)?)));
    match rebooted {
        Some((node, boot)) => Some(of_reboot(scene, node, boot)),
        None if scene.ending == Ending::NodeFail => Some(of_silence(scene)),
        None => None,
    }
}

fn of_reboot(scene: &Scene<'_>, node: usize, boot: Stamp) -> Claim {
    let name = scene.name(node).map_or("", |name| name.as_str());
    let before_boot = |(at, event): &(Stamp, &Event)| {
        is_orderly_shutdown(event) && *at <= boot && boot.micros_since(*at) <= SHUTDOWN
    };
    let orderly = scene.events(node).find(before_boot);
    let (class, why) = match orderly {
        Some(_) => {
            (CauseClass::System, format!("{name} was shut down and booted again while the job was on it"))
        }
        None => {
            (CauseClass::Hardware, format!("{name} went down and was booted again while the job was on it"))
        }
    };
    let slurm_agrees = scene.ending == Ending::NodeFail;
    let confidence = if slurm_agrees { Confidence::Confirmed } else { Confidence::Probable };
    let mut claim = Claim::new(class, confidence, why);
    claim.at = scene.first_sign().map(|sign| sign.min(boot)).or(Some(boot));
    claim.evidence = orderly.into_iter().map(|(at, event)| scene.cite(at, event)).collect();
    claim.evidence.push(found(scene, node, boot, "node.booted", "the node was booted within the run"));
    blame(scene, node, "node.booted", &mut claim);
    claim
}

/// Whether the line announces an orderly shutdown.
fn is_orderly_shutdown(event: &Event) -> bool {
    let code = event.code.as_str();
    code.ends_with("shutdown") || code.ends_with("reboot_ordered") || code.ends_with("restarting")
}

fn of_silence(scene: &Scene<'_>) -> Claim {
    let silent = silent_nodes(scene);
    let told = named_by_srun(scene);
    let lost = match silent.as_slice() {
        [one] if told.is_none_or(|told| told == *one) => Some(*one),
        // A node without records may merely not have been read: srun's word for another one leaves both in doubt.
        [_] => told,
        _ => told.filter(|node| silent.is_empty() || silent.contains(node)),
    };
    let Some(node) = lost else {
        let mut claim =
            Claim::new(CauseClass::Hardware, Confidence::Probable, "Slurm lost a node of the job");
        claim.at = scene.first_sign();
        claim.trusted = true;
        return claim;
    };
    let name = scene.name(node).map_or("", |name| name.as_str());
    let alone = silent == [node];
    let how = if alone { "alone fell silent" } else { "is the one that srun names" };
    let mut claim = Claim::new(
        CauseClass::Hardware,
        if alone { Confidence::Probable } else { Confidence::Suspected },
        format!("Slurm lost a node of the job; {name} {how}"),
    );
    claim.at = scene.first_sign();
    claim.evidence =
        vec![found(scene, node, scene.end(), "node.silent", "no task of this node was seen to end")];
    if alone {
        blame(scene, node, "node.silent", &mut claim);
    } else {
        claim.culprits = vec![(node, None)];
    }
    claim
}

/// Nodes whose tasks were seen to start and not to end, when tasks of other nodes were. Of a node that only told of
/// itself nobody could have seen a task end.
fn silent_nodes(scene: &Scene<'_>) -> Vec<usize> {
    let ended = |node: &crate::attribute::NodeEvidence| {
        node.tasks.iter().any(|(_, edge)| matches!(edge.what, TaskWhat::End(_)))
    };
    let nodes = &scene.evidence.nodes;
    let silent: Vec<usize> = nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| !node.told_only && !ended(node))
        .map(|(index, _)| index)
        .collect();
    if silent.len() == nodes.len() {
        return Vec::new();
    }
    // Tasks that were seen to start and never to end say more than the lack of any record.
    let (started, absent): (Vec<usize>, Vec<usize>) =
        silent.into_iter().partition(|node| nodes.get(*node).is_some_and(|node| !node.tasks.is_empty()));
    if started.is_empty() { absent } else { started }
}

/// srun names the node it lost; a job could print that as well, so it only breaks a tie.
fn named_by_srun(scene: &Scene<'_>) -> Option<usize> {
    let named: BTreeSet<usize> = scene
        .output()
        .filter(|seen| seen.code() == "slurm.node_failure")
        .filter_map(|seen| scene.places.host(seen.field("node")?))
        .into_set();
    (named.len() == 1).then(|| named.first().copied()).flatten()
}

fn blame(scene: &Scene<'_>, node: usize, code: &str, claim: &mut Claim) {
    claim.trusted = true;
    claim.culprits = vec![(node, None)];
    let Some(name) = scene.name(node).filter(|_| claim.class == CauseClass::Hardware) else { return };
    claim.faults = vec![Fault {
        node: name.clone(),
        resource: Resource::Host,
        code: Code::from(code),
        class: claim.class,
        confidence: claim.confidence,
        advice: Advice::Drain,
        at: claim.at.unwrap_or_else(|| scene.end()),
        ended_run: true,
        why: claim.why.first().cloned().unwrap_or_default(),
    }];
}

fn found(scene: &Scene<'_>, node: usize, at: Stamp, code: &str, text: &str) -> Evidence {
    Evidence {
        time: Some(at),
        node: scene.name(node).cloned(),
        code: Code::from(code),
        text: text.to_owned(),
        provenance: Provenance::Trusted,
        event: None,
    }
}

/// Whether the kernel reports a process that hangs in it.
fn is_hung_task(event: &Event) -> bool {
    event.code.as_str() == "task.hung" && event.role != Role::Noise
}

fn stuck_processes(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let hung: Vec<(Stamp, usize, &Event)> =
        scene.all_events().into_iter().filter(|(_, _, event)| is_hung_task(event)).collect();
    let (at, _, first) = hung.first()?;
    let since = at.plus_micros(-HUNG_BEFORE_REPORT);
    let sign = scene.first_sign()?;
    let would_not_die = scene.output().any(|seen| seen.code() == "slurm.kill_failed");
    let before_end = since <= scene.first_death().map_or(sign, |death| death.at).plus_micros(TOGETHER);
    // A program that said itself what it did wrong was not kept from it by a process that hung elsewhere.
    if !would_not_die && (!before_end || scene.first_to_end_said_why()) {
        return None;
    }
    let nodes: BTreeSet<usize> = hung.iter().map(|(_, node, _)| *node).into_set();
    let mut claim = Claim::new(
        CauseClass::System,
        if would_not_die || before_end { Confidence::Probable } else { Confidence::Suspected },
        format!("processes hung in the kernel of {} node(s)", nodes.len()),
    );
    claim.at = Some(since);
    claim.trusted = true;
    if nodes.len() == 1 {
        claim.culprits = nodes.iter().map(|node| (*node, None)).collect();
    }
    claim.evidence = vec![scene.cite(*at, first)];
    let said = scene.output().find(|seen| seen.code() == "slurm.kill_failed");
    claim.evidence.extend(said.map(|seen| scene.quote(seen)));
    Some(claim)
}
