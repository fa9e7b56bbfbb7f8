//! Faults of nodes that stand on trusted evidence, whatever ended the run: what each part of each node says, with
//! what does not count taken out and the reason kept.
use crate::arrange::Arrange as _;
use std::collections::BTreeMap;

use super::scene::{Scene, TOGETHER, is_gpu};
use super::{Discounted, Evidence, Fault, states};
use crate::reading::NvmlState;
use crate::{
    Advice, CauseClass, Confidence, Event, ExitStatus, Resource, Role, SourceKind, Stamp, TaskWhat, sweep,
};

/// How long after a task was killed by SIGKILL the NVLink errors of its node are read as the consequence of that.
/// Field incidents show them within seconds; half a minute leaves room for the slow teardown of eight GPUs.
const AFTERMATH: i64 = 30_000_000;

/// Codes that a killed NVLink user throws off: NVLink errors and the halt of the micro-controller that follows.
const THROWN_OFF_BY_KILL: &[&str] =
    &["xid.74", "xid.62", "xid.144", "xid.145", "xid.146", "xid.147", "xid.150"];

/// Codes for which the driver keeps a lasting state that NVML shows: a healthy reading afterwards, in a run whose
/// tasks used the GPU, proves the fault repaired.
const SHOWN_BY_NVML: &[&str] = &[
    "xid.48",
    "xid.64",
    "xid.79",
    "xid.94",
    "xid.95",
    "xid.119",
    "xid.120",
    "xid.140",
    "nvidia.gpu_off_bus",
];

/// What all nodes say of themselves.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Faults, oldest first.
    pub(super) list: Vec<Blamed>,
    /// What was seen and does not count.
    pub(super) discounted: Vec<Discounted>,
}

/// A fault and what it rests on.
#[derive(Debug, Clone)]
pub(super) struct Blamed {
    pub(super) fault: Fault,
    /// The node's place in the job's list.
    pub(super) node: usize,
    /// It still stood at the end of the run: NVML shows it, or a service that failed never came back.
    pub(super) lasting: bool,
    /// Only the sweep after the run says so: when it began is not known.
    pub(super) only_seen_after: bool,
    /// What it rests on, oldest first.
    pub(super) evidence: Vec<Evidence>,
}

/// Weighs every trusted event of every node.
pub(super) fn weigh(scene: &Scene<'_>) -> Faults {
    let mut faults = Faults::default();
    for node in 0..scene.evidence.nodes.len() {
        weigh_node(scene, node, &mut faults);
    }
    faults.list.arrange_by_key(|blamed| (blamed.fault.at, blamed.node));
    let after = faults.list.iter().filter(|blamed| scene.came_after(blamed.node, blamed.fault.at));
    let after: Vec<Discounted> = after.flat_map(|blamed| seen_after(scene, blamed)).collect();
    faults.discounted.extend(after);
    faults.discounted = summed_up(std::mem::take(&mut faults.discounted));
    faults
}

fn weigh_node(scene: &Scene<'_>, node: usize, faults: &mut Faults) {
    let readings = states::of_node(scene, node);
    let mut parts: BTreeMap<Resource, Vec<(Stamp, &Event)>> = BTreeMap::new();
    let mut aside: Vec<(Stamp, &Event, String)> = Vec::new();
    for (at, event) in scene.events(node).chain(readings.iter().map(|event| (event.at, event))) {
        match why_not(scene, node, at, event, &readings) {
            Some(why) => aside.push((at, event, why)),
            None => parts.entry(event.resource.clone()).or_default().push((at, event)),
        }
    }
    let follows = |at: Stamp, event: &Event| {
        let said = parts.get(&event.resource).map(Vec::as_slice).unwrap_or_default();
        event.role == Role::Symptom
            && said.iter().any(|(root, other)| is_root(other) && is_echo_of(*root, at))
    };
    aside.retain(|(at, event, _)| !follows(*at, event));
    faults.discounted.extend(aside.into_iter().map(|(at, event, why)| discount(scene, at, event, why)));
    faults.list.extend(parts.into_iter().filter_map(|(resource, said)| blame(scene, node, resource, &said)));
}

/// Whether an event may be blamed on its node.
fn is_root(event: &Event) -> bool {
    matches!(event.role, Role::Root | Role::Either)
        && matches!(event.class, CauseClass::Hardware | CauseClass::System)
}

/// What a part throws off within two minutes of its own fault is part of that story, and needs no excuse.
const fn is_echo_of(fault: Stamp, at: Stamp) -> bool {
    let after = at.micros_since(fault);
    after >= -TOGETHER && after <= 120_000_000
}

