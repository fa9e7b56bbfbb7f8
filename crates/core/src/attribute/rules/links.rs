//! Network links that went down, by the word of the kernel and of the ports themselves.
use crate::arrange::Arrange as _;
use std::collections::BTreeMap;

use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::faults::Faults;
use crate::attribute::scene::{Scene, TOGETHER};
use crate::attribute::{Evidence, Fault, NicReading, NodeEvidence, OutputEvent};
use crate::{Advice, CauseClass, Code, Confidence, Event, Provenance, Resource, Role, Stamp};

/// Two or more nodes lost a link at the same moment: what they share is a switch, and no node is to blame.
pub(super) const GROUP_LOST_LINKS: Rule =
    Rule { name: "group_lost_links", tier: Tier::Specific, judge: group_lost_links };

/// One node alone lost a link, and what depends on it failed afterwards.
pub(super) const ONE_NODE_LOST_LINK: Rule =
    Rule { name: "one_node_lost_link", tier: Tier::Specific, judge: one_node_lost_link };

/// No link went down, but one port counts errors as no other does, and the peers' retries to it ran out.
pub(super) const BAD_CABLE: Rule = Rule { name: "bad_cable", tier: Tier::Specific, judge: bad_cable };

/// How long before the first sign of trouble a link may have gone down, microseconds. InfiniBand retries run out after
/// half a minute by NCCL's defaults; sites raise the time-out, at most to some minutes.
const BEFORE_SIGN: i64 = 600_000_000;

/// Links that go down within this are one event, microseconds.
const AT_ONCE: i64 = 5_000_000;

/// From so many symbol errors on, and ten times those of any other port, a port stands out. A sound link counts next
/// to none: the InfiniBand specification allows one bit error in 10^12.
const MANY_SYMBOL_ERRORS: u64 = 100;

/// A link that was well again for so long before the first symptom did no harm, microseconds.
const LONG_WELL: i64 = 60_000_000;

/// Where the log does not say when a link came back, it can have hurt for so long, microseconds.
const UNTOLD: i64 = 120_000_000;

/// One port's times without a link.
#[derive(Debug, Clone)]
struct Outage {
    node: usize,
    nic: Resource,
    /// When it went down, in order; empty: only the port's own counter tells.
    downs: Vec<Stamp>,
    /// When it came back, in order.
    ups: Vec<Stamp>,
    /// The time of [`Self::downs`] that matters.
    at: Option<Stamp>,
    /// It is down at the end of the run.
    still_down: bool,
    /// Kernel and port agree.
    agreed: bool,
    evidence: Vec<Evidence>,
}

/// Whether the event is a link that goes down.
fn is_link_down(event: &Event) -> bool {
    let code = event.code.as_str();
    matches!(event.resource, Resource::Nic(_) | Resource::Pci(_))
        && (code.ends_with("link_down") || code.ends_with("port_down") || code.ends_with("cable_unplugged"))
}

/// Whether the event is a link that comes up.
fn is_link_up(event: &Event) -> bool {
    let up = event.code.as_str().ends_with("link_up");
    up && event.role == Role::Recovery && !event.text.contains(" INIT") && !event.text.contains(" ARMED")
}

fn outages(scene: &Scene<'_>) -> Vec<Outage> {
    (0..scene.evidence.nodes.len()).flat_map(|node| outages_of(scene, node)).collect()
}

fn outages_of(scene: &Scene<'_>, node: usize) -> Vec<Outage> {
    let Some(what) = scene.evidence.nodes.get(node) else { return Vec::new() };
    let mut by_nic: BTreeMap<Resource, Outage> = BTreeMap::new();
    let unreachable = is_alone_unreachable(scene, node);
    let of_the_run = |(at, event): &(Stamp, &Event)| {
        scene.is_within_run(*at)
            && scene.is_of_this_boot(node, event)
            && (unreachable || carries_the_job(what, event))
    };
    for (at, event) in scene.events(node).filter(of_the_run) {
        if is_link_down(event) {
            let outage = by_nic.entry(event.resource.clone()).or_insert_with(|| Outage {
                evidence: vec![scene.cite(at, event)],
                ..Outage::of(node, event.resource.clone())
            });
            outage.downs.push(at);
        } else if is_link_up(event)
            && let Some(outage) = by_nic.get_mut(&event.resource)
        {
            outage.ups.push(at);
        }
    }
    for reading in &what.nics {
        add_reading(scene, node, reading, &mut by_nic);
    }
    by_nic.into_values().collect()
}

