//! Looking at the sources: what they said becomes observations, what they would not say is said too.
use std::ffi::OsStr;
use std::time::Duration;

use triage_core::attribute::PastRun;
use triage_core::catalog::Origin;
use triage_core::reading::{NvmlReading, NvmlState};
use triage_core::{CauseClass, Confidence, Observation, Payload, Provenance, SourceKind, Stamp};
use triage_host::config::{Config, KernelLogSource, NvmlEnabled};
use triage_host::kernel_log::{self, KernelLog, KernelRead, Limits};
use triage_host::probe::{Probe, ProbeFailure};
use triage_ledger::{Cursor, Loaded, ProcessId, Reading, Seen, SourceReport};

use crate::ctx::Ctx;

/// What one look at the sources brought.
#[derive(Debug, Default)]
pub struct Look {
    /// What they said.
    pub observations: Vec<Observation>,
    /// How far they were read.
    pub cursors: Vec<Cursor>,
    /// Which could be read, and which not.
    pub sources: Vec<SourceReport>,
    /// The sweep over NVML.
    pub reading: Option<Reading>,
    /// Made up for a drill: nothing of the machine was looked at, and nothing shall be.
    pub drill: bool,
    /// What the state checks look at.
    pub checks: Option<crate::checks::Looked>,
    /// A bound stopped a reader before the end of its source.
    pub more: bool,
    /// The kernel's log was read to its end.
    pub kernel_read: bool,
    /// Earlier runs that the ledger remembers, where a run has to be judged.
    pub history: Vec<PastRun>,
}

impl Look {
    /// New lines of the kernel's log. Only lines a family's literal occurs in are looked at; the rest are not even
    /// copied.
    pub fn kernel_log(&mut self, ctx: &Ctx<'_>, loaded: &Loaded) {
        let log = KernelLog::new(&ctx.config.kernel_log, ctx.root.clone(), ctx.boot.clone());
        let (kind, stream) = (log.kind(), log.stream());
        let begun = ctx.clock.monotonic();
        let cursor = loaded.cursor(kind, &stream).and_then(|stored| from_ledger(stored, loaded));
        let limits = Limits { max_bytes: ctx.config.kernel_log.max_bytes, until: Some(ctx.deadline) };
        let seen = match log.read_new(cursor.as_ref(), limits, ctx.clock) {
            Ok(read) => {
                self.take(ctx, &read);
                self.kernel_read = !read.more;
                self.cursors.push(to_ledger(&read.cursor, kind, &stream));
                Seen::Read
            }
            Err(error) => {
                log::warn!("{error}");
                let reason = error.to_string();
                self.observations.push(blind(ctx, kind, &reason, false));
                Seen::Blind { reason, hung: None }
            }
        };
        self.report(ctx, kind, stream, begun, seen);
    }

    /// Whether the node is condemned already, by an open case or by what was seen just now: a confirmed hardware fault
    /// that calls for taking it out, so that no other source need be asked.
    pub fn condemns(&self, ctx: &Ctx<'_>, loaded: &Loaded) -> bool {
        let known = loaded.cases.iter().any(|case| {
            let claim = (case.provenance, case.class, case.confidence);
            case.is_open() && claim == CERTAIN && case.advice.wants_node_out()
        });
        let seen = || self.observations.iter().filter_map(|observation| ctx.catalog().classify(observation));
        known
            || seen().any(|event| {
                let claim = (event.provenance, event.class, event.confidence);
                claim == CERTAIN && event.advice.wants_node_out()
            })
    }

    fn take(&mut self, ctx: &Ctx<'_>, read: &KernelRead) {
        self.more |= read.more;
        self.observations.extend(read.observe_lost(&ctx.node));
        if read.is_empty() {
            return;
        }
        for candidate in ctx.catalog().candidates(Origin::Kernel, read.buffer()) {
            if let Some(line) = read.line_at(candidate.start) {
                self.observations.push(read.observe(&ctx.node, &line));
            }
        }
    }

