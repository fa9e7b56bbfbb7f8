//! A filesystem that the nodes mount did not answer.
use crate::arrange::Gather as _;
use std::collections::BTreeSet;

use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::faults::Faults;
use crate::attribute::scene::{Scene, TOGETHER};
use crate::{CauseClass, Confidence, Event, Resource, Role, Stamp};

/// The kernel's client of a shared filesystem lost its server, or was thrown out by it, right before the run failed or
/// stalled. On one node alone it is that node's trouble; on several it is the server's or the network's.
pub(super) const FILESYSTEM: Rule = Rule { name: "filesystem", tier: Tier::Specific, judge };

/// How long before the first sign of trouble the filesystem may have failed, microseconds: clients retry for minutes.
const BEFORE_SIGN: i64 = 15 * 60 * 1_000_000;

/// How long before a task ended that said itself what its program did wrong, microseconds.
const BEFORE_CLEAR_ERROR: i64 = 60_000_000;

/// NFS says "not responding" only after three minutes of trying.
const LATE_WORD: i64 = 240_000_000;

/// A filesystem that was well again for so long before the first sign did no harm.
const LONG_WELL: i64 = 120_000_000;

fn is_trouble(event: &Event) -> bool {
    matches!(event.resource, Resource::Fs(_)) && matches!(event.role, Role::Root | Role::Either)
}

fn judge(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let sign = scene.first_sign()?;
    let death = scene.first_death().map_or(sign, |death| death.at);
    let latest = death.plus_micros(TOGETHER).min(sign.plus_micros(LATE_WORD));
    let reach = if scene.first_to_end_said_why() { BEFORE_CLEAR_ERROR } else { BEFORE_SIGN };
    let all = scene.all_events();
    let trouble: Vec<&(Stamp, usize, &Event)> = all
        .iter()
        .filter(|(at, _, event)| is_trouble(event) && *at <= latest && *at >= sign.plus_micros(-reach))
        .filter(|(at, node, event)| !was_well_again(&all, *at, *node, event, sign))
        .collect();
    let (at, _, first) = trouble.first()?;
    let nodes: BTreeSet<usize> = trouble.iter().map(|(_, node, _)| *node).into_set();
    let alone = nodes.len() == 1 && scene.evidence.nodes.len() > 1;
    let who = match nodes.iter().next().filter(|_| alone).and_then(|node| scene.name(*node)) {
        Some(node) => format!("on {node} alone"),
        None => format!("on {} nodes", nodes.len()),
    };
    let felt = scene.output().any(|seen| seen.code().starts_with("os.")) || scene.output().next().is_some();
    let mut claim = Claim::new(
        CauseClass::System,
        if felt { Confidence::Probable } else { Confidence::Suspected },
        format!("{} did not answer {who}", first.resource),
    );
    claim.at = Some(*at);
    claim.trusted = true;
    if alone {
        claim.culprits = nodes.iter().map(|node| (*node, Some(first.resource.clone()))).collect();
    }
    let mut seen = BTreeSet::new();
    claim.evidence = trouble
        .iter()
        .filter(|(_, node, event)| seen.insert((*node, event.code.clone())))
        .map(|(at, _, event)| scene.cite(*at, event))
        .collect();
    Some(claim)
}

fn was_well_again(
    all: &[(Stamp, usize, &Event)],
    at: Stamp,
    node: usize,
    event: &Event,
    sign: Stamp,
) -> bool {
    all.iter().any(|(well, other, recovery)| {
        *other == node
            && recovery.role == Role::Recovery
            && recovery.resource == event.resource
            && *well >= at
            && sign.micros_since(*well) >= LONG_WELL
    })
}