/// Whether the link is one that jobs use. A node's own Ethernet flaps without any job noticing; where the compute NICs
/// are listed, others only count when their driver is that of the fabric's cards.
fn carries_the_job(what: &NodeEvidence, event: &Event) -> bool {
    let listed = |name: &str| what.nics.iter().any(|nic| nic.name == name);
    match &event.resource {
        Resource::Nic(name) => what.nics.is_empty() || listed(name) || event.text.starts_with("mlx5_core"),
        _ => true,
    }
}

/// Whether ranks on other nodes could not reach this node, and complain of no other one. Then the job went over whatever
/// link went down there, listed or not.
fn is_alone_unreachable(scene: &Scene<'_>, node: usize) -> bool {
    const CALLS: &[&str] = &["nccl.socket", "nccl.connect", "nccl.ib_retry", "ucx.retry", "gloo."];
    let calls = |seen: &&OutputEvent| {
        CALLS.iter().any(|code| seen.code().starts_with(code)) && scene.places.origin(seen) != Some(node)
    };
    let mut peers = scene.output().filter(calls).filter_map(|seen| names(scene, seen)).peekable();
    peers.peek().is_some() && peers.all(|peer| peer == node)
}

impl Outage {
    const fn of(node: usize, nic: Resource) -> Self {
        Self {
            node,
            nic,
            downs: Vec::new(),
            ups: Vec::new(),
            at: None,
            still_down: false,
            agreed: false,
            evidence: Vec::new(),
        }
    }

    /// When it went down so that it can have caused what showed at `symptom`.
    fn hit(&self, symptom: Stamp, latest: Stamp) -> Option<Stamp> {
        self.downs.iter().copied().find(|down| {
            let up = self.ups.iter().copied().find(|up| up >= down);
            let lasted = match up {
                Some(up) => symptom.micros_since(up) <= LONG_WELL,
                None => self.still_down || symptom.micros_since(*down) <= UNTOLD,
            };
            *down <= latest && lasted && (self.still_down || symptom.micros_since(*down) <= BEFORE_SIGN)
        })
    }
}

fn add_reading(
    scene: &Scene<'_>,
    node: usize,
    reading: &NicReading,
    by_nic: &mut BTreeMap<Resource, Outage>,
) {
    let nic = reading.resource();
    let went_down = reading.link_downed.unwrap_or_default() > 0;
    if let Some(outage) = by_nic.get_mut(&nic) {
        outage.still_down = !reading.is_up();
        outage.agreed = went_down || !reading.is_up();
        if outage.agreed {
            outage.evidence.push(port_evidence(scene, node, reading));
        }
    } else if !reading.is_up() && went_down && !is_down_everywhere(scene, reading) {
        let evidence = vec![port_evidence(scene, node, reading)];
        let outage = Outage { still_down: true, evidence, ..Outage::of(node, nic.clone()) };
        by_nic.insert(nic, outage);
    }
}

/// A port that is down on every node is not cabled.
fn is_down_everywhere(scene: &Scene<'_>, reading: &NicReading) -> bool {
    let mut of_that_name = scene
        .evidence
        .nodes
        .iter()
        .flat_map(|node| &node.nics)
        .filter(|other| other.name == reading.name && other.port == reading.port);
    scene.evidence.nodes.len() > 1 && of_that_name.all(|other| !other.is_up())
}

fn port_evidence(scene: &Scene<'_>, node: usize, reading: &NicReading) -> Evidence {
    let count = |what: Option<u64>, name: &str| what.map_or(String::new(), |n| format!(", {name} {n}"));
    Evidence {
        time: Some(scene.end()),
        node: scene.name(node).cloned(),
        code: Code::from("nic.port_state"),
        text: format!(
            "{} port {} is {}{}{} at the end of the run",
            reading.name,
            reading.port,
            reading.state,
            count(reading.link_downed, "link went down"),
            count(reading.symbol_errors, "symbol errors"),
        ),
        provenance: Provenance::Trusted,
        event: None,
    }
}

/// Outages that can have ended the run, in order of the time at which they hit.
fn harmful(scene: &Scene<'_>) -> Vec<Outage> {
    let Some(sign) = scene.first_sign() else { return Vec::new() };
    if !scene.evidence.output.is_empty() && first_symptom(scene).is_none() {
        return Vec::new();
    }
    let symptom = felt_at(scene).unwrap_or(sign);
    let latest = scene.first_death().map_or(sign, |death| death.at.max(sign)).plus_micros(TOGETHER);
    let mut all = outages(scene);
    all.retain_mut(|outage| {
        outage.at = outage.hit(symptom, latest);
        outage.at.is_some() || (outage.downs.is_empty() && outage.still_down)
    });
    all.arrange_by_key(|outage| (outage.at.unwrap_or(Stamp::from_micros(i64::MAX)), outage.node));
    all
}

