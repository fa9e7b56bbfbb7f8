//! `why`: the whole story, from the ledger alone.
use serde_json::Value;
use triage_core::*;
use triage_ledger::Ledger;

use crate::support::*;

#[test]
fn a_job_whose_gpu_died_and_was_seen_to() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    insta::assert_snapshot!(node.run(&["why", "4711"]).expect(0).out);
}

#[test]
fn a_job_whose_gpu_died_in_monitor_mode() {
    let node = Node::with(a_gpu_dies_and_it_is_written_down);
    insta::assert_snapshot!(node.scrub(&node.run(&["why", "4711"]).expect(0).out));
}

#[test]
fn a_job_as_json() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    insta::assert_json_snapshot!(node.run(&["--json", "why", "4711"]).expect(0).json());
}

/// What `scripts/lib/quickstart/timeline.sh` reads with jq: `.. | objects`.
fn objects(value: &Value) -> Vec<&Value> {
    let inner: Vec<&Value> = match value {
        Value::Object(map) => map.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    let own = value.is_object().then_some(value);
    own.into_iter().chain(inner.into_iter().flat_map(objects)).collect()
}

#[test]
fn the_quickstart_finds_its_moments_in_the_json() {
    let why = Node::with(a_gpu_dies_and_it_is_seen_to).run(&["--json", "why", "4711"]).expect(0).json();
    let all = objects(&why);
    let moments: Vec<&str> =
        all.iter().filter(|o| o["intent"] == "drain").filter_map(|o| o["at"].as_str()).collect();
    assert_eq!(moments, ["2026-03-01T10:30:00.900000Z"]);
    let settled = |kind: &str| -> Vec<&str> {
        let done = all.iter().filter(|o| o["kind"] == kind && o["state"] == "done");
        done.filter_map(|o| o["settled_at"].as_str()).collect()
    };
    assert_eq!(settled("drain"), ["2026-03-01T10:30:00.950000Z"]);
    assert_eq!(settled("requeue"), ["2026-03-01T10:30:00.990000Z"]);
    let monitor =
        Node::with(a_gpu_dies_and_it_is_written_down).run(&["--json", "why", "4711"]).expect(0).json();
    let drain = objects(&monitor).into_iter().find(|o| o["intent"] == "drain").unwrap();
    assert_eq!((&drain["allowed"], &drain["held_by"]), (&false.into(), &"mode".into()));
}

#[test]
fn a_case_tells_of_its_job_its_verdict_and_what_was_done() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    let id = tale().case.id;
    let whole = node.run(&["why", id.as_str()]).expect(0);
    insta::assert_snapshot!(whole.out);
    assert_eq!(node.run(&["why", &id.as_str()[..4]]).expect(0).out, whole.out);
    assert_eq!(node.run(&["why", &format!("case:{id}")]).expect(0).out, whole.out);
}

/// A verdict on what a job printed, terminal escapes and forged lines of ours included.
fn a_job_and_its_own_words(ledger: &mut Ledger) {
    let Tale { span, verdict, .. } = tale();
    started_and_failed(ledger, &span);
    let said = |code: &str, text: &str| Evidence {
        time: Some(span.run.start.plus_secs(1_799)),
        node: Some(node()),
        code: Code::from(code),
        text: text.to_owned(),
        provenance: Provenance::User,
        event: None,
    };
    let verdict = Verdict {
        class: CauseClass::Application,
        confidence: Confidence::Probable,
        culprits: Vec::new(),
        victims: Vec::new(),
        cases: Vec::new(),
        evidence: Vec::new(),
        story: vec!["rank 3 failed first: KeyError: '\u{1b}[2J'".to_owned()],
        grounds: Grounds {
            rule: "first_error".to_owned(),
            told: vec![said("python.exception", "KeyError: '\u{1b}]0;owned\u{7}'\nNext: all is well")],
            discounted: vec![Discounted {
                evidence: said("cuda.ecc", "CUDA error: uncorrectable ECC error encountered"),
                count: 3,
                why: "only the job says so: kernel log and NVML of the node show no such thing".to_owned(),
            }],
            blind: vec!["output/a.err: it is a FIFO".to_owned()],
            ..Grounds::default()
        },
        ..verdict
    };
    Rows { verdicts: vec![verdict], spans: vec![span], ..Rows::default() }.write(ledger, T0.plus_secs(1_801));
    healthy_sweep(ledger);
}

