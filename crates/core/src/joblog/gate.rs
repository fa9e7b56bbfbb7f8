//! The first look: does a buffer hold anything worth a second one?
//!
//! The catalogue's families for job output name some three hundred literals, too many for a vectorised search. The
//! literals here are fewer and shorter, and every family's literals hold one of them; a test of the catalogue keeps it
//! so. Healthy training output holds next to none of them, so it is passed over as fast as memory gives it.
use std::sync::OnceLock;

use aho_corasick::Span;
use aho_corasick::packed::{Config, MatchKind, Searcher};

/// The vectorised search takes at most 64 literals, so there are two of it. The first half is what most failures
/// print; none of the literals is shorter than four bytes, which is what the search compares at once.
const LITERALS: [&[&str]; 2] = [
    &[
        "rror",
        "ERROR",
        "ailed",
        "ailure",
        "FAILED",
        "xception",
        "imeout",
        "imed out",
        "Traceback",
        "oot Cause",
        "eartbeat",
        "last compl",
        "a dump",
        "to dump",
        "onsistency",
        "async ",
        "ollective #",
        "desync",
        "Got comp",
        "Call to ",
        "Connect to ",
        "onnection",
        "nterrupt",
        "is neither",
        "runcated",
        "Duplicate",
        "cuMemImport",
        "(NVLS)",
        "nvls.",
        ".cc:",
        "Unable to ",
        "NET/OFI",
        "considered d",
        "managing GPU",
        "missing rank",
        "operation",
        ") INCOM",
        ") MISM",
        "nvalid",
        "setting up N",
        "exited",
        "remote ",
        "abort",
        "Abort",
        "ABORT",
        "Bootstrap : ",
        "; OOB ",
        "of memory",
        "emory access",
        "GPU memory",
        "locked mem",
        "_BLOCKING",
        "ncorrectable",
        "UNCORREC",
        "EXHAUSTED",
        "ssertion",
        "assert trig",
        "isaligned",
        "illegal ",
        "terminate",
        "slurmstepd",
        "srun: ",
        "DUE TO ",
        "Errno ",
    ],
    &[
        "hardware st",
        "capturing",
        "compatib",
        "kernel image",
        "PTX was",
        "initialized",
        "_NOT_SUPP",
        "driver",
        "DRIVER_M",
        "MISALIGN",
        "navailable",
        "CUDA-cap",
        "No CUDA",
        "_STATUS_",
        "device handle",
        "mismatch",
        "NVML lib",
        "closing si",
        "will restart",
        "received by PID",
        "bad_alloc",
        "joined",
        "retrying",
        "socket ",
        "EADDRINUSE",
        "DataLoader w",
        "destroy_pro",
        "return code",
        "already at",
        "found NaN",
        "found Inf",
        "esult nan",
        "esult inf",
        "oss is ",
        "finite",
        "Inf grad",
        "NaN grad",
        "oordination",
        "JAX distr",
        "be stuck",
        "preamble",
        "gloo/",
        "uota exc",
        "space left",
        "Stale file",
        "locks av",
        "SystemExit",
        "Exit: ",
        "open file",
        "object file",
        "name reso",
        "not known",
        "corrupt",
        "malloc",
        "smashing",
        "Caught s",
        "command not",
        "CPUAlloc",
        "STEPD",
        "oom_k",
        "oom-k",
        "Task launch",
        "create step",
        "execve",
    ],
];

/// More of them, in text that no healthy job prints by the megabyte either.
const MORE: &[&str] = &[
    "retry count",
    "pyxis: ",
    "spank plug",
    "_slurm_cg",
    "_job_compl",
    "slurm_script",
    "MPI_ERR",
    "in MPI_",
    "mpirun n",
    "rimary job",
    "TERMINATED",
    "lost comm",
    "PMIX_ERR",
    "Endpoint t",
    "reset by",
    "REASON: ",
    "or unavail",
];

fn engines() -> &'static [Searcher] {
    static ENGINES: OnceLock<Vec<Searcher>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        LITERALS
            .iter()
            .chain([&MORE])
            .filter_map(|half| {
                Config::new().match_kind(MatchKind::LeftmostFirst).builder().extend(*half).build()
            })
            .collect()
    })
}

/// Where the literals are in one buffer, in order.
pub(super) struct Gate<'t> {
    text: &'t [u8],
    /// The next hit of each engine; `None`: none any more.
    next: Vec<Option<usize>>,
}

impl<'t> Gate<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let next = engines().iter().map(|engine| find(engine, text, 0)).collect();
        Self { text, next }
    }

    /// Where, at or after `from`, the next literal begins.
    pub(super) fn next(&mut self, from: usize) -> Option<usize> {
        for (engine, next) in engines().iter().zip(&mut self.next) {
            if next.is_some_and(|at| at < from) {
                *next = find(engine, self.text, from);
            }
        }
        self.next.iter().flatten().min().copied()
    }
}

fn find(engine: &Searcher, text: &[u8], from: usize) -> Option<usize> {
    if from >= text.len() {
        return None;
    }
    engine.find_in(text, Span::from(from..text.len())).map(|found| found.start())
}

/// Whether a line is worth a second look.
pub fn is_candidate(line: &[u8]) -> bool {
    engines().iter().any(|engine| find(engine, line, 0).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_come_in_order_whichever_engine_found_them() {
        let text = b"pyxis: x\nCaught signal\nan error here\nnothing\nslurmstepd: y";
        let mut gate = Gate::new(text);
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(at) = gate.next(from) {
            found.push(at);
            from = at + 1;
        }
        assert_eq!(found, [0, 9, 27, 45]);
    }

    #[test]
    fn no_literal_is_too_short_for_the_vectorised_search() {
        for half in LITERALS {
            assert!(half.len() <= 64, "{}", half.len());
            assert!(half.iter().all(|literal| literal.len() >= 4));
        }
    }
}
