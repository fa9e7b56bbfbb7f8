//! `kernel.log`: kernel messages in whatever form somebody saved them, with lines of services among them.
use std::collections::BTreeMap;
use std::path::Path;
use triage_core::arrange::Arrange as _;

use triage_core::attribute::{NodeEvidence, oom};
use triage_core::catalog::{Catalog, Origin};
use triage_core::classify::prefix::{Clock, LineTime, Peeled, Sender, names_a_service, peel};
use triage_core::{BootId, Event, NodeName, Observation, Payload, Provenance, SourceKind, Stamp};

use crate::incident::Incident;
use crate::{files, output};

/// Most bytes of one node's log that are read, from its end.
const MOST: u64 = 64 << 20;

/// Most events of one code on one resource in one part of the log. A GPU may log the same error a hundred thousand times.
const MOST_ALIKE: usize = 64;

/// Most events of the run itself, and of the times before and after it, in one node's log.
const MOST_OF_PART: [usize; 3] = [2048, 8192, 2048];

/// How long after the run's end its aftermath is logged.
const AFTERMATH_S: i64 = 600;

pub(crate) fn read(place: &Path, incident: &Incident, node: &mut NodeEvidence, catalog: &Catalog) {
    let (bytes, cut) = match files::read_tail(&place.join("kernel.log"), MOST) {
        Ok(read) => read,
        Err(error) => {
            node.blind.push(format!("kernel.log: {error}"));
            return;
        }
    };
    let mut reader = Reader::new(incident, node, catalog, &bytes);
    for (number, line) in bytes.split(|b| *b == b'\n').enumerate() {
        reader.line(number as u64, line);
    }
    let Reader { events, oom, first, undated, lost, .. } = reader;
    node.events = events;
    node.events.arrange_by_key(|event| (event.at, event.cursor));
    node.oom = oom.finish();
    let run_start = incident.run.start;
    if undated > 0 {
        node.blind.push(format!(
            "kernel.log: {undated} line(s) with a meaning have no time: add the node's boot time"
        ));
    }
    if lost > 0 {
        node.blind.push(format!("kernel.log: {lost} record(s) were overwritten before they were saved"));
    }
    let late = first.filter(|first| *first > run_start.plus_secs(1));
    node.kernel_read = lost == 0 && late.is_none() && first.is_some();
    if let Some(first) = late {
        node.blind.push(format!("kernel.log begins at {first}, after the run did"));
    } else if cut && first.is_none() {
        node.blind.push("kernel.log: its beginning was not read".to_owned());
    }
}

struct Reader<'a> {
    catalog: &'a Catalog,
    incident: &'a Incident,
    node: NodeName,
    clock: Clock,
    /// Kernel lines of this log carry the kernel's own time behind the sender's name; one without is not the kernel's.
    stamped: bool,
    events: Vec<Event>,
    alike: BTreeMap<(String, String, usize), usize>,
    of_part: [usize; 3],
    oom: oom::Reader,
    first: Option<Stamp>,
    undated: usize,
    last_sequence: Option<u64>,
    lost: u64,
}

impl<'a> Reader<'a> {
    fn new(incident: &'a Incident, node: &NodeEvidence, catalog: &'a Catalog, log: &[u8]) -> Self {
        Self {
            catalog,
            incident,
            node: node.node.clone(),
            clock: clock(incident, node, log),
            stamped: kernel_lines_are_stamped(log),
            events: Vec::new(),
            alike: BTreeMap::new(),
            of_part: [0; 3],
            oom: oom::Reader::default(),
            first: None,
            undated: 0,
            last_sequence: None,
            lost: 0,
        }
    }

    fn line(&mut self, number: u64, line: &[u8]) {
        if line.is_empty() || line.starts_with(b" ") && line.contains(&b'=') {
            // Continuations of a /dev/kmsg record: SUBSYSTEM=, DEVICE=.
            return;
        }
        let peeled = peel(line);
        self.count_lost(&peeled);
        let at = peeled.time.and_then(|time| time.resolve(&self.clock));
        if self.first.is_none() {
            self.first = at;
        }
        if !self.is_trusted(line, &peeled) {
            return;
        }
        let text = String::from_utf8_lossy(peeled.text);
        if let Some(at) = at
            && peeled.sender != Sender::Process
        {
            self.oom.line(at, &text);
        }
        if self.catalog.read(Origin::Kernel, peeled.text).is_none() {
            return;
        }
        match at {
            Some(at) => self.event(number, at, text.into_owned()),
            None => self.undated += 1,
        }
    }

