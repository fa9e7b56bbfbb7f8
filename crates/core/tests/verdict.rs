//! The verdict over a failed run: what it asks for, what it believes, and what it never does.
mod support;

use std::fmt::Write;

use support::*;
use triage_core::attribute::{OutputEvent, PastCulprit, PastRun};
use triage_core::catalog::Catalog;
use triage_core::joblog::{Calendar, Hints, OutputReport, Scanner};
use triage_core::pipeline::{Asked, Input, Need, Output, Trigger, step};
use triage_core::policy::Policy;
use triage_core::progress::Progress;
use triage_core::*;

/// The epilog of a failed run of 600 s on these nodes, with everything answered and nothing said.
fn epilog<'a>(catalog: &'a Catalog, policy: &'a Policy, nodes: &[&str]) -> Input<'a> {
    let mut pass = input(catalog, policy, Trigger::Epilog);
    pass.span = Some(span(nodes, Some(ExitStatus::Exit(1))));
    pass.node_record = Asked::Answer(node_record("IDLE", ""));
    pass.peers = Asked::Answer(Vec::new());
    pass.job = Asked::Answer(job_record());
    pass.output = Asked::Answer(OutputReport::default());
    pass
}

/// What the job printed, as the reader reads it.
fn printed(catalog: &Catalog, text: &str) -> Asked<OutputReport> {
    let hints = Hints {
        calendar: Calendar { start: at(0), end: at(600) },
        node: NodeName::from("n1"),
        boot: BootId::from("b1"),
    };
    let mut scanner = Scanner::new(catalog, hints);
    scanner.begin("slurm-42.out");
    scanner.feed(text.as_bytes(), 0);
    let events: Vec<OutputEvent> = scanner.finish();
    Asked::Answer(OutputReport::new(events, Vec::new()))
}

fn verdict(output: &Output) -> &Verdict {
    &output.verdicts[0]
}

fn kinds(output: &Output) -> Vec<&'static str> {
    output.actions.iter().map(Action::kind).collect()
}

fn peer(node: &str, code: &str, when: Stamp) -> PeerEvidence {
    PeerEvidence {
        node: NodeName::from(node),
        case: CaseId::from("deadbeef"),
        code: Code::from(code),
        resource: Resource::from(BAD_GPU),
        class: CauseClass::Hardware,
        confidence: Confidence::Confirmed,
        at: when,
        synthetic: false,
        job: Some(42),
    }
}

fn ends(rank: u32, when: Stamp, status: ExitStatus) -> (Stamp, TaskEdge) {
    let edge = TaskEdge {
        job: 42,
        array: None,
        restart: 0,
        step: "0".to_owned(),
        rank,
        local: rank,
        pid: 1000 + rank,
        what: TaskWhat::End(status),
        ask: JobAsk::Default,
        gpus: Vec::new(),
    };
    (when, edge)
}

const TRACEBACK: &str = "[rank0]: Traceback (most recent call last):\n\
    [rank0]:   File \"/home/u/train.py\", line 10, in <module>\n\
    [rank0]:     run(batch[\"lang\"])\n\
    [rank0]: KeyError: 'lang'\n";

#[test]
fn a_traceback_makes_it_the_programs_doing_and_nothing_is_done() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1"]);
    pass.output = printed(&catalog, TRACEBACK);
    let output = step(&pass);
    let verdict = verdict(&output);
    assert_eq!(verdict.class, CauseClass::Application, "{:?}", verdict.story);
    assert_eq!(verdict.culprits, []);
    assert!(verdict.grounds.told.iter().any(|told| told.text.contains("KeyError: 'lang'")));
    assert!(!verdict.grounds.trusted);
    assert_eq!(output.actions, []);
    assert!(verdict.story.len() <= 10);
}

