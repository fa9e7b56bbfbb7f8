//! Builders for pipeline tests: a node, its sources, a job on it.
#![allow(dead_code, reason = "each test file uses a part of the builders")]
pub(crate) mod looked;

use triage_core::catalog::Catalog;
use triage_core::fleet::Fleet;
use triage_core::memory::Memory;
use triage_core::pipeline::{Asked, Input, Trigger};
use triage_core::policy::{Modes, Policy};
use triage_core::reading::{GpuReading, NvmlReading, NvmlState};
use triage_core::*;

pub(crate) fn at(secs: i64) -> Stamp {
    Stamp::from_secs(1_800_000_000 + secs)
}

pub(crate) fn gpu(index: u32) -> GpuReading {
    GpuReading {
        index,
        uuid: Some(format!("GPU-{index}")),
        pci: format!("0000:{:02x}:00.0", 0x10 + index).parse().ok(),
        ecc_uncorrected: Some(0),
        remap_pending: Some(false),
        remap_failed: Some(false),
        recovery_action: Some("none".to_owned()),
        ..GpuReading::default()
    }
}

pub(crate) fn healthy() -> NvmlReading {
    NvmlReading { state: NvmlState::Ok, gpus: (0..8).map(gpu).collect(), ..NvmlReading::default() }
}

pub(crate) fn with(change: impl Fn(&mut GpuReading)) -> NvmlReading {
    let mut reading = healthy();
    change(&mut reading.gpus[3]);
    reading
}

pub(crate) const BAD_GPU: &str = "gpu:0000:13:00.0";

pub(crate) fn observe(boot: &str, when: Stamp, source: SourceKind, payload: Payload) -> Observation {
    Observation {
        node: NodeName::from("n1"),
        boot: BootId::from(boot),
        source,
        stream: String::new(),
        cursor: when.micros().unsigned_abs(),
        at: when,
        provenance: Provenance::Trusted,
        synthetic: false,
        payload,
    }
}

pub(crate) fn sweep(when: Stamp, reading: NvmlReading) -> Observation {
    observe("b1", when, SourceKind::Nvml, Payload::Nvml(Box::new(reading)))
}

pub(crate) fn line(when: Stamp, text: &str) -> Observation {
    observe("b1", when, SourceKind::Kmsg, Payload::Line(text.to_owned()))
}

pub(crate) fn acting() -> Policy {
    Policy { mode: Modes { default: Mode::Act, ..Modes::default() }, ..Policy::default() }
}

pub(crate) fn span(nodes: &[&str], exit: Option<ExitStatus>) -> JobSpan {
    JobSpan {
        run: RunId { cluster: "c".to_owned(), job: 42, array: None, het: None, restart: 0, start: at(0) },
        node: NodeName::from("n1"),
        boot: BootId::from("b1"),
        uid: 1000,
        user: "u".to_owned(),
        partition: "p".to_owned(),
        nodes: nodes.iter().map(|n| NodeName::from(*n)).collect(),
        gpus: Vec::new(),
        ask: JobAsk::Default,
        end: exit.map(|_| at(600)),
        exit,
        state: String::new(),
    }
}

pub(crate) fn job_record() -> JobRecord {
    JobRecord { job: 42, state: "FAILED".to_owned(), requeue: true, batch: true, ..JobRecord::default() }
}

pub(crate) fn node_record(state: &str, reason: &str) -> NodeRecord {
    NodeRecord {
        node: NodeName::from("n1"),
        state: vec![state.to_owned()],
        reason: reason.to_owned(),
        ..NodeRecord::default()
    }
}

pub(crate) fn input<'a>(catalog: &'a Catalog, policy: &'a Policy, trigger: Trigger) -> Input<'a> {
    Input {
        now: at(600),
        node: NodeName::from("n1"),
        boot: BootId::from("b1"),
        trigger,
        catalog,
        policy,
        observations: Vec::new(),
        cases: Vec::new(),
        past: triage_core::pipeline::Past::default(),
        last_reading: None,
        spans: Vec::new(),
        span: None,
        tasks: Vec::new(),
        run_events: Vec::new(),
        kernel_read: true,
        history: Vec::new(),
        output: Asked::NotAsked,
        progress: Asked::NoAnswer("not read".to_owned()),
        running: Asked::NotAsked,
        out: Vec::new(),
        returns: Vec::new(),
        decided: Vec::new(),
        holds: Vec::new(),
        peers: Asked::NotAsked,
        job: Asked::NotAsked,
        memory: Asked::Answer(Memory::default()),
        fleet: Asked::Answer(Fleet::default()),
        node_record: Asked::NotAsked,
        checks: None,
    }
}

pub(crate) fn catalog() -> Catalog {
    triage_catalog::embedded()
}
