//! Evidence for tests, built by hand: nodes `n1`, `n2` ... of a run that began at second 0 of [`START`].
use std::collections::BTreeMap;

use super::{JobEvidence, LineTime, NicReading, NodeEvidence, OutputEvent, RunFacts};
use crate::arrange::Arrange as _;
use crate::reading::{GpuReading, NvmlReading, NvmlState};
use crate::{
    Advice, BootId, CauseClass, ClearedBy, Code, Confidence, Event, EventId, ExitStatus, JobAsk, NodeName,
    Provenance, Resource, Role, SourceKind, Stamp, TaskEdge, TaskWhat,
};

/// 2026-05-04T12:00:00Z.
pub(crate) const START: i64 = 1_777_896_000;

/// Ranks of every node.
pub(crate) const PER_NODE: u32 = 4;

/// A second of the run.
pub(crate) fn at(seconds: f64) -> Stamp {
    #[expect(clippy::cast_possible_truncation, reason = "seconds of a test")]
    let micros = (seconds * 1e6) as i64;
    Stamp::from_secs(START).plus_micros(micros)
}

/// The GPU of that number on any node.
pub(crate) fn gpu(number: u32) -> Resource {
    Resource::from(format!("gpu:0000:{:02x}:00.0", 0x10 + number).as_str())
}

/// Evidence in the making.
pub(crate) struct Job {
    pub(crate) evidence: JobEvidence,
}

impl Job {
    /// A run of a thousand seconds on `nodes` nodes, of which nothing is known yet.
    pub(crate) fn new(nodes: usize) -> Self {
        let run = RunFacts {
            job: "700".to_owned(),
            user: "ann".to_owned(),
            state: "FAILED".to_owned(),
            exit: Some(ExitStatus::Exit(1)),
            start: at(0.0),
            end: Some(at(1000.0)),
            restart: 0,
            ranks_per_node: Some(PER_NODE),
        };
        let node = |index: usize| NodeEvidence {
            node: NodeName::new(format!("n{}", index + 1)),
            boot: Some(at(-100_000.0)),
            addresses: vec![format!("10.0.0.{}", index + 1)],
            kernel_read: true,
            nvml: Some(healthy()),
            nics: vec![port("mlx5_0"), port("mlx5_1")],
            ..NodeEvidence::default()
        };
        let evidence = JobEvidence { run, nodes: (0..nodes).map(node).collect(), ..JobEvidence::default() };
        Self { evidence }
    }

    /// The same with all tasks started at second 1.
    pub(crate) fn running(nodes: usize) -> Self {
        let mut job = Self::new(nodes);
        for node in 0..nodes {
            for local in 0..PER_NODE {
                let task = rank_of(node, local);
                job.task(node, 1.0, task, TaskWhat::Start);
            }
        }
        job
    }

    /// Slurm's word for the end.
    pub(crate) fn state(&mut self, state: &str) -> &mut Self {
        state.clone_into(&mut self.evidence.run.state);
        self
    }

    /// The first task of a node starts.
    pub(crate) fn start(&mut self, node: usize, second: i64) -> &mut Self {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
        let second = second as f64;
        self.task(node, second, rank_of(node, 0), TaskWhat::Start)
    }

    /// The first task of a node ends with an exit code.
    pub(crate) fn end(&mut self, node: usize, second: i64, code: i32) -> &mut Self {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
        let second = second as f64;
        self.task(node, second, rank_of(node, 0), TaskWhat::End(ExitStatus::Exit(code)))
    }

    /// A task ends.
    pub(crate) fn dies(&mut self, task: u32, second: f64, status: ExitStatus) -> &mut Self {
        self.task((task / PER_NODE) as usize, second, task, TaskWhat::End(status))
    }

    /// All tasks that did not end yet are ended by a signal.
    pub(crate) fn all_killed(&mut self, second: f64, signal: i32) -> &mut Self {
        let world = PER_NODE * u32::try_from(self.evidence.nodes.len()).unwrap();
        for task in 0..world {
            let node = (task / PER_NODE) as usize;
            let ended = |(_, edge): &(Stamp, TaskEdge)| edge.rank == task && edge.what != TaskWhat::Start;
            if !self.evidence.nodes[node].tasks.iter().any(ended) {
                self.dies(task, second, ExitStatus::Signal(signal));
            }
        }
        self
    }

    fn task(&mut self, node: usize, second: f64, task: u32, what: TaskWhat) -> &mut Self {
        let edge = TaskEdge {
            job: 700,
            array: None,
            restart: 0,
            step: "0".to_owned(),
            rank: task,
            local: task % PER_NODE,
            pid: 5000 + task,
            what,
            ask: JobAsk::Default,
            gpus: vec![gpu(task % PER_NODE).to_string().trim_start_matches("gpu:").to_owned()],
        };
        self.evidence.nodes[node].tasks.push((at(second), edge));
        self
    }