#[test]
fn what_a_job_forges_blames_no_hardware_and_moves_no_node() {
    let (catalog, policy) = (catalog(), acting());
    let forged = "NVRM: Xid (PCI:0000:13:00): 79, pid=4711, name=python, GPU has fallen off the bus.\n\
        [  590.000000] NVRM: Xid (PCI:0000:13:00): 48, pid=4711, DBE (double bit error)\n\
        n1 kernel: NVRM: Xid (PCI:0000:13:00): 95, Uncontained ECC error\n\
        slurmstepd: error: Detected 1 oom_kill event in StepId=42.0. Some of the step tasks have been OOM Killed.\n\
        srun: error: n2: task 3: Exited with exit code 1\n\
        srun: error: Node failure on n2\n\
        slurm-triage: xid.79 gpu:0000:13:00.0 [case deadbeef]\n\
        update NodeName=n2 State=DRAIN Reason=\"slurm-triage: xid.79\"\n\
        [rank0]: torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered\n\
        n2:77:99 [3] transport/net_ib.cc:1290 NCCL WARN NET/IB : Got async event : port error\n\
        {\"v\":1,\"what\":\"task_exit\",\"node\":\"n2\",\"job\":42,\"rank\":3,\"signal\":9}\n";
    for nodes in [&["n1"][..], &["n1", "n2"], &["n1", "n2", "n3"]] {
        let mut pass = epilog(&catalog, &policy, nodes);
        pass.observations.push(sweep(at(590), healthy()));
        pass.output = printed(&catalog, forged);
        let output = step(&pass);
        let verdict = verdict(&output);
        assert_eq!(output.cases, [], "user evidence opens no case");
        assert!(!kinds(&output).iter().any(|kind| matches!(*kind, "drain" | "publish")), "{output:?}");
        assert!(
            verdict.confidence < Confidence::Confirmed
                || !matches!(verdict.class, CauseClass::Hardware | CauseClass::System),
            "{:?}",
            verdict.story
        );
        // Not even the user's own job is run again for it: nobody is excluded on the job's word alone.
        let excluded = output.actions.iter().find_map(|action| match action {
            Action::Requeue { exclude, .. } => Some(exclude.clone()),
            _ => None,
        });
        assert_eq!(excluded.unwrap_or_default(), [], "{:?}", verdict.story);
    }
}

#[test]
fn a_single_forged_line_of_every_kind_blames_nobody_for_sure() {
    let (catalog, policy) = (catalog(), acting());
    let lines = [
        "NVRM: Xid (PCI:0000:13:00): 79, pid=1, GPU has fallen off the bus.",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "RuntimeError: CUDA error: unspecified launch failure",
        "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
        "slurmstepd: error: *** JOB 42 ON n2 CANCELLED AT 2027-01-15T08:09:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        "srun: error: Node failure on n2",
        "n2:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.3<40000> with status=12 opcode=0 len=0 vendor err 129",
        "n2:1:2 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.3<40000> failed : No route to host",
    ];
    for line in lines {
        let mut pass = epilog(&catalog, &policy, &["n1", "n2"]);
        pass.output = printed(&catalog, &format!("{line}\n"));
        let output = step(&pass);
        let verdict = verdict(&output);
        assert!(verdict.confidence < Confidence::Confirmed, "{line}: {:?}", verdict.story);
        assert_eq!(output.cases, []);
        assert!(!kinds(&output).contains(&"drain"), "{line}");
        let excludes =
            |action: &Action| matches!(action, Action::Requeue { exclude, .. } if !exclude.is_empty());
        assert!(!output.actions.iter().any(excludes), "{line}");
    }
}

#[test]
fn time_outs_here_and_a_lost_gpu_there_blame_the_other_node() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1", "n2"]);
    pass.tasks = vec![ends(0, at(595), ExitStatus::Signal(6))];
    pass.peers = Asked::Answer(vec![peer("n2", "xid.79", at(300))]);
    pass.output = printed(
        &catalog,
        "[rank0]:[E115 08:09:54.123456789 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation \
         timeout: WorkNCCL(SeqNum=42, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=280000) ran for 280010 \
         milliseconds before timing out.\n",
    );
    let output = step(&pass);
    let verdict = verdict(&output);
    assert_eq!((verdict.class, verdict.confidence), (CauseClass::Hardware, Confidence::Confirmed));
    assert_eq!(verdict.culprits[0].node.as_str(), "n2", "{:?}", verdict.story);
    assert_eq!(verdict.victims, [NodeName::from("n1")]);
    assert_eq!(verdict.cases, [CaseId::from("deadbeef")]);
    assert_eq!((verdict.grounds.code.as_str(), verdict.grounds.trusted), ("xid.79", true));
    assert!(!kinds(&output).contains(&"drain"), "n2 drains itself");
    assert!(
        output.actions.iter().any(|a| matches!(a, Action::Requeue { exclude, .. } if exclude.len() == 1))
    );
}

#[test]
fn what_a_peer_saw_after_the_end_is_still_the_cause() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1", "n2"]);
    pass.tasks = vec![ends(0, at(560), ExitStatus::Exit(1))];
    pass.peers = Asked::Answer(vec![peer("n2", "nvml.gpu_lost", at(603))]);
    assert_eq!(verdict(&step(&pass)).culprits[0].node.as_str(), "n2");
}

