//! Whole bundles, written by code, against what must be said of them. One fault, told in every form a log comes in.
mod support;

use std::fmt::Write as _;

use support::{Folder, blamed, catalog, gpu, timed_out};

const XID: &str =
    "NVRM: Xid (PCI:0000:42:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

/// A GPU of the second node leaves the bus at second 500; all others time out ten minutes later.
fn lost_gpu() -> Folder {
    let mut folder = Folder::new(2);
    folder.signalled(6, 500.9, 6).all_signalled(1102.0, 6).gpus(1, &[(2, "\"lost\":true")]);
    let waiting =
        (0..8).filter(|rank| *rank != 6).map(|rank| timed_out(rank, 1100.2, 600)).collect::<String>();
    folder.output(&waiting);
    folder
}

#[test]
fn a_lost_gpu_is_named_from_a_kernel_log_of_any_form() {
    // Second 500 of the run: 12:08:20. Since boot: three days, four hours, eight minutes, twenty seconds.
    let forms = [
        ("dmesg iso", format!("2026-05-04T12:08:20,250000+00:00 {XID}\n")),
        ("dmesg -T", format!("[Mon May  4 12:08:20 2026] {XID}\n")),
        ("dmesg", format!("[274100.250000] {XID}\n")),
        ("journalctl short", format!("May 04 12:08:20 c2 kernel: {XID}\n")),
        ("journalctl short-iso", format!("2026-05-04T12:08:20+0000 c2 kernel: {XID}\n")),
        ("syslog", format!("May  4 12:08:20 c2 kernel: {XID}\n")),
        ("syslog with kernel time", format!("May  4 12:08:20 c2 kernel: [274100.250000] {XID}\n")),
        ("/dev/kmsg", format!("4,9120,274100250000,-;{XID}\n SUBSYSTEM=pci\n")),
    ];
    for (form, log) in forms {
        let mut folder = lost_gpu();
        let report = folder.kernel_as(1, &log).diagnose();
        assert_eq!(report.class, "hardware", "{form}");
        assert_eq!(blamed(&report), [format!("c2 gpu:{}", gpu(2))], "{form}");
        assert_eq!(
            (report.drain.as_slice(), report.job.as_str()),
            (&["c2".to_owned()][..], "requeue"),
            "{form}"
        );
        assert_eq!(report.confidence, "confirmed", "{form}");
        assert!(report.story.len() <= 10, "{form}");
    }
}

#[test]
fn the_same_line_from_a_user_moves_nothing() {
    let forms = [
        ("kmsg, facility user", format!("12,9120,274100250000,-;{XID}\n")),
        ("a process in syslog", format!("May  4 12:08:20 c2 python[7006]: {XID}\n")),
        ("dmesg -x, facility user", format!("user  :warn  : [274100.250000] {XID}\n")),
    ];
    for (form, log) in forms {
        let mut folder = lost_gpu();
        let report = folder.kernel_as(1, &log).gpus(1, &[]).diagnose();
        assert!(report.drain.is_empty() && report.culprits.is_empty(), "{form}: {report:?}");
    }
    let mut folder = lost_gpu();
    let report = folder.gpus(1, &[]).output(&format!("May  4 12:08:20 c2 kernel: {XID}\n")).diagnose();
    assert!(report.drain.is_empty() && report.culprits.is_empty());
}

#[test]
fn a_syslog_line_without_the_kernels_time_is_not_the_kernels_where_all_others_have_it() {
    let mut log: String = (0..20)
        .map(|n| format!("May  4 11:50:{n:02} c2 kernel: [272999.{n:06}] usb 1-1: new device\n"))
        .collect();
    writeln!(log, "May  4 12:08:20 c2 kernel: {XID}").unwrap();
    let report = lost_gpu().kernel_as(1, &log).gpus(1, &[]).diagnose();
    assert!(report.drain.is_empty(), "{report:?}");
}

