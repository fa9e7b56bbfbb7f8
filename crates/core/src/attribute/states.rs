//! States that a node is in at the end of the run, as events: what NVML says of its GPUs, and what only a comparison
//! with the other nodes of the job can tell.
use crate::arrange::Arrange as _;
use std::collections::BTreeMap;

use super::scene::Scene;
use crate::reading::{GpuReading, NvmlReading, NvmlState};
use crate::{
    Advice, BootId, CauseClass, ClearedBy, Code, Confidence, Event, EventId, Observation, Payload,
    Provenance, Resource, Role, SourceKind, Stamp, TaskWhat, sweep,
};

/// What is wrong with a node at the end of the run.
pub(super) fn of_node(scene: &Scene<'_>, node: usize) -> Vec<Event> {
    let Some(what) = scene.evidence.nodes.get(node) else { return Vec::new() };
    let Some(reading) = what.nvml.as_ref() else { return Vec::new() };
    let observation = observation(scene, node);
    let mut events = sweep::events(None, &observation, reading, None);
    // Errors counted since the driver was loaded may be of any earlier job: by themselves they only agree, unless the
    // kernel's word on them is lost.
    let only_agrees = |event: &Event| event.code.as_str() == "nvml.ecc_uncorrected" && what.kernel_read;
    for event in events.iter_mut().filter(|event| only_agrees(event)) {
        event.role = Role::Confirmation;
        event.advice = Advice::Watch;
    }
    events.extend(fabric(scene, node, reading, &observation));
    events.extend(missing_gpus(scene, node, reading, &observation));
    events
}

/// Whether NVML of the node has lost a GPU, or no longer lists one that the job was given.
pub(super) fn lacks_a_gpu(scene: &Scene<'_>, node: usize) -> bool {
    of_node(scene, node)
        .iter()
        .any(|event| matches!(event.code.as_str(), "nvml.gpu_lost" | "nvml.gpu_missing"))
}

/// The GPUs of one node never joined the NVLink fabric, while those of another node of the job did. Fabric Manager is
/// what registers them; without it no CUDA program starts (error 802).
fn fabric(scene: &Scene<'_>, node: usize, reading: &NvmlReading, observation: &Observation) -> Option<Event> {
    let waiting = reading.gpus.iter().filter(|gpu| is_waiting(gpu)).count();
    let elsewhere = scene.evidence.nodes.iter().enumerate().filter(|(other, _)| *other != node);
    let joined = elsewhere
        .flat_map(|(_, what)| what.nvml.iter())
        .any(|other| !other.gpus.is_empty() && other.gpus.iter().all(has_joined));
    let refused = || {
        scene
            .output()
            .any(|seen| seen.code() == "cuda.not_initialized" && scene.places.origin(seen) == Some(node))
    };
    if waiting == 0 || !(joined || refused()) {
        return None;
    }
    let state = reading.gpus.iter().find(|gpu| is_waiting(gpu))?.fabric_state.clone()?;
    Some(Event {
        class: CauseClass::System,
        role: Role::Root,
        advice: Advice::Drain,
        confidence: Confidence::Probable,
        clears: ClearedBy::Reboot,
        text: format!("{waiting} GPUs have not joined the NVLink fabric: fabric state {state}"),
        ..event(observation, "nvml.fabric_incomplete", Resource::Service("nvidia-fabricmanager".to_owned()))
    })
}

fn is_waiting(gpu: &GpuReading) -> bool {
    matches!(gpu.fabric_state.as_deref(), Some("in_progress" | "not_started"))
}

fn has_joined(gpu: &GpuReading) -> bool {
    gpu.fabric_state.as_deref() == Some("completed")
}

/// A GPU that NVML no longer lists although a task was given it. What a task says of its GPUs is its own word, so the
/// node must also have fewer GPUs than most others.
fn missing_gpus(
    scene: &Scene<'_>,
    node: usize,
    reading: &NvmlReading,
    observation: &Observation,
) -> Vec<Event> {
    let Some(what) = scene.evidence.nodes.get(node) else { return Vec::new() };
    let most = usual_count(scene);
    if reading.state != NvmlState::Ok || reading.gpus.len() >= most {
        return Vec::new();
    }
    let listed = |pci| reading.gpus.iter().any(|gpu| gpu.pci == Some(pci));
    let mut named: Vec<crate::PciAddress> = what
        .tasks
        .iter()
        .filter(|(_, edge)| edge.what == TaskWhat::Start)
        .flat_map(|(_, edge)| &edge.gpus)
        .filter_map(|gpu| gpu.parse().ok())
        .filter(|pci| !listed(*pci))
        .collect();
    named.arrange();
    named.dedup();
    let missing = |resource: Resource| Event {
        class: CauseClass::Hardware,
        role: Role::Root,
        advice: Advice::Reboot,
        confidence: Confidence::Probable,
        clears: ClearedBy::Reboot,
        text: format!("NVML lists {} GPUs, the other nodes have {most}", reading.gpus.len()),
        ..event(observation, "nvml.gpu_missing", resource)
    };
    match named.as_slice() {
        [] => vec![missing(Resource::Host)],
        some => some.iter().map(|pci| missing(Resource::Gpu(*pci))).collect(),
    }
}

/// How many GPUs most nodes of the job have.
fn usual_count(scene: &Scene<'_>) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for reading in scene.evidence.nodes.iter().filter_map(|node| node.nvml.as_ref()) {
        *counts.entry(reading.gpus.len()).or_default() += 1;
    }
    let of_one_kind = counts.iter().max_by_key(|(gpus, nodes)| (**nodes, **gpus));
    of_one_kind.map_or(0, |(gpus, _)| *gpus)
}

fn observation(scene: &Scene<'_>, node: usize) -> Observation {
    Observation {
        node: scene.name(node).cloned().unwrap_or_default(),
        boot: BootId::default(),
        source: SourceKind::Nvml,
        stream: String::new(),
        cursor: 0,
        at: seen_at(scene),
        provenance: Provenance::Trusted,
        synthetic: false,
        payload: Payload::Nvml(Box::default()),
    }
}

/// The sweep is made at the end of the run.
fn seen_at(scene: &Scene<'_>) -> Stamp {
    scene.end()
}

fn event(observation: &Observation, code: &str, resource: Resource) -> Event {
    let source = SourceKind::Nvml.word();
    let text = resource.to_string();
    Event {
        id: EventId::of(&observation.node, &observation.boot, source, &text, observation.cursor, code),
        code: Code::from(code),
        at: observation.at,
        node: observation.node.clone(),
        boot: observation.boot.clone(),
        source: SourceKind::Nvml,
        stream: String::new(),
        cursor: observation.cursor,
        provenance: observation.provenance,
        synthetic: observation.synthetic,
        class: CauseClass::Unknown,
        role: Role::Context,
        advice: Advice::None,
        confidence: Confidence::Suspected,
        clears: ClearedBy::None,
        resource,
        fields: BTreeMap::new(),
        text: String::new(),
    }
}