/// Why an event does not count against its node; `None` when it does, or when it never would.
fn why_not(scene: &Scene<'_>, node: usize, at: Stamp, event: &Event, readings: &[Event]) -> Option<String> {
    if !matches!(event.class, CauseClass::Hardware | CauseClass::System)
        && !matches!(event.role, Role::Symptom | Role::Teardown)
    {
        return None;
    }
    if !matches!(event.role, Role::Root | Role::Either | Role::Confirmation | Role::Symptom | Role::Teardown)
    {
        return None;
    }
    if !scene.is_of_this_boot(node, event) {
        return Some("of an earlier boot: the node was booted again since".to_owned());
    }
    if let Some(why) = repaired_before(scene, node, at, event) {
        return Some(why);
    }
    if matches!(event.role, Role::Symptom | Role::Teardown) && is_gpu(&event.resource) {
        return Some(as_symptom(scene, node, at));
    }
    thrown_off(scene, node, at, event, readings)
}

/// What was said before the run and is over: the node was in service since. What lasts, NVML shows; a service that failed
/// may still be down.
fn repaired_before(scene: &Scene<'_>, node: usize, at: Stamp, event: &Event) -> Option<String> {
    if !is_before_run(scene, at) || matches!(event.resource, Resource::Service(_)) {
        return None;
    }
    if !SHOWN_BY_NVML.contains(&event.code.as_str()) {
        return Some("before the run, and the node was in service since".to_owned());
    }
    let reading = scene.evidence.nodes.get(node)?.nvml.as_ref()?;
    let healthy = reading
        .gpus
        .iter()
        .any(|gpu| event.resource.pci().is_some_and(|pci| gpu.pci == Some(pci)) && sweep::is_healthy(gpu));
    (reading.state == NvmlState::Ok && healthy)
        .then(|| "before the run, and NVML reads the GPU as healthy after it".to_owned())
}

fn is_before_run(scene: &Scene<'_>, at: Stamp) -> bool {
    at < scene.evidence.run.start.plus_micros(-TOGETHER)
}

fn as_symptom(scene: &Scene<'_>, node: usize, at: Stamp) -> String {
    match scene.deaths.iter().find(|death| death.at <= at.plus_micros(TOGETHER / 3)) {
        Some(death) if death.node == node => {
            format!("thrown off while the job was taken down: task {} had ended before", death.task)
        }
        Some(death) => {
            let whose = scene.name(death.node).map_or("", |name| name.as_str());
            format!(
                "thrown off while the job was taken down: task {} on {whose} had ended before",
                death.task
            )
        }
        None => "follows from another error; never a cause by itself".to_owned(),
    }
}

/// A process killed in the middle of a transfer leaves its NVLink peers with broken transactions.
fn thrown_off(
    scene: &Scene<'_>,
    node: usize,
    at: Stamp,
    event: &Event,
    readings: &[Event],
) -> Option<String> {
    if !THROWN_OFF_BY_KILL.contains(&event.code.as_str()) || asks_for_recovery(scene, node, event, readings) {
        return None;
    }
    let tasks = &scene.evidence.nodes.get(node)?.tasks;
    let killed = tasks
        .iter()
        .filter(|(_, edge)| edge.what == TaskWhat::End(ExitStatus::Signal(9)))
        .map(|(ended, _)| scene.moment(node, *ended))
        .filter(|ended| *ended <= at.plus_micros(TOGETHER / 3) && at.micros_since(*ended) <= AFTERMATH)
        .max()?;
    let seconds = at.micros_since(killed).max(0) / 1_000_000;
    Some(format!("came {seconds} s after a task was killed by SIGKILL: likely its aftermath"))
}

/// Whether the driver asks for a recovery of that GPU, in the log or through NVML.
fn asks_for_recovery(scene: &Scene<'_>, node: usize, event: &Event, readings: &[Event]) -> bool {
    let in_log = scene.events(node).any(|(at, other)| {
        other.code.as_str() == "xid.154"
            && other.resource == event.resource
            && other.advice.wants_node_out()
            && scene.is_within_run(at)
    });
    in_log || readings.iter().any(|other| other.resource == event.resource && other.advice.wants_node_out())
}

