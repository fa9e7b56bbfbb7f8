//! From an NVML sweep to events. A sweep shows a level, an event is a change: a state that the last sweep of this
//! boot showed already is no news, so a sick GPU gives one event and not one a minute - unless its case was closed as
//! repaired meanwhile.
use std::collections::BTreeMap;

use crate::detectors::fault_of;
use crate::pipeline::Input;
use crate::reading::{GpuReading, NvmlReading, NvmlState};
use crate::{
    Advice, BootId, CauseClass, ClearedBy, Code, Confidence, Event, EventId, Observation, PciAddress,
    Resource, Role, SourceKind, still,
};

/// What one field of a GPU's reading means when it turns bad.
struct Sign {
    code: &'static str,
    role: Role,
    advice: Advice,
    confidence: Confidence,
    clears: ClearedBy,
    /// The bad value in words, or `None` while the GPU is fine in this respect.
    bad: fn(&GpuReading) -> Option<String>,
}

/// Sources: NVIDIA's "GPU Memory Error Management" and the NVML reference for the meaning of each field. Uncorrected
/// errors since driver load and a failed remap are confirmed by themselves; a pending remap only asks for a reset
/// when the GPU is idle, so it is watched.
const SIGNS: &[Sign] = &[
    Sign {
        code: "nvml.gpu_lost",
        role: Role::Root,
        advice: Advice::Reboot,
        confidence: Confidence::Confirmed,
        clears: ClearedBy::Reboot,
        bad: |gpu| gpu.lost.then(|| "NVML reports the GPU as lost".to_owned()),
    },
    Sign {
        code: "nvml.ecc_uncorrected",
        role: Role::Root,
        advice: Advice::Reset,
        confidence: Confidence::Probable,
        clears: ClearedBy::GpuReset,
        bad: |gpu| {
            gpu.ecc_uncorrected
                .filter(|n| *n > 0)
                .map(|n| format!("{n} uncorrected ECC errors since the driver was loaded"))
        },
    },
    Sign {
        code: "nvml.remap_failed",
        role: Role::Root,
        advice: Advice::Drain,
        confidence: Confidence::Confirmed,
        clears: ClearedBy::Ack,
        bad: |gpu| gpu.remap_failed.filter(|f| *f).map(|_| "a memory row could not be remapped".to_owned()),
    },
    Sign {
        code: "nvml.remap_pending",
        role: Role::Confirmation,
        advice: Advice::Watch,
        confidence: Confidence::Confirmed,
        clears: ClearedBy::RowRemap,
        bad: |gpu| gpu.remap_pending.filter(|p| *p).map(|_| "a row remap waits for a GPU reset".to_owned()),
    },
    Sign {
        code: "nvml.retired_pages_pending",
        role: Role::Confirmation,
        advice: Advice::Watch,
        confidence: Confidence::Confirmed,
        clears: ClearedBy::Reboot,
        bad: |gpu| {
            gpu.retired_pending.filter(|p| *p).map(|_| "a page retirement waits for a reboot".to_owned())
        },
    },
    Sign {
        code: "nvml.recovery_reset",
        role: Role::Root,
        advice: Advice::Reset,
        confidence: Confidence::Confirmed,
        clears: ClearedBy::GpuReset,
        bad: |gpu| wanted(gpu, &["gpu_reset", "drain_and_reset", "bus_reset"]),
    },
    Sign {
        code: "nvml.recovery_reboot",
        role: Role::Root,
        advice: Advice::Reboot,
        confidence: Confidence::Confirmed,
        clears: ClearedBy::Reboot,
        bad: |gpu| wanted(gpu, &["node_reboot", "system_reboot", "reboot"]),
    },
    Sign {
        code: "nvml.recovery_drain_p2p",
        role: Role::Root,
        advice: Advice::Reset,
        confidence: Confidence::Probable,
        clears: ClearedBy::GpuReset,
        bad: |gpu| wanted(gpu, &["drain_p2p", "recover_imex_domain"]),
    },
];

fn wanted(gpu: &GpuReading, actions: &[&str]) -> Option<String> {
    let action = gpu.recovery_action.as_deref()?;
    actions.contains(&action).then(|| format!("the driver asks for {action}"))
}

/// The code of each sign, how sure one makes, and what it asks for.
pub fn codes() -> impl Iterator<Item = (&'static str, Confidence, Advice)> {
    SIGNS.iter().map(|sign| (sign.code, sign.confidence, sign.advice))
}

/// What one sign says of a GPU now, by its code; `None`: nothing bad.
pub(crate) fn sign(gpu: &GpuReading, code: &str) -> Option<String> {
    SIGNS.iter().find(|sign| sign.code == code).and_then(|sign| (sign.bad)(gpu))
}

/// Whether nothing in this reading speaks against the GPU.
pub(crate) fn is_healthy(gpu: &GpuReading) -> bool {
    SIGNS.iter().all(|sign| (sign.bad)(gpu).is_none())
}