    pub(crate) fn report(
        &mut self,
        ctx: &Ctx<'_>,
        kind: SourceKind,
        stream: String,
        begun: Duration,
        seen: Seen,
    ) {
        let cost = ctx.clock.monotonic().saturating_sub(begun);
        self.sources.push(SourceReport {
            source: kind,
            stream,
            at: ctx.now(),
            cost_us: u64::try_from(cost.as_micros()).unwrap_or(u64::MAX),
            seen,
        });
    }
}

/// A source that would not say anything. Its own kind of observation: never health, never a fault.
pub(crate) fn blind(ctx: &Ctx<'_>, source: SourceKind, reason: &str, hung: bool) -> Observation {
    let now = ctx.now();
    Observation {
        node: ctx.node.clone(),
        boot: ctx.boot.clone(),
        source,
        stream: String::new(),
        cursor: now.micros().unsigned_abs(),
        at: now,
        provenance: Provenance::Trusted,
        synthetic: false,
        payload: Payload::Blind { reason: reason.to_owned(), hung },
    }
}

/// The reader's place as the ledger keeps it: what was read goes into the anchor, how far into the cursor.
fn to_ledger(cursor: &kernel_log::Cursor, source: SourceKind, stream: &str) -> Cursor {
    let (boot, anchor, at) = match cursor {
        kernel_log::Cursor::Kmsg(c) => (c.boot.clone(), String::new(), c.next),
        kernel_log::Cursor::File(c) => {
            let generation = c.generation.map_or_else(|| "-".to_owned(), |g| format!("{g:016x}"));
            (c.boot.clone(), format!("{}:{}:{generation}", c.device, c.inode), c.offset)
        }
    };
    Cursor { source, stream: stream.to_owned(), boot, anchor, cursor: at }
}

fn from_ledger(stored: &Cursor, loaded: &Loaded) -> Option<kernel_log::Cursor> {
    let read_at = loaded
        .source(stored.source, &stored.stream)
        .and_then(|row| row.last_ok)
        .unwrap_or(Stamp::from_micros(0));
    let boot = stored.boot.clone();
    match stored.source {
        SourceKind::Kmsg => {
            Some(kernel_log::Cursor::Kmsg(kernel_log::KmsgCursor { boot, next: stored.cursor, read_at }))
        }
        SourceKind::KernelFile => {
            let mut parts = stored.anchor.splitn(3, ':');
            Some(kernel_log::Cursor::File(kernel_log::FileCursor {
                boot,
                path: stored.stream.clone(),
                device: parts.next()?.parse().ok()?,
                inode: parts.next()?.parse().ok()?,
                generation: parts.next().and_then(|g| u64::from_str_radix(g, 16).ok()),
                offset: stored.cursor,
                read_at,
            }))
        }
        _ => None,
    }
}

impl Look {
    /// A sweep over NVML, in a process of its own.
    pub fn probe(&mut self, ctx: &Ctx<'_>) {
        if !wanted(ctx) {
            return;
        }
        let begun = ctx.clock.monotonic();
        let probe = Probe {
            runner: ctx.runner,
            clock: ctx.clock,
            root: &ctx.root,
            program: ctx.config.paths.libexec.join("triage-probe"),
            library: ctx.config.nvml.library.clone(),
            scenario: ctx.config.nvml.scenario.clone(),
            pid_file: ctx.config.paths.run.join("probe.pid"),
            deadline: ctx
                .config
                .deadlines
                .probe
                .min(ctx.deadline.left(ctx.clock).saturating_sub(AFTER_PROBE)),
        };
        let seen = match probe.run() {
            Ok(reading) => {
                let seen = told(&reading);
                self.swept(ctx, reading);
                seen
            }
            Err(failure) => {
                log::warn!("nvml: {failure}");
                self.observations.push(blind(ctx, SourceKind::Nvml, &failure.to_string(), failure.hung()));
                Seen::Blind { reason: failure.to_string(), hung: hanging(ctx, &failure) }
            }
        };
        self.report(ctx, SourceKind::Nvml, String::new(), begun, seen);
    }