/// The fault of one part, when something that may be blamed is among what was said of it.
fn blame(scene: &Scene<'_>, node: usize, resource: Resource, said: &[(Stamp, &Event)]) -> Option<Blamed> {
    let roots: Vec<&(Stamp, &Event)> = said.iter().filter(|(_, event)| is_root(event)).collect();
    let lead =
        roots.iter().max_by_key(|(at, event)| (event.advice, event.confidence, std::cmp::Reverse(*at)))?;
    let confirmations = said.iter().filter(|(_, event)| event.role == Role::Confirmation);
    let all: Vec<&(Stamp, &Event)> = roots.iter().copied().chain(confirmations).collect();
    // Warnings that went before, corrected errors for one, are not yet the fault.
    let grave = lead.1.advice.wants_node_out();
    let (at, first) =
        roots.iter().filter(|(_, event)| event.advice.wants_node_out() == grave).min_by_key(|(at, _)| *at)?;
    let sources = super::scene::tally(all.iter().map(|(_, event)| event.source)).len();
    let confidence = roots.iter().map(|(_, event)| event.confidence).max()?;
    let advice = advice(&all);
    // Old news that no reading bears out may be long mended.
    let confirmed_by_now =
        !is_before_run(scene, *at) || all.iter().any(|(_, e)| e.source == SourceKind::Nvml);
    let confidence = if confirmed_by_now { confidence } else { confidence.min(Confidence::Probable) };
    let class = if roots
        .iter()
        .any(|(_, event)| event.class == CauseClass::Hardware && event.advice.wants_node_out())
    {
        CauseClass::Hardware
    } else {
        lead.1.class
    };
    let lasting = matches!(resource, Resource::Service(_))
        || all.iter().any(|(_, event)| event.source == SourceKind::Nvml);
    Some(Blamed {
        node,
        lasting,
        only_seen_after: all.iter().all(|(_, event)| event.source == SourceKind::Nvml),
        evidence: cited(scene, &all),
        fault: Fault {
            node: scene.name(node)?.clone(),
            why: format!("{} on {resource}: {}", lead.1.code, first.text),
            code: lead.1.code.clone(),
            class,
            confidence: if sources > 1 && confidence >= Confidence::Probable {
                Confidence::Confirmed
            } else {
                confidence
            },
            advice,
            at: *at,
            ended_run: false,
            resource,
        },
    })
}

/// The gravest advice. An uncorrectable memory error that left a row to be remapped needs a reset of the GPU, although
/// neither of the two asks for one alone.
fn advice(said: &[&(Stamp, &Event)]) -> Advice {
    let gravest = said.iter().map(|(_, event)| event.advice).max().unwrap_or(Advice::None);
    let any = |codes: &[&str]| said.iter().any(|(_, event)| codes.contains(&event.code.as_str()));
    let uncorrectable = any(&["xid.48", "xid.94", "xid.95", "xid.171", "xid.172"]);
    let to_be_remapped = any(&["xid.63", "nvml.remap_pending", "nvml.retired_pages_pending"]);
    if uncorrectable && to_be_remapped { gravest.max(Advice::Reset) } else { gravest }
}

/// The first event of every code.
fn cited(scene: &Scene<'_>, said: &[&(Stamp, &Event)]) -> Vec<Evidence> {
    let mut firsts: BTreeMap<&str, Evidence> = BTreeMap::new();
    for (at, event) in said {
        let cited = scene.cite(*at, event);
        match firsts.get_mut(event.code.as_str()) {
            Some(first) if first.time <= cited.time => {}
            Some(first) => *first = cited,
            None => {
                firsts.insert(event.code.as_str(), cited);
            }
        }
    }
    let mut cited: Vec<Evidence> = firsts.into_values().collect();
    cited.arrange();
    cited
}

/// A fault that was first seen when the run was over stands against its node and explains nothing.
fn seen_after(scene: &Scene<'_>, blamed: &Blamed) -> Vec<Discounted> {
    let seconds = blamed.fault.at.micros_since(scene.end()) / 1_000_000;
    let why = format!(
        "first seen {seconds} s after the run had ended: held against the node, not taken for the cause"
    );
    let one = |evidence: &Evidence| Discounted { evidence: evidence.clone(), count: 1, why: why.clone() };
    blamed.evidence.iter().map(one).collect()
}

fn discount(scene: &Scene<'_>, at: Stamp, event: &Event, why: String) -> Discounted {
    Discounted { evidence: scene.cite(at, event), count: 1, why }
}

/// One entry a node, code and reason.
fn summed_up(all: Vec<Discounted>) -> Vec<Discounted> {
    let mut sums: BTreeMap<(Option<crate::NodeName>, crate::Code, String), Discounted> = BTreeMap::new();
    for one in all {
        let key = (one.evidence.node.clone(), one.evidence.code.clone(), one.why.clone());
        match sums.get_mut(&key) {
            Some(sum) => {
                sum.count = sum.count.saturating_add(one.count);
                if one.evidence.time < sum.evidence.time {
                    sum.evidence = one.evidence;
                }
            }
            None => {
                sums.insert(key, one);
            }
        }
    }
    let mut sums: Vec<Discounted> = sums.into_values().collect();
    sums.arrange();
    sums
}
