//! The first look: does a buffer hold anything worth a second one?
//!
//! The catalogue's families for job output name some three hundred literals, too many for a vectorised search. The
//! literals here are fewer and shorter, and every family's literals hold one of them; a test of the catalogue keeps it
//! so. Healthy training output holds next to none of them, so it is passed over as fast as memory gives it.
use std::sync::OnceLock;

use aho_corasick::packed::{Config, MatchKind, Searcher};
use aho_corasick::{AhoCorasick, Input, Span};

/// The vectorised search takes at most 64 literals, and the fewer of them look alike in their first bytes the faster it
/// is. The literals are dealt out to three of it so that together they are fastest on training output (measured with
/// benches/output.rs of `triage-bundle`); which is in which means nothing. None is shorter than four bytes, which is
/// what the search compares at once.
#[rustfmt::skip]
const LITERALS: [&[&str]; 3] = [
    &[
        ".cc:", "_job_compl", "_slurm_cg", "Call to ", "CUDA-cap", "destroy_pro", "desync", "driver",
        "emory access", "Exit: ", "finite", "found NaN", "initialized", "is neither", "nterrupt",
        "object file", "onnection", "PMIX_ERR", "received by PID", "retrying", "socket ", "STEPD",
        "Task launch", "Traceback", "Unable to ", "UNCORREC", "unable to ", "checked in", "memory seg",
        "xceeded", "death sig", "Killing sub", "based barr", "monitoredBar", "atchdog got", "llConnect",
        "not receive", "Signal: ", "core dump", "NCCL WARN", "port 22: ",
    ],
    &[
        "(NVLS)", ") INCOM", ") MISM", "; OOB ", "_NOT_SUPP", "a dump", "ailed", "bad_alloc", "be stuck",
        "closing si", "command not", "Connect to ", "corrupt", "cuMemImport", "DataLoader w",
        "device handle", "DUE TO ", "Duplicate", "Errno ", "ERROR", "esult nan", "execve", "gloo/",
        "Got comp", "in MPI_", "Inf grad", "isaligned", "last compl", "locks av", "lost comm", "malloc",
        "managing GPU", "MISALIGN", "MPI_ERR", "NaN grad", "not known", "NVML lib", "ollective #",
        "onsistency", "oom-k", "oom_k", "oordination", "or unavail", "pyxis: ", "REASON: ", "retry count",
        "rimary job", "rror", "slurm_script", "slurmstepd", "smashing", "spank plug", "srun: ", "to dump",
        "xception",
    ],
    &[
        "_BLOCKING", "_STATUS_", "abort", "Abort", "ABORT", "ailure", "already at", "assert trig", "async ",
        "Bootstrap : ", "capturing", "Caught s", "compatib", "considered d", "CPUAlloc", "create step",
        "DRIVER_M", "EADDRINUSE", "eartbeat", "Endpoint t", "esult inf", "EXHAUSTED", "exited", "FAILED",
        "found Inf", "GPU memory", "hardware st", "illegal ", "imed out", "imeout", "JAX distr", "joined",
        "kernel image", "locked mem", "ismatch", "missing rank", "mpirun n", "name reso", "navailable",
        "ncorrectable", "NET/OFI", "No CUDA", "nvalid", "nvls.", "of memory", "oot Cause", "open file",
        "operation", "oss is ", "preamble", "PTX was", "remote ", "reset by", "return code", "runcated",
        "setting up N", "space left", "ssertion", "Stale ", "SystemExit", "terminate", "TERMINAT",
        "uota exc", "will restart",
    ],
];

#[derive(Debug)]
enum Engine {
    /// Vector instructions, gigabytes a second.
    Packed(Searcher),
    /// For processors without them, a good part slower.
    Automaton(AhoCorasick),
}

impl Engine {
    fn new(literals: &[&str]) -> Option<Self> {
        let packed = Config::new().match_kind(MatchKind::LeftmostFirst).builder().extend(literals).build();
        packed.map(Self::Packed).or_else(|| AhoCorasick::new(literals).ok().map(Self::Automaton))
    }

    fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        if from >= text.len() {
            return None;
        }
        let span = Span::from(from..text.len());
        let found = match self {
            Self::Packed(searcher) => searcher.find_in(text, span),
            Self::Automaton(automaton) => automaton.find(Input::new(text).span(span)),
        };
        found.map(|found| found.start())
    }
}

fn engines() -> &'static [Engine] {
    static ENGINES: OnceLock<Vec<Engine>> = OnceLock::new();
    ENGINES.get_or_init(|| LITERALS.iter().filter_map(|literals| Engine::new(literals)).collect())
}

/// Where the literals are in one buffer, in order.
pub(super) struct Gate<'t> {
    text: &'t [u8],
    /// The next hit of each engine; `None`: none any more.
    next: Vec<Option<usize>>,
}

impl<'t> Gate<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let next = engines().iter().map(|engine| engine.find(text, 0)).collect();
        Self { text, next }
    }

    /// Where, at or after `from`, the next literal begins.
    pub(super) fn next(&mut self, from: usize) -> Option<usize> {
        for (engine, next) in engines().iter().zip(&mut self.next) {
            if next.is_some_and(|at| at < from) {
                *next = engine.find(self.text, from);
            }
        }
        self.next.iter().flatten().min().copied()
    }
}

/// Whether a line is worth a second look.
pub fn is_candidate(line: &[u8]) -> bool {
    engines().iter().any(|engine| engine.find(line, 0).is_some())
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
        assert_eq!(engines().len(), LITERALS.len());
        for half in LITERALS {
            assert!(half.len() <= 64, "{}", half.len());
            assert!(half.iter().all(|literal| literal.len() >= 4));
        }
    }
}