    fn event(&mut self, number: u64, at: Stamp, text: String) {
        let observation = Observation {
            node: self.node.clone(),
            boot: BootId::default(),
            source: SourceKind::KernelFile,
            stream: "kernel.log".to_owned(),
            cursor: number,
            at,
            provenance: Provenance::Trusted,
            synthetic: false,
            payload: Payload::Line(text),
        };
        let Some(event) = self.catalog.classify(&observation) else { return };
        let part = self.part(at);
        if self.of_part[part] >= MOST_OF_PART[part] {
            return;
        }
        let alike = self.alike.entry((event.code.to_string(), event.resource.to_string(), part)).or_default();
        *alike += 1;
        if *alike <= MOST_ALIKE {
            self.of_part[part] += 1;
            self.events.push(event);
        }
    }

    /// Before the run, in it, after it: each part has its own bound, so that old floods hide nothing new.
    fn part(&self, at: Stamp) -> usize {
        let run = &self.incident.run;
        if at < run.start.plus_secs(-AFTERMATH_S) {
            0
        } else if run.end.is_none_or(|end| at <= end.plus_secs(AFTERMATH_S)) {
            1
        } else {
            2
        }
    }

    /// Whether the kernel or a service wrote the line. A process can write into syslog under any name, and root's scripts
    /// into `/dev/kmsg`; the latter carry the facility of a user.
    fn is_trusted(&self, line: &[u8], peeled: &Peeled<'_>) -> bool {
        match peeled.sender {
            Sender::Unsaid => true,
            Sender::Kernel => !self.stamped || has_kernel_stamp(line),
            Sender::Process => !is_of_user_facility(line) && names_a_service(peeled.text),
        }
    }

    fn count_lost(&mut self, peeled: &Peeled<'_>) {
        let Some(sequence) = peeled.sequence else { return };
        if let Some(last) = self.last_sequence {
            self.lost = self.lost.saturating_add(sequence.saturating_sub(last).saturating_sub(1));
        }
        self.last_sequence = Some(sequence);
    }
}

/// Logs with local times do not name their zone. The line with which the kernel greets tells it, where the boot time is
/// known otherwise.
fn clock(incident: &Incident, node: &NodeEvidence, log: &[u8]) -> Clock {
    const QUARTER: i64 = 900_000_000;
    const SLACK: i64 = 120_000_000;
    const WIDEST: i64 = 14 * 4;
    let clock = Clock { boot: node.boot, utc_offset: 0, latest: output::latest(incident) };
    let greeting = log
        .split(|b| *b == b'\n')
        .filter_map(|line| {
            let peeled = peel(line);
            let local = peeled.time.filter(|time| matches!(time, LineTime::Local(_)))?;
            peeled.text.starts_with(b"Linux version ").then(|| local.resolve(&clock))?
        })
        .next_back();
    let (Some(greeting), Some(boot)) = (greeting, node.boot) else { return clock };
    let ahead = greeting.micros_since(boot);
    let quarters = ahead.saturating_add(ahead.signum() * QUARTER / 2) / QUARTER;
    let fits = (ahead - quarters * QUARTER).saturating_abs() <= SLACK && quarters.saturating_abs() <= WIDEST;
    let offset = if fits { quarters * QUARTER / 1_000_000 } else { 0 };
    Clock { utc_offset: i32::try_from(offset).unwrap_or_default(), ..clock }
}

/// Whether a `/dev/kmsg` record, or a line of `dmesg -r` or `dmesg -x`, has the facility "user" (1).
fn is_of_user_facility(line: &[u8]) -> bool {
    if line.starts_with(b"user ") {
        return true;
    }
    let digits = line.strip_prefix(b"<").unwrap_or(line);
    let length = digits.iter().take(4).take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = digits.split_at(length);
    let priority: Option<u32> = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
    let is_priority = matches!(rest.first(), Some(b',' | b'>'));
    is_priority && priority.is_some_and(|priority| priority >> 3 == 1)
}

/// `host kernel: [ 123.456789] text`.
fn has_kernel_stamp(line: &[u8]) -> bool {
    const MARK: &[u8] = b" kernel: [";
    line.windows(MARK.len()).any(|window| window == MARK)
}

/// Whether nearly all lines of the kernel in a syslog file carry the kernel's own time.
fn kernel_lines_are_stamped(log: &[u8]) -> bool {
    const LOOKED_AT: usize = 2000;
    let (mut with, mut without) = (0_usize, 0_usize);
    for line in log.split(|b| *b == b'\n').take(LOOKED_AT) {
        if line.windows(9).take(80).any(|window| window == b" kernel: ") {
            if has_kernel_stamp(line) {
                with += 1;
            } else {
                without += 1;
            }
        }
    }
    with > 10 && without * 10 < with
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_may_have_written_is_told_from_the_kernel_and_its_services() {
        assert!(is_of_user_facility(b"12,877,1000000,-;NVRM: Xid (PCI:0000:61:00): 79, x"));
        assert!(is_of_user_facility(b"<14>[ 1.0] hello"));
        assert!(!is_of_user_facility(b"4,877,1000000,-;NVRM: Xid (PCI:0000:61:00): 79, x"));
        assert!(!is_of_user_facility(b"30,877,1000000,-;systemd[1]: Started x"));
    }
}