/// What is new against the sweep before this one. `before` comes with the boot it was made in: in another boot its
/// levels are history, and only the addresses of the GPUs are taken from it. `input`: what is known of cases that were closed.
pub(crate) fn events(
    input: Option<&Input<'_>>,
    observation: &Observation,
    reading: &NvmlReading,
    before: Option<(&BootId, &NvmlReading)>,
) -> Vec<Event> {
    let last = before.filter(|(boot, _)| **boot == observation.boot).map(|(_, last)| last);
    let gone = before.and_then(|(_, known)| only_missing_address(known, reading));
    let mut events = Vec::new();
    events.extend(state_event(observation, reading, last));
    for gpu in &reading.gpus {
        let before = last.and_then(|last| last.gpus.iter().find(|g| same_gpu(g, gpu)));
        for sign in SIGNS {
            let Some(text) = (sign.bad)(gpu) else { continue };
            let is_new = before.and_then(sign.bad).as_ref() != Some(&text);
            if is_new || input.is_some_and(|input| is_news_again(input, reading, gpu, sign)) {
                let gone = gone.or_else(|| closed_address(input?, reading, sign));
                events.push(gpu_event(observation, gpu, before, gone, sign, text));
            }
        }
    }
    events
}

fn closed_address(input: &Input<'_>, reading: &NvmlReading, sign: &Sign) -> Option<PciAddress> {
    still::closed_address(input, reading, &fault_of(input.catalog, sign.code))
}

/// What only agrees with a case opens none, so that it never is news twice.
fn is_news_again(input: &Input<'_>, reading: &NvmlReading, gpu: &GpuReading, sign: &Sign) -> bool {
    let resource = gpu.pci.map_or(Resource::GpuIndex(gpu.index), Resource::Gpu);
    let is_it = |other: &Resource| still::may_be_one(reading, other, &resource);
    sign.role == Role::Root && still::is_news_again(input, &[&fault_of(input.catalog, sign.code)], is_it)
}

/// The address of the one GPU that was known before and is not told now: a lost GPU tells NVML's index only, while the
/// kernel log names its address. With two of them missing nobody can say which is which.
fn only_missing_address(known: &NvmlReading, now: &NvmlReading) -> Option<PciAddress> {
    let nameless = now.gpus.iter().filter(|gpu| gpu.pci.is_none()).count();
    let mut missing =
        known.gpus.iter().filter_map(|gpu| gpu.pci).filter(|a| now.gpus.iter().all(|g| g.pci != Some(*a)));
    match (missing.next(), missing.next(), nameless) {
        (Some(address), None, 1) => Some(address),
        _ => None,
    }
}

impl NvmlReading {
    /// Whether NVML answered and reads nothing wrong of any GPU.
    pub fn is_healthy(&self) -> bool {
        self.state == NvmlState::Ok && self.gpus.iter().all(is_healthy)
    }

    /// Gives a GPU that is lost, and no longer tells its address, the name by which the sweep `before` knew it: all that
    /// is held against it has one name then, however long it is lost. Of another boot only the one GPU counts that is
    /// missing now.
    pub fn name_lost(&mut self, before: &Self, same_boot: bool) {
        let gone = only_missing_address(before, self);
        let told: Vec<PciAddress> = self.gpus.iter().filter_map(|gpu| gpu.pci).collect();
        for gpu in self.gpus.iter_mut().filter(|gpu| gpu.lost && gpu.pci.is_none()) {
            let is_it = |old: &&GpuReading| match gone {
                Some(_) => old.pci == gone,
                None => same_boot && old.index == gpu.index,
            };
            let free = |old: &&GpuReading| old.pci.is_some_and(|pci| !told.contains(&pci));
            let Some(old) = before.gpus.iter().filter(free).find(is_it) else { continue };
            gpu.pci = old.pci;
            gpu.uuid = gpu.uuid.take().or_else(|| old.uuid.clone());
            gpu.serial = gpu.serial.take().or_else(|| old.serial.clone());
        }
    }
}

/// A GPU that is lost may no longer tell its address or UUID; its index is all that is left then.
fn same_gpu(a: &GpuReading, b: &GpuReading) -> bool {
    match (a.pci, b.pci) {
        (Some(a), Some(b)) => a == b,
        _ => a.index == b.index,
    }
}