    /// Names the GPUs that are lost as the last sweep did.
    pub(crate) fn name_lost(&mut self, ctx: &Ctx<'_>, loaded: &Loaded) {
        let Some(last) = loaded.last_reading.as_ref().filter(|_| !self.drill) else { return };
        let same_boot = last.boot == ctx.boot;
        let seen = self.observations.iter_mut().filter_map(|seen| match &mut seen.payload {
            Payload::Nvml(reading) => Some(&mut **reading),
            _ => None,
        });
        for reading in seen.chain(self.reading.as_mut().map(|kept| &mut kept.reading)) {
            reading.name_lost(&last.reading, same_boot);
        }
    }

    fn swept(&mut self, ctx: &Ctx<'_>, reading: NvmlReading) {
        let at = ctx.now();
        self.observations.push(Observation {
            node: ctx.node.clone(),
            boot: ctx.boot.clone(),
            source: SourceKind::Nvml,
            stream: String::new(),
            cursor: at.micros().unsigned_abs(),
            at,
            provenance: Provenance::Trusted,
            synthetic: false,
            payload: Payload::Nvml(Box::new(reading.clone())),
        });
        self.reading = Some(Reading { at, boot: ctx.boot.clone(), synthetic: false, reading });
    }
}

/// A library that is missing, or that has no driver to ask, has told of no GPU.
fn told(reading: &NvmlReading) -> Seen {
    if reading.state == NvmlState::Ok {
        return Seen::Read;
    }
    log::warn!("nvml: {}", reading.detail);
    Seen::Blind { reason: reading.detail.clone(), hung: None }
}

/// What leaves no question for another source.
const CERTAIN: (Provenance, CauseClass, Confidence) =
    (Provenance::Trusted, CauseClass::Hardware, Confidence::Confirmed);

/// Kept back for what follows the probe in the same pass: judging, recording, acting.
const AFTER_PROBE: Duration = Duration::from_secs(4);

/// Whether a source is one of this configuration. The row of one that no pass looks at any more stays as it was, blind for
/// ever where the configuration was corrected: it tells nothing of the node.
pub fn is_of(config: &Config, source: SourceKind, stream: &str) -> bool {
    let log = &config.kernel_log;
    match source {
        SourceKind::Kmsg => log.source == KernelLogSource::Kmsg,
        SourceKind::KernelFile => {
            log.source == KernelLogSource::File && log.path.as_os_str() == OsStr::new(stream)
        }
        SourceKind::Nvml => config.nvml.enabled != NvmlEnabled::Never,
        _ => true,
    }
}

/// On a machine without NVIDIA's driver and without a scenario there is nothing to ask.
fn wanted(ctx: &Ctx<'_>) -> bool {
    match ctx.config.nvml.enabled {
        NvmlEnabled::Always => true,
        NvmlEnabled::Never => false,
        NvmlEnabled::Auto => {
            ctx.config.nvml.scenario.is_some()
                || ctx.root.at("/dev/nvidiactl").exists()
                || ctx.root.at("/proc/driver/nvidia").exists()
        }
    }
}

/// The process that still hangs, for `status`.
fn hanging(ctx: &Ctx<'_>, failure: &ProbeFailure) -> Option<ProcessId> {
    let boot = ctx.boot.clone();
    match failure {
        ProbeFailure::StillHung { pid, start, .. } => Some(ProcessId { pid: *pid, start: *start, boot }),
        ProbeFailure::Hung { stuck, .. } if stuck.left_behind => {
            let start = ctx.root.process(stuck.pid)?.start_ticks;
            Some(ProcessId { pid: stuck.pid, start, boot })
        }
        _ => None,
    }
}