#[test]
fn a_port_that_went_down_on_one_node_is_that_nodes() {
    let mut folder = Folder::new(3);
    let line = "2026-05-04T12:08:20,000000+00:00 mlx5_core 0000:4a:00.0 mlx5_2: Port: 1 Link DOWN\n";
    folder
        .kernel(1, line)
        .nics(1, "down", 1)
        .output(
            "c1:7000:7100 [0] transport/net_ib.cc:1698 NCCL WARN NET/IB : Got completion from peer 10.9.0.2<5000> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n\
             c3:7008:7100 [0] transport/net_ib.cc:1698 NCCL WARN NET/IB : Got completion from peer 10.9.0.2<5000> with status=12 opcode=0 len=0 vendor err 129 (Send)\n",
        )
        .all_signalled(525.0, 6);
    let report = folder.diagnose();
    assert_eq!((report.class.as_str(), report.drain.as_slice()), ("hardware", &["c2".to_owned()][..]));

    // The same at the same moment on a second node: what they share is to blame.
    let report = folder.kernel(2, line).nics(2, "down", 1).diagnose();
    assert_eq!((report.class.as_str(), report.job.as_str()), ("network", "requeue"));
    assert!(report.drain.is_empty() && report.culprits.is_empty());
}

#[test]
fn an_exception_of_one_rank_is_the_programs_whatever_the_others_print() {
    let mut output = String::from(
        "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/src/run.py\", line 9, in <module>\n[rank3]:     go()\n\
         [rank3]: IndexError: list index out of range\n",
    );
    for rank in [0, 1, 2, 4, 5, 6, 7] {
        writeln!(
            output,
            "c{}:{}:9 [{}] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer 10.9.0.1<4>",
            1 + rank / 4,
            7000 + rank,
            rank % 4
        ).unwrap();
        writeln!(output, "[rank{rank}]: torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited or there was a network error").unwrap();
    }
    let mut folder = Folder::new(2);
    let report = folder.output(&output).exits(3, 600.0, 1).all_signalled(603.0, 15).diagnose();
    assert_eq!((report.class.as_str(), report.job.as_str()), ("application", "none"));
    assert!(report.culprits.is_empty() && report.drain.is_empty());
}

#[test]
fn a_traceback_that_the_job_survived_did_not_end_it() {
    let mut output = String::from(
        "step 1 loss 2.0\nTraceback (most recent call last):\n  File \"/src/run.py\", line 9, in get\nKeyError: 'x'\n",
    );
    for step in 2..40 {
        writeln!(output, "step {step} loss 1.9").unwrap();
    }
    let mut folder = Folder::new(2);
    let report = folder.output(&output).signalled(2, 600.0, 9).all_signalled(603.0, 15).diagnose();
    assert_eq!(report.class, "unknown");
}

#[test]
fn the_kernels_kill_in_the_jobs_cgroup_is_the_jobs_doing() {
    let kill = "2026-05-04T12:08:20,000000+00:00 oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0,oom_memcg=/slurm/job_815/step_0,task_memcg=/slurm/job_815/step_0/task_5,task=run,pid=7005,uid=900\n\
                2026-05-04T12:08:20,000100+00:00 Memory cgroup out of memory: Killed process 7005 (run) total-vm:9kB, anon-rss:9kB, file-rss:0kB, shmem-rss:0kB, UID:900 pgtables:9kB oom_score_adj:0\n";
    let mut folder = Folder::new(2);
    let report = folder
        .state("OUT_OF_MEMORY")
        .kernel(1, kill)
        .signalled(5, 500.3, 9)
        .all_signalled(503.0, 15)
        .diagnose();
    assert_eq!((report.class.as_str(), report.confidence.as_str()), ("application", "confirmed"));
}

#[test]
fn what_came_before_a_reboot_is_history() {
    let mut folder = lost_gpu();
    let log = format!(
        "2026-04-28T10:00:00,000000+00:00 {XID}\n2026-05-01T08:00:00,000000+00:00 Linux version 6.8.0 (builder@host)\n"
    );
    let report = folder.kernel_as(1, &log).gpus(1, &[]).diagnose();
    assert!(report.culprits.is_empty() && report.drain.is_empty());
    assert!(report.discounted.iter().any(|d| d.code == "xid.79" && d.why.contains("earlier boot")));
}

