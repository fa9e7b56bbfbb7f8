//! Only symptoms: what their pattern over ranks and nodes tells.
use crate::arrange::Arrange as _;
use crate::arrange::Gather as _;
use std::collections::{BTreeMap, BTreeSet};

use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::ending::{Ending, Outside};
use crate::attribute::faults::Faults;
use crate::attribute::scene::{Scene, TOGETHER, is_gpu, is_timeout};
use crate::attribute::{Evidence, Fault, OutputEvent};
use crate::reading::GpuReading;
use crate::{Advice, CauseClass, Code, Confidence, Event, Provenance, Resource, Stamp};

/// The run stalled or ran out of time, and the GPUs of one node alone were held back by heat or power.
pub(super) const STRAGGLER: Rule = Rule { name: "straggler", tier: Tier::Slow, judge: straggler };

/// Ranks did not agree on what they were to do together.
pub(super) const MISMATCH: Rule =
    Rule { name: "mismatched_collectives", tier: Tier::Pattern, judge: mismatch };

/// Fewer ranks joined than were expected, and all the tasks that were started were there.
pub(super) const NOT_ALL_JOINED: Rule =
    Rule { name: "not_all_joined", tier: Tier::Pattern, judge: not_all_joined };

/// Retries to peers ran out, with no node that stands out and no link that went down.
pub(super) const NETWORK_ERRORS: Rule =
    Rule { name: "network_errors", tier: Tier::Pattern, judge: network_errors };

/// All ranks but one waited for that one.
pub(super) const LAGGARD: Rule = Rule { name: "laggard_rank", tier: Tier::Pattern, judge: laggard };

/// Throttle reasons that say something is wrong with the cooling or the power supply. Power capping and the driver's
/// own thermal control are everyday work.
const HELD_BACK: &[&str] = &["hw_thermal", "hw_power_brake", "hw_slowdown"];

fn is_held_back(gpu: &GpuReading) -> bool {
    gpu.throttle.iter().flatten().any(|reason| HELD_BACK.contains(&reason.as_str()))
}

fn straggler(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let out_of_time = scene.ending == Ending::Outside(Outside::TimeLimit);
    if !out_of_time && timeouts(scene).is_empty() {
        return None;
    }
    let mut hot: Vec<(usize, &GpuReading)> = scene
        .evidence
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(node, what)| {
            what.nvml.iter().flat_map(move |r| r.gpus.iter().map(move |gpu| (node, gpu)))
        })
        .filter(|(_, gpu)| is_held_back(gpu))
        .collect();
    hot.arrange_by_key(|(node, gpu)| (*node, gpu.index));
    let (node, gpu) = *hot.first()?;
    if hot.iter().any(|(other, _)| *other != node) {
        return None;
    }
    let name = scene.name(node)?;
    let resource = match hot.as_slice() {
        [_] => gpu.pci.map_or(Resource::GpuIndex(gpu.index), Resource::Gpu),
        _ => Resource::Host,
    };
    let reasons = gpu.throttle.clone().unwrap_or_default().join(", ");
    let why = format!("{} GPU(s) of {name} and of no other node are held back: {reasons}", hot.len());
    let mut claim = Claim::new(CauseClass::Hardware, Confidence::Probable, why.clone());
    claim.at = scene.first_sign();
    claim.trusted = true;
    claim.culprits = vec![(node, Some(resource.clone()).filter(|r| *r != Resource::Host))];
    claim.evidence = vec![Evidence {
        time: Some(scene.end()),
        node: Some(name.clone()),
        code: Code::from("nvml.throttle"),
        text: format!("GPU {} throttled: {reasons}", gpu.index),
        provenance: Provenance::Trusted,
        event: None,
    }];
    claim.faults = vec![Fault {
        node: name.clone(),
        resource,
        code: Code::from("nvml.throttle"),
        class: CauseClass::Hardware,
        confidence: Confidence::Probable,
        advice: Advice::Drain,
        at: scene.end(),
        ended_run: true,
        why,
    }];
    Some(claim)
}