#[test]
fn peers_that_are_silent_are_not_lost() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1", "n2"]);
    pass.tasks = vec![ends(0, at(595), ExitStatus::Exit(1))];
    pass.job = Asked::Answer(JobRecord { state: "NODE_FAIL".to_owned(), ..job_record() });
    let output = step(&pass);
    assert_eq!(verdict(&output).culprits, [], "{:?}", verdict(&output).story);
    assert!(verdict(&output).grounds.blind.iter().any(|line| line.contains("the other node")));
}

#[test]
fn the_output_is_asked_for_last_and_only_where_it_can_tell_something() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1", "n2"]);
    (pass.peers, pass.job, pass.output) = (Asked::NotAsked, Asked::NotAsked, Asked::NotAsked);
    assert_eq!(step(&pass).needs, [Need::Peers, Need::Job]);
    (pass.peers, pass.job) = (Asked::Answer(Vec::new()), Asked::Answer(job_record()));
    assert_eq!(step(&pass).needs, [Need::Output]);

    let mut broken = pass.clone();
    broken.observations.push(sweep(at(590), with(|gpu| gpu.lost = true)));
    assert_eq!(step(&broken).needs, [], "a confirmed fault right before the end needs no words");
    broken.progress = Asked::NotAsked;
    assert_eq!(step(&broken).needs, [Need::Progress], "but how far it got, another run is measured by");
    broken.progress = Asked::Answer(Progress { step: Some(90), checkpoint: Some(80) });
    let output = step(&broken);
    assert_eq!(
        Progress::of(&verdict(&output).grounds.told),
        Progress { step: Some(90), checkpoint: Some(80) }
    );
    broken.progress = Asked::NotAsked;
    broken.job = Asked::Answer(JobRecord { requeue: false, ..job_record() });
    assert_eq!(step(&broken).needs, [], "which is never run again");
    let mut left_alone = pass.clone();
    left_alone.span.as_mut().unwrap().ask = JobAsk::Off;
    let output = step(&left_alone);
    assert_eq!(output.needs, []);
    assert!(verdict(&output).grounds.blind.iter().any(|line| line.contains("--triage=off")));
    for state in ["CANCELLED", "PREEMPTED"] {
        pass.job = Asked::Answer(JobRecord { state: state.to_owned(), ..job_record() });
        assert_eq!(step(&pass).needs, [], "{state}");
    }
}

#[test]
fn a_run_that_went_well_asks_nothing_and_gets_no_verdict() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1", "n2"]);
    (pass.peers, pass.job, pass.output) = (Asked::NotAsked, Asked::NotAsked, Asked::NotAsked);
    pass.span.as_mut().unwrap().exit = Some(ExitStatus::Exit(0));
    pass.observations.push(sweep(at(590), healthy()));
    assert_eq!(step(&pass), Output::default());
    // Whatever it printed on the way.
    pass.output = printed(&catalog, TRACEBACK);
    assert_eq!(step(&pass).verdicts, []);
}

#[test]
fn output_that_cannot_be_read_is_told_and_nothing_is_made_of_it() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1"]);
    for output in [
        Asked::Answer(OutputReport::unread("the job's output: /home/u/pipe is a FIFO")),
        Asked::NoAnswer("/home/u/pipe is a FIFO".to_owned()),
    ] {
        pass.output = output;
        let output = step(&pass);
        let verdict = verdict(&output);
        assert_eq!(verdict.class, CauseClass::Unknown);
        assert!(
            verdict.grounds.blind.iter().any(|line| line.contains("FIFO")),
            "{:?}",
            verdict.grounds.blind
        );
        assert!(verdict.story.iter().any(|line| line.contains("could be read")), "{:?}", verdict.story);
        assert_eq!(output.actions, []);
    }
}

#[test]
fn a_kernel_log_with_a_hole_contradicts_nobody() {
    let (catalog, policy) = (catalog(), acting());
    let claim = "[rank0]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n";
    let class_of = |hole: Option<&str>| {
        let mut pass = epilog(&catalog, &policy, &["n1"]);
        pass.output = printed(&catalog, claim);
        match hole {
            Some("unread") => pass.kernel_read = false,
            Some(_) => {
                let gap = Payload::Gap { from: 10, to: 400 };
                pass.observations.push(observe("b1", at(300), SourceKind::Kmsg, gap));
            }
            None => {}
        }
        let output = step(&pass);
        (verdict(&output).class, verdict(&output).confidence)
    };
    assert_ne!(class_of(None).0, CauseClass::Hardware, "the kernel was heard, and knows nothing of it");
    for hole in ["unread", "gap"] {
        assert_eq!(class_of(Some(hole)), (CauseClass::Hardware, Confidence::Suspected), "{hole}");
    }
}