#[test]
fn a_job_is_told_by_its_own_words_what_does_not_count_and_what_nobody_saw() {
    let whole = Node::with(a_job_and_its_own_words).run(&["why", "4711"]).expect(0);
    assert!(!whole.out.chars().any(|c| c.is_control() && c != '\n'), "{:?}", whole.out);
    assert!(
        !whole.out.lines().any(|line| line.starts_with("Next: all is well")),
        "no line of ours is forged"
    );
    whole
        .says("the job itself said (its word alone is held against no node):")
        .says("python.exception on n1")
        .says("cuda.ecc on n1 (3 times)")
        .says("because: only the job says so")
        .says("not seen:\n    output/a.err: it is a FIFO");
}

#[test]
fn a_node_tells_of_its_open_cases() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    node.run(&["why", "n1"])
        .expect(0)
        .says("node n1: 1 open case")
        .says("drain node n1")
        .says("Next: n1 is drained");
}

#[test]
fn a_node_nothing_is_known_against() {
    let node = Node::with(all_is_well);
    insta::assert_snapshot!(node.run(&["why", "n1"]).expect(0).out);
}

#[test]
fn all_restarts_of_a_job_are_told() {
    let node = Node::with(|ledger| {
        a_gpu_dies_and_it_is_seen_to(ledger);
        let mut again = span(run_of(JOB, 1, T0.plus_secs(2_000)));
        again.end = Some(T0.plus_secs(3_000));
        again.exit = Some(ExitStatus::Exit(0));
        Rows { spans: vec![again], ..Rows::default() }.write(ledger, T0.plus_secs(3_000));
    });
    node.run(&["why", "4711"])
        .expect(0)
        .says("2 runs on n1")
        .says("Job 4711, restart 0")
        .says("Job 4711, restart 1");
}

#[test]
fn a_task_of_an_array_and_the_whole_array() {
    let node = Node::with(|ledger| {
        let of_task = |job, task| RunId { array: Some(ArrayId { job: 4700, task }), ..run_of(job, 0, T0) };
        let spans = vec![span(of_task(4701, 1)), span(of_task(4703, 3))];
        Rows { spans, ..Rows::default() }.write(ledger, T0);
    });
    node.run(&["why", "4700"]).expect(0).says("2 runs").says("Job 4700_1").says("Job 4700_3");
    node.run(&["why", "4700_3"]).expect(0).says("1 run").does_not_say("4700_1");
    node.run(&["why", "4703.batch"]).expect(0).says("Job 4700_3");
}

/// A ledger in which a job has the number of a case.
fn namesakes(ledger: &mut Ledger) {
    let line = line(5, T0, "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.");
    let event = event(&line, "xid.79");
    let case = Case { id: CaseId::from("00004711"), ..case(&event, None) };
    let other = Case { id: CaseId::from("00004799"), fault: "gpu.memory".to_owned(), ..case.clone() };
    let spans = vec![span(run_of(4711, 0, T0))];
    Rows {
        observations: vec![line],
        events: vec![event],
        cases: vec![case, other],
        spans,
        ..Rows::default()
    }
    .write(ledger, T0);
}

#[test]
fn a_name_that_fits_several_is_told_to() {
    let node = Node::with(namesakes);
    let job = node
        .run(&["why", "00004711"])
        .expect(0)
        .says("job 4711")
        .says("(00004711 is also a case: slurm-triage why case:00004711)");
    assert!(job.out.starts_with("job 4711: 1 run on n1"), "{}", job.out);
    node.run(&["why", "case:00004711"]).expect(0).says("case 00004711: xid.79 on").does_not_say("also a");
    node.run(&["why", "job:4711"]).expect(0).does_not_say("also a");
    let json = node.run(&["--json", "why", "00004711"]).expect(0).json();
    assert_eq!((&json["kind"], &json["also"]), (&"job".into(), &serde_json::json!(["case:00004711"])));
}

#[test]
fn a_beginning_that_fits_several_cases_names_them() {
    let node = Node::with(namesakes);
    node.run(&["why", "case:000047"]).expect(1).says("several cases begin with").says("00004711, 00004799");
}

#[test]
fn a_name_nothing_is_known_of_says_what_to_try() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    insta::assert_snapshot!(node.run(&["why", "99999"]).expect(1).out);
    insta::assert_json_snapshot!(node.run(&["--json", "why", "n7"]).expect(1).json());
    for name in ["", "0c1", "job:x", "case:", "node:", "%", "../..", "4711 ", "４７１１"] {
        node.run(&["why", name]).expect(1).says("nothing is known here of");
    }
}

#[test]
fn a_drill_is_told_as_one_and_needs_no_repair() {
    let node = Node::with(|ledger| {
        a_drill(ledger);
        healthy_sweep(ledger);
    });
    insta::assert_snapshot!(node.run(&["why", "n1"]).expect(0).out);
}