#[test]
fn a_job_that_may_not_be_requeued_is_left_alone_and_its_node_is_not() {
    for more in ["requeue = false", "restart_count = 3", "exit_note = 1"] {
        let mut folder = lost_gpu();
        let log = format!("2026-05-04T12:08:20,250000+00:00 {XID}\n");
        let report = folder.job(more).kernel(1, &log).diagnose();
        assert_eq!(report.drain, ["c2"], "{more}");
        assert_eq!(report.job == "none", more != "exit_note = 1", "{more}");
    }
}

#[test]
fn what_slurm_ended_nobody_is_to_blame_for() {
    for state in ["PREEMPTED", "CANCELLED by 900", "TIMEOUT"] {
        let mut folder = Folder::new(2);
        let output = "[rank1]: RuntimeError: late\nslurmstepd: error: *** STEP 815.0 ON c1 CANCELLED AT 2026-05-04T12:19:50 ***\n";
        let report = folder.state(state).output(output).all_signalled(1190.0, 15).diagnose();
        assert!(report.culprits.is_empty() && report.drain.is_empty() && report.job == "none", "{state}");
    }
}

#[test]
fn what_could_not_be_read_is_told() {
    let mut folder = lost_gpu();
    folder.finish();
    std::fs::remove_file(folder.path().join("nodes/c1/kernel.log")).unwrap();
    folder.file("nodes/c2/gpus.json", b"{ not json");
    let report = triage_bundle::diagnose(folder.path(), catalog()).unwrap();
    assert!(report.blind.iter().any(|line| line.starts_with("c1: kernel.log")), "{:?}", report.blind);
    assert!(report.blind.iter().any(|line| line.starts_with("c2: gpus.json")), "{:?}", report.blind);
}

#[test]
fn flight_recorder_dumps_name_the_rank_that_did_not_come() {
    let dump = |rank: u32| {
        let state = if rank == 5 {
            ""
        } else {
            ",{\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":8,\"profiling_name\":\"nccl:all_reduce\",\"state\":\"started\"}"
        };
        format!(
            "{{\"entries\":[{{\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":7,\"profiling_name\":\"nccl:all_reduce\",\"state\":\"completed\"}}{state}]}}"
        )
    };
    let mut folder = Folder::new(2);
    // Every rank prints the time-out: only the dumps tell which of them never came.
    folder
        .output(&(0..8).map(|rank| timed_out(rank, 1100.2, 600)).collect::<String>())
        .all_signalled(1102.0, 6);
    for rank in 0..8 {
        folder.file(&format!("output/nccl_trace_rank_{rank}"), dump(rank).as_bytes());
    }
    let report = folder.diagnose();
    assert_eq!((report.class.as_str(), report.culprits.len()), ("unknown", 0));
    assert!(report.story.iter().any(|line| line.contains("rank 5 on c2")), "{:?}", report.story);
}

#[test]
fn a_log_in_local_time_is_read_by_the_boot_it_shows() {
    // Seven hours behind UTC; the node was booted at 08:00:00 UTC on the first of May.
    let log = format!(
        "May  1 01:00:00 c2 kernel: Linux version 6.8.0 (builder@host)\nMay  4 05:08:20 c2 kernel: {XID}\n"
    );
    let report = lost_gpu().kernel_as(1, &log).diagnose();
    assert_eq!(blamed(&report), [format!("c2 gpu:{}", gpu(2))]);
    assert!(
        report.evidence.iter().any(|e| e.time.as_deref() == Some("2026-05-04T12:08:20.000000Z")),
        "{report:?}"
    );
}

#[test]
fn a_line_behind_an_unfinished_progress_bar_keeps_its_rank_and_time() {
    let bar = " 15%|#5        | 151/1000 [04:16<24:03,  1.70s/it, v_num=0, loss=1.6]";
    let waiting: String =
        (0..8).filter(|rank| *rank != 5).map(|rank| bar.to_owned() + &timed_out(rank, 1100.2, 600)).collect();
    let mut folder = Folder::new(2);
    let report = folder.output(&waiting).all_signalled(1102.0, 6).diagnose();
    assert!(
        report.story.iter().any(|line| line.contains("7 ranks waited for rank 5 on c2")),
        "{:?}",
        report.story
    );
    assert!(report.evidence.iter().all(|e| !e.text.contains("151/1000")), "{:?}", report.evidence);
}