fn mismatch(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let said =
        scene.output().find(|seen| matches!(seen.code(), "nccl.mismatch" | "gloo.mismatch" | "nccl.desync"));
    let apart = said.is_none().then(|| different_operations(scene)).flatten();
    let from_dump = scene.evidence.flight.as_ref().and_then(|flight| flight.mismatch.clone());
    let why = match (said, &apart, &from_dump) {
        (Some(seen), _, _) => format!("ranks did not agree on a collective: {}", seen.event.text),
        (None, Some((a, b)), _) => format!("ranks waited in different collectives: {a} and {b}"),
        (None, None, Some(text)) => text.clone(),
        (None, None, None) => return None,
    };
    let mut claim = Claim::new(CauseClass::Application, Confidence::Probable, why);
    claim.at = scene.first_sign();
    claim.evidence =
        said.into_iter().chain(timeouts(scene).into_iter().take(2)).map(|s| scene.quote(s)).collect();
    Some(claim)
}

/// All ranks timed out at one sequence number, a few of them in another operation than the rest. Where the numbers
/// differ too, the lines are of several process groups, and nothing follows.
fn different_operations(scene: &Scene<'_>) -> Option<(String, String)> {
    let lines = timeouts(scene);
    let seqs: BTreeSet<u64> = lines.iter().filter_map(|seen| seen.number("seq")).into_set();
    let mut kinds: BTreeMap<(Option<&str>, Option<&str>), &OutputEvent> = BTreeMap::new();
    for seen in &lines {
        kinds.entry(signature(seen)).or_insert(seen);
    }
    let ranks: BTreeSet<u32> = lines.iter().filter_map(|seen| scene.places.rank(seen)).into_set();
    match kinds.values().collect::<Vec<_>>().as_slice() {
        [a, b] if seqs.len() == 1 && ranks.len() > 2 => Some((describe(a), describe(b))),
        _ => None,
    }
}

fn signature(seen: &OutputEvent) -> (Option<&str>, Option<&str>) {
    (seen.field("op"), if is_uneven(seen) { None } else { seen.field("numel_in") })
}

/// Operations in which ranks may take part with different amounts of data.
fn is_uneven(seen: &OutputEvent) -> bool {
    let op = seen.field("op").unwrap_or_default();
    ["COALESCED", "ALLTOALL", "SEND", "RECV", "SCATTER", "GATHER"].iter().any(|name| op.contains(name))
}

fn describe(seen: &OutputEvent) -> String {
    let rank = seen.rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
    format!(
        "rank {rank} {} of {} elements",
        seen.field("op").unwrap_or("?"),
        seen.field("numel_in").unwrap_or("?")
    )
}

fn not_all_joined(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let said =
        scene.output().find(|seen| seen.code() == "torch.store_timeout" && seen.field("joined").is_some())?;
    let (joined, wanted): (u32, u32) = (said.number("joined")?, said.number("wanted")?);
    let started = scene.evidence.nodes.iter().flat_map(|node| &node.tasks);
    let tasks: BTreeSet<u32> =
        started.filter(|(_, edge)| edge.what == crate::TaskWhat::Start).map(|(_, edge)| edge.rank).into_set();
    let per = if scene.places.are_launchers() { scene.evidence.run.ranks_per_node.unwrap_or(1) } else { 1 };
    let there = u32::try_from(tasks.len()).ok()?.saturating_mul(per);
    if joined >= wanted || there == 0 || joined < there || wanted == there {
        return None;
    }
    let mut claim = Claim::new(
        CauseClass::Application,
        Confidence::Probable,
        format!(
            "the program waited for {wanted} ranks, but only {there} were started: wrong world size or ranks"
        ),
    );
    claim.at = scene.first_sign();
    claim.evidence = vec![scene.quote(said)];
    Some(claim)
}