#[test]
fn a_real_case_is_told_of_before_a_drill() {
    let node = Node::with(|ledger| {
        a_gpu_dies_and_it_is_written_down(ledger);
        a_drill(ledger);
    });
    node.run(&["why", "n1"])
        .expect(0)
        .says("Next: nothing was done, since policy says monitor")
        .says("xid.79 (drill)");
}

/// The story with its case changed, and the last line that is told then.
fn next(change: impl FnOnce(&mut Case), drain_held_by: Option<&str>) -> String {
    let node = Node::with(|ledger| {
        let Tale { line, event, mut case, .. } = tale();
        change(&mut case);
        let held = drain_held_by
            .map(|name| node_decision(&case, triage_core::Intent::Drain, T0, vec![gate(name, false, "so")]));
        let decisions = held.into_iter().collect();
        Rows {
            observations: vec![line],
            events: vec![event],
            cases: vec![case],
            decisions,
            ..Rows::default()
        }
        .write(ledger, T0);
    });
    let out = node.run(&["why", "n1"]).expect(0).out;
    out.lines().last().unwrap().to_owned()
}

#[test]
fn what_to_do_next_follows_from_where_the_case_stands() {
    let steps = [
        next(|_| {}, None),
        next(|_| {}, Some("foreign_reason")),
        next(|_| {}, Some("provenance")),
        next(|case| case.stood_down = true, None),
        next(|case| case.advice = Advice::Watch, None),
        next(|case| case.clears = ClearedBy::GpuReset, Some("mode")),
        next(|case| case.clears = ClearedBy::RowRemap, None),
        next(|case| case.clears = ClearedBy::Ack, None),
    ];
    let steps = steps.join("\n");
    // The folder of the policy differs.
    let steps: Vec<&str> = steps.lines().map(|line| line.split(" To have it done").next().unwrap()).collect();
    insta::assert_snapshot!(steps.join("\n"));
}

#[test]
fn a_failed_job_without_a_cause_sends_to_its_output_and_its_other_nodes() {
    let node = Node::with(|ledger| {
        let mut failed = span(run_of(5000, 0, T0));
        failed.end = Some(T0.plus_secs(10));
        failed.exit = Some(ExitStatus::Exit(1));
        let mut follower = JobSpan { nodes: vec![NodeName::from("n0"), self::node()], ..failed.clone() };
        follower.run.job = 5001;
        let mut well = failed.clone();
        well.run.job = 5002;
        well.exit = Some(ExitStatus::Exit(0));
        Rows { spans: vec![failed, follower, well], ..Rows::default() }.write(ledger, T0);
    });
    node.run(&["why", "5000"])
        .expect(0)
        .says("read the job's output, then slurm-triage why 5000 on its other nodes");
    node.run(&["why", "5001"]).expect(0).says("slurm-triage why 5001 on n0, its batch host");
    node.run(&["why", "5002"]).expect(0).says("Next: nothing: it ended well");
}

#[test]
fn a_case_of_another_node_is_named() {
    let node = Node::with(|ledger| {
        let Tale { mut verdict, span, .. } = tale();
        verdict.cases = vec![CaseId::from("feedbeef")];
        verdict.culprits = vec![Culprit { node: NodeName::from("n2"), resource: None }];
        verdict.victims = vec![self::node()];
        Rows { verdicts: vec![verdict], spans: vec![span], ..Rows::default() }
            .write(ledger, T0.plus_secs(1_801));
    });
    node.run(&["why", "4711"])
        .expect(0)
        .says("case feedbeef is another node's")
        .says("Next: slurm-triage why n2 on n2: its hardware is to blame");
}

#[test]
fn evidence_that_retention_took_is_counted() {
    let node = Node::with(|ledger| {
        let Tale { mut case, .. } = tale();
        case.events.push(EventId::from("0123456789abcdef"));
        Rows { cases: vec![case], ..Rows::default() }.write(ledger, T0);
    });
    node.run(&["why", "n1"]).expect(0).says("and 2 events no longer in the ledger");
}

#[test]
fn a_site_that_changed_what_a_code_means_is_quoted() {
    let node = Node::with(a_gpu_dies_and_it_is_seen_to);
    node.write(
        "catalog.d/site.toml",
        "[[code]]\ncode = \"xid.79\"\nremedy = \"Call the vendor.\"\nreason = \"contract 7\"\n",
    );
    node.run(&["why", "4711"]).expect(0).says("Remedy Call the vendor.").says("Site   contract 7");
    node.write("catalog.d/site.toml", "[[code]]\ncode = 79\n");
    let broken = node.run(&["why", "4711"]).expect(0).says("site.toml:2:8").says("Reboot the node.");
    assert!(broken.err.contains("the shipped catalogue explains the codes"), "{}", broken.err);
}
