//! `nodes/<node>/` of a bundle that is written.
use std::fmt::Write;

use triage_core::attribute::{JobEvidence, NodeEvidence};
use triage_core::catalog::{Catalog, Origin};
use triage_core::reading::{NvmlReading, NvmlState};
use triage_core::{Event, ExitStatus, JobAsk, Resource, SourceKind, Stamp, TaskEdge, TaskWhat};
use triage_wire::{End, Step, TaskRecord, What, encode};

use super::{WriteError, Writer};

impl Writer<'_, '_> {
    pub(super) fn node(&mut self, evidence: &JobEvidence, node: &NodeEvidence) -> Result<(), WriteError> {
        if !node.node.is_safe() {
            return Err(self
                .unwritable("nodes", format!("\"{}\" is no node name", node.node.as_str().escape_debug())));
        }
        let place = format!("nodes/{}", node.node);
        let (lines, others): (Vec<&Event>, Vec<&Event>) =
            node.events.iter().partition(|event| is_of_kernel_log(event, self.catalog));
        if !node.told_only {
            let log = self.kernel_log(evidence.run.start, &lines);
            self.file(&format!("{place}/kernel.log"), log.as_bytes())?;
            let tasks: String = node.tasks.iter().map(|(at, edge)| task(node, *at, edge)).collect();
            self.file(&format!("{place}/tasks.jsonl"), tasks.as_bytes())?;
        }
        if !others.is_empty() {
            let others: Vec<Event> = others.into_iter().map(|event| self.event(event)).collect();
            let name = format!("{place}/events.jsonl");
            let lines = self.json_lines(&name, &others)?;
            self.file(&name, &lines)?;
        }
        if let Some(reading) = &node.nvml {
            self.reading(&place, reading)?;
        }
        if !node.nics.is_empty() {
            self.json(&format!("{place}/nics.json"), &node.nics)?;
        }
        Ok(())
    }

    /// The lines that mean something, in the form of `dmesg --time-format iso`; the ledger keeps no others. The first line
    /// says so, and that the log was read from the run's beginning on.
    fn kernel_log(&mut self, start: Stamp, events: &[&Event]) -> String {
        let first = events.iter().map(|event| event.at).min().unwrap_or(start).min(start);
        let mut log = format!("{} slurm-triage: of the kernel's log, the lines with a meaning\n", iso(first));
        for event in events {
            let text = match &mut self.redactor {
                Some(redactor) => redactor.kernel(&event.text),
                None => event.text.clone(),
            };
            let _ = writeln!(log, "{} {text}", iso(event.at));
        }
        log
    }

    fn event(&mut self, event: &Event) -> Event {
        let mut event = event.clone();
        if let Some(redactor) = &mut self.redactor {
            event.text = redactor.text(&event.text);
            if let Resource::Fs(path) = &event.resource {
                event.resource = Resource::Fs(redactor.text(path));
            }
            for value in event.fields.values_mut() {
                *value = redactor.text(value);
            }
        }
        event
    }

    fn reading(&mut self, place: &str, reading: &NvmlReading) -> Result<(), WriteError> {
        if reading.state == NvmlState::Ok {
            self.json(&format!("{place}/gpus.json"), &reading.gpus)?;
        }
        let about = NvmlReading { gpus: Vec::new(), ..reading.clone() };
        self.json(&format!("{place}/nvml.json"), &about)
    }

    fn json(&mut self, name: &str, value: &impl serde::Serialize) -> Result<(), WriteError> {
        let mut bytes =
            serde_json::to_vec(value).map_err(|error| self.unwritable(name, error.to_string()))?;
        bytes.push(b'\n');
        self.file(name, &bytes)
    }
}

/// Whether an event is a line of the kernel's, which a reader understands anew. What a detector concluded, and what our
/// own readers say of themselves, is none.
fn is_of_kernel_log(event: &Event, catalog: &Catalog) -> bool {
    matches!(event.source, SourceKind::Kmsg | SourceKind::KernelFile)
        && !event.text.contains('\n')
        && catalog
            .read(Origin::Kernel, event.text.as_bytes())
            .is_some_and(|meaning| meaning.code == event.code && meaning.resource == event.resource)
}

/// `2026-03-01T10:00:05,123456+00:00`.
fn iso(at: Stamp) -> String {
    let text = at.to_string();
    text.strip_suffix('Z').map_or_else(|| text.clone(), |text| format!("{}+00:00", text.replace('.', ",")))
}

fn task(node: &NodeEvidence, at: Stamp, edge: &TaskEdge) -> String {
    let step = match edge.step.as_str() {
        "batch" => Step::Batch,
        "extern" => Step::Extern,
        "interactive" => Step::Interactive,
        number => Step::Number(number.parse().unwrap_or_default()),
    };
    encode(&TaskRecord {
        at_us: at.micros(),
        what: match edge.what {
            TaskWhat::Start => What::Start,
            TaskWhat::End(ExitStatus::Exit(code)) => What::End(End::Exit(code)),
            TaskWhat::End(ExitStatus::Signal(signal)) => What::End(End::Signal(signal, false)),
        },
        cluster: String::new(),
        node: node.node.as_str().to_owned(),
        job: edge.job,
        array: edge.array.map(|array| (array.job, array.task)),
        restart: edge.restart,
        step,
        rank: edge.rank,
        local: edge.local,
        pid: edge.pid,
        uid: None,
        triage: if edge.ask == JobAsk::Default { String::new() } else { edge.ask.to_string() },
        gpus: edge.gpus.clone(),
    })
}
