//! What the reader of a job's output hands over: it runs as the job's user and is believed no more than the job. What comes of
//! it is attributed, in a run on two nodes.
#![no_main]
use triage_core::attribute::{JobEvidence, NodeEvidence, RunFacts, attribute};
use triage_core::joblog::{Hints, OutputReport};
use triage_core::{NodeName, Stamp};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(report) = OutputReport::decode(data, &Hints::default()) else { return };
    let node = |name| NodeEvidence { node: NodeName::new(name), ..NodeEvidence::default() };
    let (start, end) = (Stamp::from_secs(1_800_000_000), Some(Stamp::from_secs(1_800_001_000)));
    let run =
        RunFacts { state: "FAILED".to_owned(), start, end, ranks_per_node: Some(4), ..RunFacts::default() };
    let nodes = vec![node("n1"), node("n2")];
    let evidence = JobEvidence { run, nodes, output: report.events, ..JobEvidence::default() };
    let found = attribute(&evidence);
    assert!(found.faults.is_empty(), "no word of a job's is a fault of a node's");
});