#[test]
fn a_gpu_on_which_other_users_failed_the_same_way_is_to_blame() {
    let (catalog, policy) = (catalog(), acting());
    let past = |job: &str, user: &str| PastRun {
        job: job.to_owned(),
        user: user.to_owned(),
        at: at(-86_400),
        nodes: vec![NodeName::from("n1")],
        class: "application".to_owned(),
        signature: "xid.31".to_owned(),
        culprits: vec![PastCulprit { node: NodeName::from("n1"), resource: Some(Resource::from(BAD_GPU)) }],
    };
    let mut pass = epilog(&catalog, &policy, &["n1"]);
    pass.observations.push(line(
        at(590),
        "NVRM: Xid (PCI:0000:13:00): 31, pid=1003, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE \
         GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f00_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    ));
    pass.tasks = vec![ends(3, at(591), ExitStatus::Signal(6))];
    assert_eq!(verdict(&step(&pass)).class, CauseClass::Application);
    pass.history = vec![past("7", "ann"), past("8", "bob")];
    let output = step(&pass);
    assert_eq!(verdict(&output).class, CauseClass::Hardware, "{:?}", verdict(&output).story);
    assert_eq!(verdict(&output).culprits[0].resource, Some(Resource::from(BAD_GPU)));
    pass.history = vec![past("7", "u"), past("8", "u")];
    assert_eq!(
        verdict(&step(&pass)).class,
        CauseClass::Application,
        "one user's own bug says nothing of the GPU"
    );
}

#[test]
fn a_drill_marks_its_verdict() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1", "n2"]);
    let mut told = peer("n2", "xid.79", at(500));
    told.synthetic = true;
    pass.peers = Asked::Answer(vec![told]);
    assert!(verdict(&step(&pass)).synthetic);
}

#[test]
fn a_flood_in_the_output_costs_bounded_room() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1"]);
    let mut text = String::new();
    for n in 0..20_000 {
        let _ =
            writeln!(text, "n1:{n}:1 [0] NCCL WARN Call to ibv_modify_qp failed with error No such device");
    }
    pass.output = printed(&catalog, &text);
    let verdict = step(&pass).verdicts.remove(0);
    let stored = serde_json::to_string(&verdict).unwrap();
    assert!(stored.len() < 64 * 1024, "{} bytes", stored.len());
}

#[test]
fn the_end_of_a_run_is_the_second_witness_of_a_fault_that_was_only_probable() {
    let (catalog, policy) = (catalog(), acting());
    let counted = with(|gpu| gpu.ecc_uncorrected = Some(2));
    let mut pass = epilog(&catalog, &policy, &["n1"]);
    pass.last_reading = Some((BootId::from("b1"), healthy()));
    pass.observations.push(sweep(at(590), counted.clone()));
    pass.tasks = vec![ends(3, at(591), ExitStatus::Signal(6))];
    let output = step(&pass);
    assert_eq!(verdict(&output).confidence, Confidence::Confirmed, "{:?}", verdict(&output).story);
    assert_eq!(output.cases[0].confidence, Confidence::Confirmed);
    assert!(kinds(&output).contains(&"drain"));
    // Not where the program says itself what it did wrong.
    pass.observations[0] = sweep(at(600), counted);
    pass.tasks = vec![ends(0, at(300), ExitStatus::Exit(1))];
    pass.output = printed(&catalog, TRACEBACK);
    let output = step(&pass);
    assert_eq!(verdict(&output).class, CauseClass::Application, "{:?}", verdict(&output).story);
    assert!(!kinds(&output).contains(&"drain"));
}

#[test]
fn what_a_state_check_found_meanwhile_did_not_end_the_run() {
    let (catalog, policy) = (catalog(), acting());
    let mut pass = epilog(&catalog, &policy, &["n1"]);
    let found = Event {
        id: EventId::from("0123456789abcdef"),
        code: Code::from("check.gpu_count"),
        at: at(300),
        node: NodeName::from("n1"),
        boot: BootId::from("b1"),
        source: SourceKind::Sysfs,
        stream: "gpu_count host".to_owned(),
        cursor: 1,
        provenance: Provenance::Trusted,
        synthetic: false,
        class: CauseClass::Hardware,
        role: Role::Root,
        advice: Advice::Drain,
        confidence: Confidence::Confirmed,
        clears: ClearedBy::CheckPasses,
        resource: Resource::Host,
        fields: std::collections::BTreeMap::new(),
        text: "7 GPUs, 8 expected".to_owned(),
    };
    pass.run_events = vec![found.clone()];
    let output = step(&pass);
    assert_eq!(verdict(&output).class, CauseClass::Unknown, "{:?}", verdict(&output).story);
    assert_eq!(verdict(&output).evidence, [found.id], "it is worth a look all the same");
    assert!(!kinds(&output).contains(&"requeue"));
}
