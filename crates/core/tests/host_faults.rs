//! What the kernel says of the host: which of it opens a case, on what, and how sure.
#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]
mod support;

use support::*;
use triage_core::pipeline::{Asked, Closed, Endpoint, Input, Output, Past, Trigger, step};
use triage_core::*;

const BOOTED: i64 = -86_400;

fn pass(lines: &[(i64, &str)], change: impl Fn(&mut Input<'_>)) -> Output {
    let (catalog, policy) = (catalog(), acting());
    let mut input = input(&catalog, &policy, Trigger::HealthCheck);
    input.node_record = Asked::Answer(node_record("ALLOCATED", ""));
    input.past = Past { since: Some(at(-2 * 86_400)), booted: Some(at(BOOTED)), ..Past::default() };
    for (cursor, (secs, text)) in lines.iter().enumerate() {
        input.observations.push(Observation { cursor: cursor as u64, ..line(at(*secs), text) });
    }
    change(&mut input);
    step(&input)
}

fn cases(lines: &[(i64, &str)]) -> Vec<(String, String, Confidence)> {
    told(&pass(lines, |_| ()))
}

fn told(output: &Output) -> Vec<(String, String, Confidence)> {
    output.cases.iter().map(|c| (c.fault.clone(), c.resource.to_string(), c.confidence)).collect()
}

fn case(fault: &str, resource: &str, confidence: Confidence) -> (String, String, Confidence) {
    (fault.to_owned(), resource.to_owned(), confidence)
}

fn drains(output: &Output) -> usize {
    output.actions.iter().filter(|action| action.kind() == "drain").count()
}

fn endpoint(resource: Resource, address: &str, above: &[&str]) -> Endpoint {
    Endpoint {
        resource,
        address: address.parse().unwrap(),
        above: above.iter().map(|port| port.parse().unwrap()).collect(),
    }
}

const FATAL: &str = "pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received: 0000:40:01.1";

#[test]
fn a_fatal_error_of_a_port_is_the_gpus_behind_it_and_drains() {
    let output = pass(&[(590, FATAL)], |input| {
        let gpu: PciAddress = "0000:41:00.0".parse().unwrap();
        input.past.endpoints = vec![endpoint(Resource::Gpu(gpu), "0000:41:00.0", &["0000:40:01.1"])];
    });
    assert_eq!(told(&output), [case("pcie.link", "gpu:0000:41:00.0", Confidence::Confirmed)]);
    assert_eq!(drains(&output), 1);
}

#[test]
fn both_ports_of_one_adapter_are_that_adapter() {
    let output = pass(&[(590, FATAL)], |input| {
        let nic = |name: &str, at: &str| endpoint(Resource::Nic(name.to_owned()), at, &["0000:40:01.1"]);
        input.past.endpoints = vec![nic("mlx5_0", "0000:41:00.0"), nic("mlx5_1", "0000:41:00.1")];
    });
    assert_eq!(told(&output)[0].1, "nic:mlx5_0");
}

#[test]
fn a_port_above_several_gpus_blames_none_of_them_and_drains_nobody() {
    let output = pass(&[(590, FATAL)], |input| {
        let gpu = |at: &str| endpoint(Resource::Gpu(at.parse().unwrap()), at, &["0000:40:01.1"]);
        input.past.endpoints = vec![gpu("0000:41:00.0"), gpu("0000:42:00.0")];
    });
    assert_eq!(told(&output), [case("pcie.link", "pci:0000:40:01.1", Confidence::Probable)]);
    assert_eq!(drains(&output), 0);
}

#[test]
fn an_error_of_a_slot_nobody_knows_drains_nobody() {
    let output = pass(&[(590, FATAL)], |_| ());
    assert_eq!((told(&output)[0].2, drains(&output)), (Confidence::Probable, 0));
}

#[test]
fn a_link_that_the_kernel_brought_back_drains_nobody() {
    let recovered = "pcieport 0000:40:01.1: AER: device recovery successful";
    let output = pass(&[(590, FATAL), (591, recovered)], |input| {
        let gpu: PciAddress = "0000:41:00.0".parse().unwrap();
        input.past.endpoints = vec![endpoint(Resource::Gpu(gpu), "0000:41:00.0", &["0000:40:01.1"])];
    });
    assert_eq!(drains(&output), 0);
}

#[test]
fn a_corrected_error_alone_is_nothing() {
    let lines = [
        (500, "pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0"),
        (501, "nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"),
        (
            510,
            "EDAC MC3: 1 CE memory read error on CPU_SrcID#0_MC#3_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1 offset:0xec0 grain:32 syndrome:0x0)",
        ),
        (520, "mce: CPU7: Core temperature is above threshold, cpu clock is throttled (total events = 4)"),
    ];
    assert_eq!(cases(&lines), []);
}

#[test]
fn an_uncorrected_memory_error_names_the_module_and_drains() {
    let output = pass(
        &[(
            590,
            "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x12 offset:0x0 grain:32)",
        )],
        |_| (),
    );
    assert_eq!(told(&output)[0].0, "memory.dimm");
    assert!(told(&output)[0].1.starts_with("dimm:CPU_SrcID#0_MC#0_Chan#1_DIMM#0"), "{:?}", told(&output));
    assert_eq!(drains(&output), 1);
}

const CGROUP_OOM: &str = "Memory cgroup out of memory: Killed process 4711 (python3) total-vm:91234567kB, anon-rss:67108000kB, file-rss:102400kB, shmem-rss:0kB, UID:1000 pgtables:140000kB oom_score_adj:0";
const HOST_OOM: &str = "Out of memory: Killed process 4711 (python3) total-vm:91234567kB, anon-rss:67108000kB, file-rss:102400kB, shmem-rss:0kB, UID:1000 pgtables:140000kB oom_score_adj:0";

#[test]
fn a_job_at_its_own_memory_limit_is_no_case_of_the_node() {
    assert_eq!(cases(&[(590, CGROUP_OOM)]), []);
}

#[test]
fn a_node_that_ran_out_of_memory_is_noted_and_not_drained() {
    let output = pass(&[(590, HOST_OOM)], |_| ());
    assert_eq!(told(&output), [case("memory.host", "host", Confidence::Suspected)]);
    assert_eq!(drains(&output), 0);
}

#[test]
fn lockups_of_several_cpus_are_one_case_of_the_node() {
    let lines = [
        (590, "watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [kworker/12:1:811]"),
        (591, "watchdog: BUG: soft lockup - CPU#13 stuck for 22s! [python3:4711]"),
        (592, "rcu: INFO: rcu_sched self-detected stall on CPU"),
    ];
    let output = pass(&lines, |_| ());
    assert_eq!(told(&output), [case("kernel.lockup", "host", Confidence::Probable)]);
    assert_eq!((output.cases[0].events.len(), drains(&output)), (3, 0));
}

#[test]
fn an_oops_drains() {
    let output = pass(&[(590, "BUG: kernel NULL pointer dereference, address: 0000000000000008")], |_| ());
    assert_eq!(drains(&output), 1, "{:?}", told(&output));
}

#[test]
fn a_filesystem_of_the_node_that_shut_down_drains_and_an_image_a_user_mounted_does_not() {
    let lost = "EXT4-fs (nvme0n1p2): Remounting filesystem read-only";
    assert_eq!(drains(&pass(&[(590, lost)], |_| ())), 1);
    for image in [
        "EXT4-fs (loop3): Remounting filesystem read-only",
        "blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
        "blk_update_request: I/O error, dev sr0, sector 1 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
    ] {
        assert_eq!(cases(&[(590, image)]), [], "{image}");
    }
}

#[test]
fn one_timeout_of_a_disk_is_only_counted() {
    assert_eq!(cases(&[(590, "nvme nvme0: I/O 25 QID 3 timeout, aborting")]), []);
}

const DOWN: &str = "mlx5_core 0000:5e:00.0 ens2f0np0: Link down";
const UP: &str = "mlx5_core 0000:5e:00.0 ens2f0np0: Link up";

#[test]
fn a_link_that_comes_up_late_while_the_node_starts_is_no_case() {
    assert_eq!(cases(&[(BOOTED + 60, DOWN), (BOOTED + 70, UP)]), []);
    assert_eq!(cases(&[(BOOTED + 60, DOWN)]), [], "a port without a cable");
}

#[test]
fn a_link_that_is_back_before_anybody_looked_is_no_case() {
    assert_eq!(cases(&[(500, DOWN), (504, UP)]), []);
    assert_eq!(cases(&[(500, UP), (504, DOWN)]), [case("nic.link", "nic:ens2f0np0", Confidence::Suspected)]);
}

const NFS_LOST: &str = "nfs: server filer1 not responding, still trying";
const NFS_OK: &str = "nfs: server filer1 OK";

#[test]
fn a_server_that_answers_again_is_no_case_any_more() {
    assert_eq!(cases(&[(500, NFS_LOST), (530, NFS_OK)]), []);
    let output = pass(&[(500, NFS_LOST)], |_| ());
    assert_eq!(told(&output), [case("fs.nfs", "fs:filer1", Confidence::Probable)]);
    assert_eq!(drains(&output), 0);
    let next = pass(&[(560, NFS_OK)], |input| input.cases.clone_from(&output.cases));
    assert_eq!(next.cases[0].state, CaseState::Resolved, "{}", next.cases[0].why);
}

#[test]
fn a_user_cannot_open_a_case_of_the_host() {
    let output = pass(&[(590, "BUG: kernel NULL pointer dereference, address: 0000000000000008")], |input| {
        input.observations[0].provenance = Provenance::User;
    });
    assert_eq!(told(&output), []);
}

#[test]
fn what_was_logged_before_the_ledger_was_begun_is_a_suspicion_until_the_state_of_today_confirms_it() {
    let off_bus = "NVRM: Xid (PCI:0000:13:00): 79, pid=4711, name=python3, GPU has fallen off the bus.";
    let begun_after = |input: &mut Input<'_>| input.past.since = Some(at(580));
    let output = pass(&[(-7_200, off_bus)], begun_after);
    assert_eq!((told(&output)[0].2, drains(&output)), (Confidence::Suspected, 0));
    assert!(output.cases[0].why.contains("before this ledger"), "{}", output.cases[0].why);
    let confirmed = pass(&[(-7_200, off_bus)], |input| {
        begun_after(input);
        input.observations.push(sweep(at(595), with(|gpu| gpu.lost = true)));
    });
    assert_eq!((confirmed.cases[0].confidence, drains(&confirmed)), (Confidence::Confirmed, 1));
    let shortly_before = pass(&[(300, off_bus)], begun_after);
    assert_eq!(drains(&shortly_before), 1, "what happened minutes ago is news");
}

#[test]
fn a_line_from_before_a_proven_repair_is_history() {
    let off_bus = "NVRM: Xid (PCI:0000:13:00): 79, pid=4711, name=python3, GPU has fallen off the bus.";
    let repaired = |input: &mut Input<'_>| {
        let resource = Resource::from(BAD_GPU);
        input.past.closed =
            vec![Closed { fault: "gpu.off_bus".to_owned(), resource, at: at(400), acquitted: false }];
    };
    assert_eq!(told(&pass(&[(399, off_bus)], repaired)), []);
    assert_eq!(told(&pass(&[(401, off_bus)], repaired)).len(), 1, "it broke again");
}