/// What a job prints when a link fails it. A peer that closed its connection merely ended.
const SYMPTOMS: &[&str] = &[
    "nccl.ib_",
    "nccl.ofi",
    "nccl.connect",
    "nccl.socket",
    "nccl.watchdog_timeout",
    "nccl.heartbeat",
    "ucx.",
    "gloo.",
    "torch.store_",
    "jax.",
    "mpi.lost",
];

fn first_symptom<'a>(scene: &Scene<'a>) -> Option<&'a OutputEvent> {
    scene.output().find(|seen| SYMPTOMS.iter().any(|prefix| seen.code().starts_with(prefix)))
}

/// When the job felt it first: the first such line, or the first sign of all.
fn felt_at(scene: &Scene<'_>) -> Option<Stamp> {
    let lines = scene.output().filter(|seen| SYMPTOMS.iter().any(|prefix| seen.code().starts_with(prefix)));
    let written = lines.filter_map(|seen| scene.began(seen).or_else(|| scene.written(seen))).min();
    written.into_iter().chain(scene.first_sign()).min()
}

/// Outages that began together with the first one, one node each.
fn at_once(outages: &[Outage]) -> Vec<&Outage> {
    let Some(first) = outages.iter().find(|outage| outage.at.is_some()) else { return Vec::new() };
    let mut last = first.at;
    let mut group: Vec<&Outage> = Vec::new();
    for outage in outages.iter().filter(|outage| outage.at.is_some()) {
        let (Some(at), Some(before)) = (outage.at, last) else { continue };
        if at.micros_since(before) > AT_ONCE {
            break;
        }
        last = outage.at;
        if group.iter().all(|other| other.node != outage.node) {
            group.push(outage);
        }
    }
    group
}

/// Whether the same port of another node is down too, and only the lack of a log keeps anybody from knowing since when.
fn may_be_together(scene: &Scene<'_>, first: &Outage, other: &Outage) -> bool {
    let unread = scene.evidence.nodes.get(other.node).is_some_and(|node| !node.kernel_read);
    unread && other.node != first.node && other.nic == first.nic && other.at.is_none() && other.still_down
}

fn group_lost_links(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let outages = harmful(scene);
    let mut group = at_once(&outages);
    if let Some(first) = group.first().copied() {
        group.extend(outages.iter().filter(|other| may_be_together(scene, first, other)));
    }
    if group.len() < 2 {
        return None;
    }
    let names: Vec<&str> =
        group.iter().filter_map(|o| scene.name(o.node)).map(|name| name.as_str()).collect();
    let mut claim = Claim::new(
        CauseClass::Network,
        if group.len() > 2 || group.iter().all(|outage| outage.agreed) {
            Confidence::Confirmed
        } else {
            Confidence::Probable
        },
        format!(
            "{} nodes lost a link at the same moment ({}): what they share is a switch",
            group.len(),
            few(&names)
        ),
    );
    claim.at = group.first().and_then(|outage| felt_after(scene, outage));
    claim.trusted = true;
    claim.evidence = group.iter().filter_map(|outage| outage.evidence.first().cloned()).collect();
    Some(claim)
}

