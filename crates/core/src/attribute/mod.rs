//! Why did this run end, and whose fault was it?
//!
//! [`attribute`] looks at what the nodes and the job itself said and answers with a class, the culprits and the evidence
//! for it. It is deterministic and does no I/O. The edge has bounded everything before: lines of the job's output come
//! as first examples with counts.
//!
//! 1. `scene`: one clock for all nodes, every line at its node and rank, who ended first and how.
//! 2. `faults`: what trusted sources say against each part of each node, without what does not count: earlier boots,
//!    repaired faults, what a job throws off while it is taken down. What to do about a node rests on these alone.
//! 3. `rules`: facts about how jobs fail. Each rule looks at the whole scene and makes a claim or none.
//! 4. `claim`: the most specific tier that claims anything decides; in it the earliest claim, and of claims
//!    that are as early as can be told the one on trusted evidence.
//!
//! The job's own word can decide about the job, and can make a node suspect; it never makes a [`Fault`].
mod claim;
mod clock;
mod ending;
mod evidence;
mod faults;
pub mod oom;
mod outcome;
mod place;
mod rules;
mod scene;
mod states;
mod story;

#[cfg(test)]
pub(crate) mod build;

pub use evidence::{
    JobEvidence, LineTime, NicReading, NodeEvidence, OomKill, OutputEvent, PastCulprit, PastRun, RunFacts,
};
pub use outcome::{Attribution, Discounted, Evidence, Fault};

use crate::arrange::Arrange as _;
use std::collections::{BTreeMap, BTreeSet};

use crate::{CauseClass, Code, Confidence, Culprit, NodeName, Resource};
use claim::Claim;
use ending::Ending;
use faults::Faults;
use scene::Scene;

/// Most pieces of evidence, and of discounted evidence, that an attribution carries.
const KEPT: usize = 32;

/// Why the run ended, and whose fault it was.
pub fn attribute(evidence: &JobEvidence) -> Attribution {
    let scene = Scene::new(evidence);
    let faults = faults::weigh(&scene);
    let (rule, mut claim) = match claim::decide(&scene, &faults, rules::RULES) {
        Some((rule, claim)) => (rule.name, claim),
        None => ("nothing_decides", undecided(&scene)),
    };
    if claim.is_borne_out() {
        claim.confidence = Confidence::Confirmed;
    }
    conclude(&scene, &faults, rule, claim)
}

/// Unknown is an answer. A run that is still there and complains of nothing is well.
fn undecided(scene: &Scene<'_>) -> Claim {
    if scene.ending == Ending::Running && scene.evidence.output.iter().all(|seen| seen.survived) {
        return Claim::new(CauseClass::None, Confidence::Suspected, "it runs, and nothing speaks against it");
    }
    let mut claim = Claim::new(
        CauseClass::Unknown,
        Confidence::Suspected,
        "no trusted source of the job's nodes reports a fault, and the job does not say why it ended",
    );
    claim.at = scene.first_sign();
    claim.evidence = rules::symptoms(scene);
    claim.evidence.extend(scene.first_death().map(|death| scene.obituary(&death)));
    claim
}

fn conclude(scene: &Scene<'_>, faults: &Faults, rule: &'static str, claim: Claim) -> Attribution {
    let culprits: Vec<Culprit> = claim
        .culprits
        .iter()
        .filter_map(|(node, resource)| {
            Some(Culprit { node: scene.name(*node)?.clone(), resource: resource.clone() })
        })
        .collect();
    let story = story::tell(scene, rule, &claim, &culprits);
    let mut evidence = claim.evidence;
    evidence.arrange();
    evidence.dedup();
    evidence.truncate(KEPT);
    let mut discounted = claim.discounted;
    discounted.extend(faults.discounted.iter().cloned());
    discounted.truncate(KEPT);
    Attribution {
        class: claim.class,
        confidence: claim.confidence,
        rule,
        trusted: claim.trusted,
        victims: victims(scene, &culprits),
        faults: all_faults(scene, faults, claim.faults, &culprits, claim.confidence),
        evidence,
        discounted,
        blind: blind(scene),
        story,
        culprits,
    }
}

/// Nodes of the job that are not to blame; nobody is a victim where nobody is blamed.
fn victims(scene: &Scene<'_>, culprits: &[Culprit]) -> Vec<NodeName> {
    if culprits.is_empty() {
        return Vec::new();
    }
    let nodes = scene.evidence.nodes.iter().map(|node| &node.node);
    nodes.filter(|node| culprits.iter().all(|culprit| culprit.node != **node)).cloned().collect()
}

/// Faults that trusted sources report and those that the decision adds, each resource once.
fn all_faults(
    scene: &Scene<'_>,
    faults: &Faults,
    added: Vec<Fault>,
    culprits: &[Culprit],
    confidence: Confidence,
) -> Vec<Fault> {
    let reported = faults.list.iter().map(|blamed| blamed.fault.clone());
    let mut all: Vec<Fault> = Vec::new();
    let mut known: BTreeSet<(NodeName, Resource)> = BTreeSet::new();
    for mut fault in added.into_iter().chain(reported).chain(rules::lasting_link_faults(scene)) {
        let blamed = |culprit: &Culprit| {
            culprit.node == fault.node && culprit.resource.as_ref().is_none_or(|r| *r == fault.resource)
        };
        fault.ended_run = culprits.iter().any(blamed);
        if fault.ended_run {
            fault.confidence = fault.confidence.max(confidence);
        }
        if known.insert((fault.node.clone(), fault.resource.clone())) {
            all.push(fault);
        }
    }
    spare_epidemics(&mut all);
    all.arrange_by(|a, b| (a.at, &a.node, &a.resource).cmp(&(b.at, &b.node, &b.resource)));
    all
}

/// The same fault on many nodes of one job is a matter of what they share. One bad driver must not empty a cluster:
/// such faults stay suspicions.
fn spare_epidemics(faults: &mut [Fault]) {
    let mut nodes: BTreeMap<Code, BTreeSet<NodeName>> = BTreeMap::new();
    for fault in faults.iter() {
        nodes.entry(fault.code.clone()).or_default().insert(fault.node.clone());
    }
    let spread = |code: &Code| nodes.get(code).is_some_and(|nodes| nodes.len() >= rules::EPIDEMIC);
    for fault in faults.iter_mut().filter(|fault| spread(&fault.code)) {
        fault.confidence = Confidence::Suspected;
        fault.why.push_str("; on so many nodes of one job it is likely what they share");
    }
}

fn blind(scene: &Scene<'_>) -> Vec<String> {
    let of_nodes = scene
        .evidence
        .nodes
        .iter()
        .flat_map(|node| node.blind.iter().map(move |why| format!("{}: {why}", node.node)));
    scene.evidence.blind.iter().cloned().chain(of_nodes).collect()
}

#[cfg(test)]
mod tests;