/// Hardware clocks that run in local time are hours ahead until somebody sets the system's.
#[test]
fn a_moment_of_a_clock_that_was_ahead_makes_no_news_old() {
    let off_bus = "NVRM: Xid (PCI:0000:13:00): 79, pid=4711, name=python3, GPU has fallen off the bus.";
    let closed = |input: &mut Input<'_>| {
        let resource = Resource::from(BAD_GPU);
        input.past.closed =
            vec![Closed { fault: "gpu.off_bus".to_owned(), resource, at: at(8 * 3_600), acquitted: false }];
    };
    assert_eq!(drains(&pass(&[(590, off_bus)], closed)), 1, "closed in the future");
    let begun = |input: &mut Input<'_>| input.past.since = Some(at(8 * 3_600));
    assert_eq!(drains(&pass(&[(590, off_bus)], begun)), 1, "a ledger begun in the future");
}

#[test]
fn a_line_of_the_boot_before_is_history_unless_it_outlives_a_reboot() {
    let of_last_boot = |input: &mut Input<'_>| {
        for observation in &mut input.observations {
            observation.boot = BootId::from("b0");
            observation.source = SourceKind::KernelFile;
        }
    };
    let off_bus = "NVRM: Xid (PCI:0000:13:00): 79, pid=4711, name=python3, GPU has fallen off the bus.";
    assert_eq!(told(&pass(&[(BOOTED - 60, off_bus)], of_last_boot)), []);
    let no_rows_left = "NVRM: Xid (PCI:0000:13:00): 64, pid='<unknown>', name=<unknown>, Row Remapper: Unable to remap row, all spare rows used";
    assert_eq!(told(&pass(&[(BOOTED - 60, no_rows_left)], of_last_boot)).len(), 1);
}

