//! What earlier runs tell that this one does not.
use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::faults::Faults;
use crate::attribute::scene::{Scene, is_gpu};
use crate::attribute::{Evidence, Fault, PastRun};
use crate::{Advice, CauseClass, Code, Confidence, Event, NodeName, Provenance, Resource, Role, Stamp};

/// The same GPU in the failed jobs of other users: repetition at one place beats every theory about software.
pub(super) const SAME_GPU: Rule = Rule { name: "same_gpu_again", tier: Tier::Specific, judge: same_gpu };

/// The same node in the failed jobs of other users, when this run says nothing better.
pub(super) const SAME_NODE: Rule = Rule { name: "same_node_again", tier: Tier::History, judge: same_node };

/// The same failure of the same user's jobs on other nodes: the program brings it along.
pub(super) const SAME_CODE_ELSEWHERE: Rule =
    Rule { name: "same_failure_elsewhere", tier: Tier::History, judge: same_failure_elsewhere };

/// So many earlier runs at one place make it suspect, together with this one.
const REPEATS: usize = 2;

/// So many earlier runs on one node, and on no other of the job's nodes, when nothing names a part of it.
const NODE_REPEATS: usize = 3;

/// History older than this says nothing about today's hardware, microseconds: 30 days.
const MEMORY: i64 = 30 * 86_400 * 1_000_000;

fn recent<'a>(scene: &Scene<'a>) -> impl Iterator<Item = &'a PastRun> {
    let start = scene.evidence.run.start;
    scene
        .evidence
        .history
        .iter()
        .filter(move |past| start.micros_since(past.at) <= MEMORY && past.at <= start)
}

/// GPU errors of this run that a program can cause as well as a bad GPU, first one first.
fn ambiguous<'a>(scene: &Scene<'a>) -> Vec<(Stamp, usize, &'a Event)> {
    let mut all = scene.all_events();
    all.retain(|(_, _, event)| {
        is_gpu(&event.resource)
            && matches!(event.role, Role::Root | Role::Either)
            && matches!(event.class, CauseClass::Application | CauseClass::Unknown)
    });
    all
}

fn same_gpu(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    ambiguous(scene).into_iter().find_map(|(at, node, event)| {
        let before = earlier_at(scene, scene.name(node)?, &event.resource, event.code.as_str());
        (before.len() >= REPEATS && users(&before) >= REPEATS && program_differs(scene, &before))
            .then(|| of_gpu(scene, at, node, event, &before))
    })
}

fn of_gpu(scene: &Scene<'_>, at: Stamp, node: usize, event: &Event, before: &[&PastRun]) -> Claim {
    let name = scene.name(node).cloned().unwrap_or_default();
    let why = format!(
        "{} on {} of {name}: so did {} earlier jobs of {} other users on that GPU",
        event.code,
        event.resource,
        before.len(),
        users(before)
    );
    let mut claim = Claim::new(CauseClass::Hardware, Confidence::Probable, why.clone());
    claim.at = Some(at);
    claim.trusted = true;
    claim.culprits = vec![(node, Some(event.resource.clone()))];
    claim.evidence = vec![scene.cite(at, event)];
    claim.evidence.extend(before.iter().take(4).map(|past| remembered(past, &name)));
    claim.faults = vec![Fault {
        node: name,
        resource: event.resource.clone(),
        code: event.code.clone(),
        class: CauseClass::Hardware,
        confidence: Confidence::Probable,
        advice: Advice::Drain,
        at,
        ended_run: true,
        why,
    }];
    claim
}

/// Earlier runs of other users that failed on this very GPU.
fn earlier_at<'a>(scene: &Scene<'a>, node: &NodeName, resource: &Resource, code: &str) -> Vec<&'a PastRun> {
    recent(scene)
        .filter(|past| past.user != scene.evidence.run.user)
        .filter(|past| {
            let named = past
                .culprits
                .iter()
                .any(|culprit| culprit.node == *node && culprit.resource.as_ref() == Some(resource));
            // Where the ledger kept no part, the same code on that node has to do.
            let unnamed = past.culprits.iter().all(|culprit| culprit.resource.is_none())
                && past.nodes.contains(node)
                && past.signature == code;
            named || unnamed
        })
        .collect()
}

fn users(runs: &[&PastRun]) -> usize {
    runs.iter().map(|past| past.user.as_str()).into_set().len()
}