fn few(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(" ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn one_node_lost_link(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let outages = harmful(scene);
    if at_once(&outages).len() > 1 {
        return None;
    }
    let first = outages.first()?;
    if outages.iter().any(|other| may_be_together(scene, first, other)) {
        return None;
    }
    let node = scene.name(first.node)?;
    let how = if first.still_down {
        "and is still down".to_owned()
    } else if first.downs.len() > 1 {
        format!("{} times", first.downs.len())
    } else {
        "and came back".to_owned()
    };
    let why = format!("{} of {node} lost its link {how}; no other node did", first.nic);
    let mut claim = Claim::new(CauseClass::Hardware, confidence(first), why);
    claim.at = felt_after(scene, first);
    claim.trusted = true;
    claim.culprits = vec![(first.node, Some(first.nic.clone()))];
    claim.evidence =
        outages.iter().filter(|o| o.node == first.node).flat_map(|o| o.evidence.clone()).collect();
    claim.evidence.extend(complaints(scene, first.node));
    claim.faults = vec![fault(scene, first, claim.why.first().cloned().unwrap_or_default())?];
    Some(claim)
}

/// When an outage took effect: not before it began, and not before anything was felt.
fn felt_after(scene: &Scene<'_>, outage: &Outage) -> Option<Stamp> {
    felt_at(scene).max(outage.at)
}

const fn confidence(outage: &Outage) -> Confidence {
    if outage.agreed { Confidence::Confirmed } else { Confidence::Probable }
}

fn fault(scene: &Scene<'_>, outage: &Outage, why: String) -> Option<Fault> {
    Some(Fault {
        node: scene.name(outage.node)?.clone(),
        resource: outage.nic.clone(),
        code: outage.evidence.first()?.code.clone(),
        class: CauseClass::Hardware,
        confidence: confidence(outage),
        advice: Advice::Drain,
        at: outage.at.unwrap_or_else(|| scene.end()),
        ended_run: false,
        why,
    })
}

/// Links of single nodes that went down within the run and stayed down: a fault of the node also when the run did not
/// end of it.
pub(in crate::attribute) fn lasting(scene: &Scene<'_>) -> Vec<Fault> {
    let all = outages(scene);
    let mut dated: Vec<Outage> = all.into_iter().filter(|outage| !outage.downs.is_empty()).collect();
    dated.iter_mut().for_each(|outage| outage.at = outage.downs.last().copied());
    dated.arrange_by_key(|outage| (outage.at, outage.node));
    let undated: Vec<Outage> = outages(scene).into_iter().filter(|outage| outage.downs.is_empty()).collect();
    let shared = |first: &Outage| undated.iter().any(|other| may_be_together(scene, first, other));
    if at_once(&dated).len() > 1 || dated.iter().any(shared) {
        return Vec::new();
    }
    dated
        .iter()
        .filter(|outage| outage.still_down && outage.agreed)
        .filter_map(|outage| {
            let node = scene.name(outage.node)?;
            fault(scene, outage, format!("{} of {node} lost its link and is still down", outage.nic))
        })
        .collect()
}

/// What the job itself printed of a node's links: the node's own words first, then its peers'.
fn complaints(scene: &Scene<'_>, node: usize) -> Vec<Evidence> {
    let own = scene.output().find(|seen| {
        matches!(seen.code(), "nccl.ib_port_error" | "nccl.ib_device_fatal")
            && scene.places.origin(seen) == Some(node)
    });
    let peer = retries(scene).into_iter().find(|seen| names(scene, seen) == Some(node));
    own.into_iter().chain(peer).map(|seen| scene.quote(seen)).collect()
}

/// Lines that say retries to a peer ran out.
fn retries<'a>(scene: &Scene<'a>) -> Vec<&'a OutputEvent> {
    scene.output().filter(|seen| matches!(seen.code(), "nccl.ib_retry" | "ucx.retry")).collect()
}

/// The node a line names as its peer.
fn names(scene: &Scene<'_>, seen: &OutputEvent) -> Option<usize> {
    scene.places.host(seen.field("peer")?)
}

fn bad_cable(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let retries = retries(scene);
    let mut ports: Vec<(u64, usize, &NicReading)> = scene
        .evidence
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(node, what)| what.nics.iter().map(move |nic| (weight(nic), node, nic)))
        .collect();
    ports.arrange_by_key(|(errors, node, _)| (std::cmp::Reverse(*errors), *node));
    let (most, node, nic) = *ports.first()?;
    let next = ports.iter().find(|(_, other, _)| *other != node).map_or(0, |(errors, _, _)| *errors);
    let stands_out = most >= MANY_SYMBOL_ERRORS && most / 10 >= next;
    let involved =
        |seen: &&&OutputEvent| names(scene, seen) == Some(node) || scene.places.origin(seen) == Some(node);
    let first = *retries.iter().find(involved)?;
    // Old counts on a port that has little to do with what failed are old counts.
    let is_common = 3 * retries.iter().filter(|seen| involved(seen)).count() >= 2 * retries.len();
    if !stands_out || !is_common {
        return None;
    }
    let name = scene.name(node)?;
    let mut claim = Claim::new(
        CauseClass::Hardware,
        Confidence::Probable,
        format!(
            "{} of {name} counts errors as no other port does, and retries over it ran out",
            nic.resource()
        ),
    );
    claim.at = scene.written(first).or_else(|| scene.first_sign());
    claim.trusted = true;
    claim.culprits = vec![(node, Some(nic.resource()))];
    claim.evidence = vec![scene.quote(first), port_evidence(scene, node, nic)];
    claim.faults = vec![Fault {
        node: name.clone(),
        resource: nic.resource(),
        code: Code::from("nic.port_state"),
        class: CauseClass::Hardware,
        confidence: Confidence::Probable,
        advice: Advice::Drain,
        at: claim.at.unwrap_or_else(|| scene.end()),
        ended_run: true,
        why: claim.why.first().cloned().unwrap_or_default(),
    }];
    Some(claim)
}

/// How bad a port looks: its symbol errors, and every loss of the link like many of them.
fn weight(nic: &NicReading) -> u64 {
    let count = |n: Option<u64>| n.unwrap_or_default();
    count(nic.symbol_errors)
        .saturating_add(count(nic.link_downed).saturating_mul(MANY_SYMBOL_ERRORS))
        .saturating_add(count(nic.link_recovery).saturating_mul(10))
}