#[test]
fn a_healthy_array_and_a_fabric_manager_that_is_not_needed_are_no_cases() {
    let healthy = [
        (590, "md/raid1:md0: active with 2 out of 2 mirrors"),
        (
            591,
            "nvidia-fabricmanager-start.sh[88]: request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
        ),
    ];
    assert_eq!(cases(&healthy), []);
    assert_eq!(cases(&[(590, "md/raid1:md0: active with 1 out of 2 mirrors")]).len(), 1);
}

#[test]
fn a_storage_controller_that_faults_is_noted_and_one_that_is_given_up_drains() {
    let fault = pass(
        &[(590, "mpt3sas_cm0: fault_state(0x2622)!"), (591, "mpt3sas_cm0: sending diag reset !!")],
        |_| (),
    );
    assert_eq!(told(&fault), [case("disk.controller", "disk:mpt3sas_cm0", Confidence::Probable)]);
    assert_eq!(drains(&fault), 0);
    let lost =
        pass(&[(590, "megaraid_sas 0000:18:00.0: Adapter reset failed, killing adapter scsi0.")], |_| ());
    assert_eq!(told(&lost), [case("disk.controller", "pci:0000:18:00.0", Confidence::Confirmed)]);
    assert_eq!(drains(&lost), 1);
}

#[test]
fn an_adapter_that_resets_its_queues_is_noted_and_one_that_left_the_bus_too() {
    let reset = &[
        (590, "ixgbe 0000:5e:00.0 ens2f0: initiating reset due to lost link with pending Tx work"),
        (591, "ixgbe 0000:5e:00.0 ens2f0: Reset adapter"),
    ];
    assert_eq!(cases(reset), [], "what follows a lost link or new settings is no fault of its own");
    let hang = cases(&[(590, "e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:")]);
    assert_eq!(hang, [case("nic.queue", "nic:eno1", Confidence::Probable)]);
    let gone = pass(&[(590, "igb 0000:02:00.0 enp2s0: PCIe link lost")], |_| ());
    assert_eq!(told(&gone), [case("nic.firmware", "nic:enp2s0", Confidence::Probable)]);
    assert_eq!(drains(&gone), 0, "class network: the shipped policy drains no node for its network");
}

#[test]
fn what_the_kernel_advises_after_a_disk_fault_opens_no_case() {
    assert_eq!(cases(&[(590, "nvme nvme0: Does your device have a faulty power saving mode enabled?")]), []);
}