/// The same user's same failure elsewhere speaks for the program, not for this place.
fn program_differs(scene: &Scene<'_>, before: &[&PastRun]) -> bool {
    let nodes: BTreeSet<&NodeName> = scene.evidence.nodes.iter().map(|node| &node.node).into_set();
    let elsewhere = recent(scene).filter(|past| {
        past.user == scene.evidence.run.user
            && before.iter().any(|other| other.signature == past.signature)
            && past.nodes.iter().all(|node| !nodes.contains(node))
    });
    elsewhere.count() == 0
}

/// No part is named, but one node of the job, and no other of them, was in failed jobs of several users.
fn same_node(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    // With a specific error of its own the run does not need its neighbours' past.
    // One node's ledger knows its own past best: that compares nothing.
    if has_own_error(scene) || scene.evidence.nodes.len() < 2 || scene.evidence.history_of.is_some() {
        return None;
    }
    let blamed = |past: &PastRun| past.class != "application" && past.user != scene.evidence.run.user;
    let counts: Vec<(usize, Vec<&PastRun>)> = scene
        .evidence
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| {
            (index, recent(scene).filter(|past| blamed(past) && past.nodes.contains(&node.node)).collect())
        })
        .collect();
    let (node, before) = counts.iter().max_by_key(|(index, runs)| (runs.len(), std::cmp::Reverse(*index)))?;
    let next = counts.iter().filter(|(index, _)| index != node).map(|(_, runs)| runs.len()).max()?;
    if before.len() < NODE_REPEATS || users(before) < REPEATS || next * 2 > before.len() {
        return None;
    }
    let name = scene.name(*node)?.clone();
    let why = format!(
        "{name} was in {} failed jobs of {} other users lately, no other node of this job was in more than {next}",
        before.len(),
        users(before)
    );
    let mut claim = Claim::new(CauseClass::Hardware, Confidence::Probable, why.clone());
    claim.at = scene.first_sign();
    claim.trusted = true;
    claim.statistical = true;
    claim.culprits = vec![(*node, None)];
    claim.evidence = before.iter().take(4).map(|past| remembered(past, &name)).collect();
    claim.faults = vec![Fault {
        node: name,
        resource: Resource::Host,
        code: Code::from("history.same_node"),
        class: CauseClass::Hardware,
        confidence: Confidence::Probable,
        advice: Advice::Drain,
        at: claim.at.unwrap_or_else(|| scene.end()),
        ended_run: true,
        why,
    }];
    Some(claim)
}

fn has_own_error(scene: &Scene<'_>) -> bool {
    scene.output().any(|seen| {
        seen.event.class == CauseClass::Application && matches!(seen.event.role, Role::Root | Role::Either)
    })
}

fn remembered(past: &PastRun, node: &NodeName) -> Evidence {
    Evidence {
        time: Some(past.at),
        node: Some(node.clone()),
        code: Code::from("history.run"),
        text: format!("job {} of {} failed here: {} ({})", past.job, past.user, past.signature, past.class),
        provenance: Provenance::Trusted,
        event: None,
    }
}

fn same_failure_elsewhere(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let nodes: BTreeSet<&NodeName> = scene.evidence.nodes.iter().map(|node| &node.node).into_set();
    let signatures = signatures(scene);
    let elsewhere: Vec<&PastRun> = recent(scene)
        .filter(|past| past.user == scene.evidence.run.user && !past.user.is_empty())
        .filter(|past| signatures.contains(past.signature.as_str()))
        .filter(|past| past.nodes.iter().all(|node| !nodes.contains(node)))
        .collect();
    let apart = elsewhere.iter().enumerate().any(|(index, past)| {
        elsewhere
            .iter()
            .skip(index + 1)
            .any(|other| other.nodes.iter().all(|node| !past.nodes.contains(node)))
    });
    if elsewhere.len() < REPEATS || !apart {
        return None;
    }
    let mut claim = Claim::new(
        CauseClass::Application,
        Confidence::Probable,
        format!("{} earlier jobs of this user failed the same way on other nodes", elsewhere.len()),
    );
    claim.at = scene.first_sign();
    claim.evidence = elsewhere
        .iter()
        .take(4)
        .map(|past| remembered(past, past.nodes.first().unwrap_or(&NodeName::default())))
        .collect();
    Some(claim)
}

/// The codes this run's failure goes by.
fn signatures<'a>(scene: &Scene<'a>) -> BTreeSet<&'a str> {
    let printed = scene.output().map(|seen| seen.event.code.as_str());
    printed.chain(ambiguous(scene).into_iter().map(|(_, _, event)| event.code.as_str())).collect()
}