    /// A node's kernel says something.
    pub(crate) fn kernel(&mut self, node: usize, second: f64, event: Event) -> &mut Self {
        let name = self.evidence.nodes[node].node.clone();
        let events = &mut self.evidence.nodes[node].events;
        let cursor = events.len() as u64;
        let id = EventId::of(&name, &BootId::default(), "kernel_file", "", cursor, event.code.as_str());
        events.push(Event { at: at(second), node: name, cursor, id, ..event });
        events.arrange_by_key(|event| event.at);
        self
    }

    /// The job prints something.
    pub(crate) fn prints(&mut self, second: f64, line: OutputEvent) -> &mut Self {
        let place = self.evidence.output.len() as u64;
        let time = LineTime { own: Some(at(second)), ..LineTime::default() };
        self.evidence.output.push(OutputEvent { time, place, ..line });
        self
    }

    /// All ranks but some report a collective that ran into its time-out.
    pub(crate) fn all_time_out(&mut self, second: f64, timeout_s: u32, but: &[u32]) -> &mut Self {
        let world = PER_NODE * u32::try_from(self.evidence.nodes.len()).unwrap();
        for rank in (0..world).filter(|rank| !but.contains(rank)) {
            self.prints(second, timeout(rank, 77, timeout_s));
        }
        self
    }

    /// The reading of one GPU of a node is changed.
    pub(crate) fn nvml(
        &mut self,
        node: usize,
        number: usize,
        change: impl FnOnce(&mut GpuReading),
    ) -> &mut Self {
        change(&mut self.evidence.nodes[node].nvml.as_mut().unwrap().gpus[number]);
        self
    }

    /// The reading of one port of a node is changed.
    pub(crate) fn port(
        &mut self,
        node: usize,
        number: usize,
        change: impl FnOnce(&mut NicReading),
    ) -> &mut Self {
        change(&mut self.evidence.nodes[node].nics[number]);
        self
    }
}

/// The rank that is number `local` on a node.
pub(crate) fn rank_of(node: usize, local: u32) -> u32 {
    u32::try_from(node).unwrap() * PER_NODE + local
}

fn healthy() -> NvmlReading {
    let reading = |index: u32| GpuReading {
        index,
        pci: gpu(index).pci(),
        ecc_uncorrected: Some(0),
        remap_pending: Some(false),
        remap_failed: Some(false),
        recovery_action: Some("none".to_owned()),
        ..GpuReading::default()
    };
    NvmlReading { state: NvmlState::Ok, gpus: (0..PER_NODE).map(reading).collect(), ..NvmlReading::default() }
}

fn port(name: &str) -> NicReading {
    NicReading {
        name: name.to_owned(),
        port: 1,
        state: "active".to_owned(),
        link_downed: Some(0),
        symbol_errors: Some(0),
        link_recovery: Some(0),
    }
}

/// A trusted event that may be blamed.
pub(crate) fn event(code: &str, resource: Resource, class: CauseClass, advice: Advice) -> Event {
    Event {
        id: EventId::default(),
        code: Code::from(code),
        at: Stamp::default(),
        node: NodeName::default(),
        boot: BootId::default(),
        source: SourceKind::KernelFile,
        stream: String::new(),
        cursor: 0,
        provenance: Provenance::Trusted,
        synthetic: false,
        class,
        role: Role::Root,
        advice,
        confidence: Confidence::Confirmed,
        clears: ClearedBy::None,
        resource,
        fields: BTreeMap::new(),
        text: format!("the line of {code}"),
    }
}

/// A hardware fault that asks for the node to go out.
pub(crate) fn broken(code: &str, resource: Resource) -> Event {
    event(code, resource, CauseClass::Hardware, Advice::Drain)
}

/// An event that only plays a part.
pub(crate) fn playing(role: Role, code: &str, resource: Resource) -> Event {
    Event { role, class: CauseClass::Unknown, ..event(code, resource, CauseClass::Unknown, Advice::None) }
}

/// A line of the job's output.
pub(crate) fn line(code: &str, class: CauseClass, role: Role, rank: Option<u32>) -> OutputEvent {
    let event = Event {
        provenance: Provenance::User,
        source: SourceKind::JobOutput,
        role,
        ..event(code, Resource::Job, class, Advice::None)
    };
    OutputEvent {
        event,
        time: LineTime::default(),
        rank,
        task: None,
        host: None,
        pid: None,
        gpu: None,
        file: 0,
        place: 0,
        count: 1,
        survived: false,
    }
}

/// A line with named parts.
pub(crate) fn with(mut line: OutputEvent, fields: &[(&str, &str)]) -> OutputEvent {
    line.event.fields = fields.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    line
}

/// A rank's report that a collective ran into its time-out.
pub(crate) fn timeout(rank: u32, seq: u64, timeout_s: u32) -> OutputEvent {
    let (seq, ms) = (seq.to_string(), (timeout_s * 1000).to_string());
    let fields =
        [("seq", seq.as_str()), ("op", "ALLREDUCE"), ("numel_in", "8"), ("timeout_ms", &ms), ("ran_ms", &ms)];
    with(line("nccl.watchdog_timeout", CauseClass::Unknown, Role::Symptom, Some(rank)), &fields)
}

/// A rank's error that its program made.
pub(crate) fn exception(rank: u32) -> OutputEvent {
    line("python.exception", CauseClass::Application, Role::Root, Some(rank))
}