fn network_errors(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let lines: Vec<&OutputEvent> = scene
        .output()
        .filter(|seen| {
            matches!(
                seen.code(),
                "nccl.ib_retry" | "ucx.retry" | "nccl.ofi" | "nccl.ib_port_error" | "nccl.ib_device_fatal"
            )
        })
        .collect();
    // A line without a stamp is dated by the end of its rank, which may be late: one that is early enough will do.
    let first = *lines.iter().find(|seen| !follows_a_death(scene, seen))?;
    let printers: BTreeSet<usize> = lines.iter().filter_map(|seen| scene.places.origin(seen)).into_set();
    let peers: BTreeSet<usize> =
        lines.iter().filter_map(|seen| scene.places.host(seen.field("peer")?)).into_set();
    let broad = printers.len() >= 2 || lines.len() >= 2;
    let mut claim = Claim::new(
        CauseClass::Network,
        if broad { Confidence::Probable } else { Confidence::Suspected },
        format!(
            "retries between {} nodes ran out, and no node's own state says why",
            printers.union(&peers).count()
        ),
    );
    claim.at = scene.first_sign();
    claim.evidence = lines.iter().take(3).map(|seen| scene.quote(seen)).collect();
    claim.evidence.push(scene.quote(first));
    claim.evidence.dedup();
    // One peer that several others name, and that itself names several, is suspect; the job's word goes no further.
    if let (1, Some(peer)) = (peers.len(), peers.first())
        && printers.iter().filter(|node| *node != peer).count() >= 2
        && let Some(name) = scene.name(*peer)
    {
        claim.why.push(format!("all of them name {name}; by the job's word alone nobody is blamed"));
    }
    if let Some(node) = says_its_port_went_down(scene, &lines)
        && let Some(name) = scene.name(node)
        && peers.iter().all(|peer| *peer == node)
    {
        claim.why = vec![format!(
            "ranks of {name} alone saw their port go down; nothing else of that node could be read"
        )];
        claim.class = CauseClass::Hardware;
        claim.confidence = Confidence::Suspected;
        claim.culprits = vec![(node, None)];
    }
    Some(claim)
}

/// The one node whose own ranks report that their port went down, where no trusted source of it could tell.
fn says_its_port_went_down(scene: &Scene<'_>, lines: &[&OutputEvent]) -> Option<usize> {
    let own =
        lines.iter().filter(|seen| matches!(seen.code(), "nccl.ib_port_error" | "nccl.ib_device_fatal"));
    let nodes: BTreeSet<usize> = own.filter_map(|seen| scene.places.origin(seen)).into_set();
    let unread = |node: &&usize| {
        scene.evidence.nodes.get(**node).is_some_and(|what| !what.kernel_read && what.nics.is_empty())
    };
    nodes.first().filter(|_| nodes.len() == 1).filter(unread).copied()
}

/// A rank that is gone does not answer: retries to it run out although the network is well.
fn follows_a_death(scene: &Scene<'_>, seen: &OutputEvent) -> bool {
    let (Some(written), Some(death)) = (scene.written(seen), scene.first_death()) else { return false };
    let own = scene.places.rank(seen) == Some(death.task) && !scene.places.are_launchers();
    !own && written.micros_since(death.at) > TOGETHER
}

fn timeouts<'a>(scene: &Scene<'a>) -> Vec<&'a OutputEvent> {
    scene.output().filter(|seen| is_timeout(seen.code())).collect()
}