fn gpu_event(
    observation: &Observation,
    gpu: &GpuReading,
    before: Option<&GpuReading>,
    gone: Option<PciAddress>,
    sign: &Sign,
    text: String,
) -> Event {
    let known = |f: fn(&GpuReading) -> Option<String>| f(gpu).or_else(|| before.and_then(f));
    let mut fields = BTreeMap::from([("index".to_owned(), gpu.index.to_string())]);
    for (name, value) in [
        ("uuid", known(|g| g.uuid.clone())),
        ("serial", known(|g| g.serial.clone())),
        ("name", known(|g| g.name.clone())),
    ] {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    }
    let address = gpu.pci.or(gone).or_else(|| before.and_then(|b| b.pci));
    let resource = address.map_or(Resource::GpuIndex(gpu.index), Resource::Gpu);
    Event {
        id: event_id(observation, &resource, sign.code),
        code: Code::from(sign.code),
        class: CauseClass::Hardware,
        role: sign.role,
        advice: sign.advice,
        confidence: sign.confidence,
        clears: sign.clears,
        resource,
        fields,
        text,
        ..skeleton(observation)
    }
}

/// A driver that is not there on a node that had one is news; a node without GPUs is not.
fn state_event(
    observation: &Observation,
    reading: &NvmlReading,
    last: Option<&NvmlReading>,
) -> Option<Event> {
    let code = match reading.state {
        NvmlState::Ok | NvmlState::LibraryMissing => return None,
        NvmlState::DriverNotLoaded => "nvml.driver_not_loaded",
        NvmlState::VersionMismatch => "nvml.version_mismatch",
        NvmlState::NoPermission | NvmlState::Failed => "nvml.failed",
    };
    if last.is_some_and(|last| last.state == reading.state) {
        return None;
    }
    let resource = Resource::Service("nvidia-driver".to_owned());
    Some(Event {
        id: event_id(observation, &resource, code),
        code: Code::from(code),
        class: CauseClass::System,
        role: Role::Root,
        advice: Advice::Watch,
        confidence: Confidence::Probable,
        clears: ClearedBy::Reboot,
        resource,
        fields: BTreeMap::new(),
        text: if reading.detail.is_empty() { code.to_owned() } else { reading.detail.clone() },
        ..skeleton(observation)
    })
}

fn event_id(observation: &Observation, resource: &Resource, code: &str) -> EventId {
    let source = SourceKind::Nvml.word();
    EventId::of(&observation.node, &observation.boot, source, &resource.to_string(), observation.cursor, code)
}

/// The parts every event takes from its observation; the rest is overwritten by the caller.
fn skeleton(observation: &Observation) -> Event {
    Event {
        id: EventId::default(),
        code: Code::default(),
        at: observation.at,
        node: observation.node.clone(),
        boot: observation.boot.clone(),
        source: observation.source,
        stream: observation.stream.clone(),
        cursor: observation.cursor,
        provenance: observation.provenance,
        synthetic: observation.synthetic,
        class: CauseClass::None,
        role: Role::Context,
        advice: Advice::None,
        confidence: Confidence::Suspected,
        clears: ClearedBy::None,
        resource: Resource::Host,
        fields: BTreeMap::new(),
        text: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(gpus: &[(u32, Option<&str>, bool)]) -> NvmlReading {
        let gpu = |(index, pci, lost): &(u32, Option<&str>, bool)| GpuReading {
            index: *index,
            pci: pci.and_then(|pci| pci.parse().ok()),
            uuid: pci.map(|pci| format!("GPU-{pci}")),
            lost: *lost,
            ..GpuReading::default()
        };
        NvmlReading { state: NvmlState::Ok, gpus: gpus.iter().map(gpu).collect(), ..NvmlReading::default() }
    }

    const A: Option<&str> = Some("0000:41:00.0");
    const B: Option<&str> = Some("0000:52:00.0");

    #[test]
    fn a_lost_gpu_keeps_its_name_for_as_long_as_it_is_lost() {
        let mut before = sweep(&[(0, A, false), (1, B, false)]);
        for _ in 0..3 {
            let mut now = sweep(&[(0, A, false), (1, None, true)]);
            now.name_lost(&before, true);
            assert_eq!(now.gpus[1].pci, B.and_then(|pci| pci.parse().ok()));
            assert_eq!(now.gpus[1].uuid.as_deref(), Some("GPU-0000:52:00.0"));
            before = now;
        }
    }

    #[test]
    fn after_a_boot_only_the_one_that_is_missing_can_be_meant() {
        let before = sweep(&[(0, A, false), (1, B, false)]);
        let mut moved = sweep(&[(0, None, true), (1, A, false)]);
        moved.name_lost(&before, false);
        assert_eq!(moved.gpus[0].pci, B.and_then(|pci| pci.parse().ok()));
        let mut both = sweep(&[(0, None, true), (1, None, true)]);
        both.name_lost(&before, false);
        assert!(both.gpus.iter().all(|gpu| gpu.pci.is_none()), "{both:?}");
    }

    #[test]
    fn no_address_is_given_twice() {
        let before = sweep(&[(0, A, false), (1, B, false)]);
        let mut now = sweep(&[(0, None, true), (1, A, false), (2, B, false)]);
        now.name_lost(&before, true);
        assert_eq!(now.gpus[0].pci, None, "both addresses are in use");
    }
}
