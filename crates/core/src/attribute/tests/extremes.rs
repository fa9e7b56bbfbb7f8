//! Numbers that no honest job, clock or ledger tells. A job's owner may speak in the reader's place, and a bundle may come
//! from anywhere: whatever they count, number and date, there is an answer, and soon.
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::Stamp;
use crate::attribute::{LineTime, OutputEvent};

/// Codes whose fields, ranks and times are calculated with.
const CODES: [&str; 7] = [
    "nccl.watchdog_timeout",
    "slurm.task_exit",
    "slurm.cancelled",
    "torch.elastic_root",
    "python.exception",
    "nccl.address",
    "cuda.illegal_access",
];

fn moment() -> impl Strategy<Value = Option<Stamp>> {
    let ends = [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX].map(Stamp::from_micros);
    let near = [at(-1e7), at(-1.0), at(0.0), at(500.0), at(1000.0), at(50_400.0)];
    select([&ends[..], &near[..]].concat()).prop_map(Some)
}

fn number() -> impl Strategy<Value = u32> {
    select(vec![0, 1, 3, 7, 65_535, u32::MAX - 1, u32::MAX])
}

fn seen() -> impl Strategy<Value = OutputEvent> {
    let fields = select(vec![
        ("ran_ms", "-9223372036854775808"),
        ("ran_ms", "9223372036854775807"),
        ("timeout_ms", "-1"),
        ("seq", "18446744073709551615"),
        ("tasks", "0-4294967295,4294967295"),
        ("exitcode", "-2147483648"),
        ("address", "n2"),
    ]);
    let times = (moment(), moment(), moment());
    let numbers = (number(), number(), select(vec![1, 2, u64::MAX / 2, u64::MAX]));
    (select(CODES.to_vec()), fields, times, numbers).prop_map(|(code, field, times, numbers)| {
        let (own, after, before) = times;
        let (rank, gpu, count) = numbers;
        let role = if code.starts_with("slurm") { Role::Symptom } else { Role::Root };
        let line = with(line(code, CauseClass::Application, role, Some(rank)), &[field, ("node", "n2")]);
        let time = LineTime { own, after, before };
        OutputEvent { time, gpu: Some(gpu), task: Some(rank), host: Some("n2".to_owned()), count, ..line }
    })
}

proptest! {
    #[test]
    fn no_number_of_a_jobs_own_makes_it_panic(
        output in proptest::collection::vec(seen(), 0..12),
        state in select(vec!["FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "RUNNING", "COMPLETED"]),
        (start, end, boot) in (moment(), moment(), moment()),
        per_node in number(),
        with_tasks in any::<bool>(),
    ) {
        let mut job = if with_tasks { Job::running(3) } else { Job::new(3) };
        job.state(state).kernel(1, 400.0, broken("xid.79", gpu(2)));
        job.evidence.output = output;
        job.evidence.run.ranks_per_node = Some(per_node).filter(|per| *per > 0);
        attribute(&job.evidence);
        (job.evidence.run.start, job.evidence.run.end) = (start.unwrap_or_default(), end);
        job.evidence.nodes[1].boot = boot;
        job.evidence.nodes[1].events[0].at = boot.unwrap_or_default();
        attribute(&job.evidence);
    }
}

#[test]
fn tasks_that_a_job_names_over_and_over_cost_little() {
    let mut job = Job::new(2);
    let named = with(
        line("slurm.task_exit", CauseClass::Unknown, Role::Symptom, None),
        &[("node", "n2"), ("tasks", "0-65535"), ("how", "Killed")],
    );
    let lines = (0..2048).map(|rank| OutputEvent { rank: Some(rank), ..named.clone() });
    // Ranks that are none of them, in lines without a time.
    let stalled = (0..2048).map(|rank| timeout(70_000 + rank, 1, 600));
    job.evidence.output = lines.chain(stalled).collect();
    let started = std::time::Instant::now();
    attribute(&job.evidence);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