fn laggard(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let lines = timeouts(scene);
    let first = *lines.first()?;
    let waiting: BTreeSet<u32> = lines.iter().filter_map(|seen| scene.places.rank(seen)).into_set();
    let (missing, how) = behind(scene, &lines, &waiting)?;
    let node = scene.places.node_of_rank(missing).and_then(|node| scene.name(node));
    let on = node.map_or_else(String::new, |name| format!(" on {name}"));
    let mut claim = Claim::new(
        CauseClass::Unknown,
        Confidence::Suspected,
        format!("{} ranks waited for rank {missing}{on}: {how}", waiting.len()),
    );
    claim.at = scene.first_sign();
    claim.evidence = vec![scene.quote(first)];
    match scene.places.node_of_rank(missing).and_then(|node| Some((node, held_up(scene, node, missing)?))) {
        Some((node, (at, event))) => {
            claim.why.push(format!("{} of that node hung at that time, says its driver", event.resource));
            claim.class = CauseClass::Hardware;
            claim.trusted = true;
            claim.statistical = true;
            claim.culprits = vec![(node, Some(event.resource.clone()).filter(is_gpu))];
            claim.evidence.push(scene.cite(at, event));
        }
        None => {
            claim.why.push("nothing says why it did not come: its program, its data or its node".to_owned());
        }
    }
    Some(claim)
}

/// What the driver says of a GPU that makes no progress while all others wait for a rank of that node. By itself it may be
/// a program that never ends.
fn held_up<'a>(scene: &Scene<'a>, node: usize, rank: u32) -> Option<(Stamp, &'a Event)> {
    const HUNG: &[&str] = &["xid.8", "nvidia.locked"];
    const AROUND: i64 = 180_000_000;
    let sign = scene.first_sign()?;
    let of_the_rank = |event: &Event| {
        let pid = event.fields.get("pid").and_then(|pid| pid.parse().ok());
        pid.is_none_or(|pid| scene.places.task_of_pid(node, pid).is_none_or(|task| task == rank))
    };
    let hung: Vec<(Stamp, &Event)> = scene
        .events(node)
        .filter(|(at, event)| {
            HUNG.contains(&event.code.as_str())
                && at.micros_since(sign).saturating_abs() <= AROUND
                && scene.is_of_this_boot(node, event)
                && of_the_rank(event)
        })
        .collect();
    hung.iter().find(|(_, event)| is_gpu(&event.resource)).or(hung.first()).copied()
}

/// The one rank that is behind all others, and how that shows.
fn behind(scene: &Scene<'_>, lines: &[&OutputEvent], waiting: &BTreeSet<u32>) -> Option<(u32, &'static str)> {
    if let Some(missing) = scene.evidence.flight.as_ref().and_then(|flight| flight.only_missing()) {
        return Some((missing, "its flight recorder shows it behind"));
    }
    let world = world(scene)?;
    let mut silent = (0..world).filter(|rank| !waiting.contains(rank));
    if let (Some(one), None) = (silent.next(), silent.next()) {
        return Some((one, "it alone reported no time-out"));
    }
    let mut lowest: BTreeMap<u32, u64> = BTreeMap::new();
    for seen in lines {
        if let (Some(rank), Some(seq)) = (scene.places.rank(seen), seen.number("seq")) {
            let entry = lowest.entry(rank).or_insert(seq);
            *entry = (*entry).min(seq);
        }
    }
    let (slowest, seq) = lowest.iter().min_by_key(|(rank, seq)| (**seq, **rank))?;
    let alone = lowest.len() > 2 && lowest.iter().all(|(rank, other)| rank == slowest || other > seq);
    alone.then_some((*slowest, "its sequence number is behind all others"))
}

/// How many ranks the job has.
fn world(scene: &Scene<'_>) -> Option<u32> {
    let nodes = u32::try_from(scene.evidence.nodes.len()).ok()?;
    scene
        .evidence
        .run
        .ranks_per_node
        .map(|per| per.saturating_mul(nodes))
        .filter(|world| (2..=65_536).contains(world))
}

/// The evidence of a verdict that nothing decides: the first line of each code.
pub(in crate::attribute) fn symptoms(scene: &Scene<'_>) -> Vec<Evidence> {
    let mut codes = BTreeSet::new();
    let firsts = scene.output().filter(|seen| codes.insert(seen.event.code.clone()));
    firsts.take(8).map(|seen| scene.quote(seen)).collect()
}
