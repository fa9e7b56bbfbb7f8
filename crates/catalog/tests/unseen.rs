//! Lines nobody wrote a family for: other kernel releases, other drivers' wording, other numbers. What matters is that the
//! right family takes them.
use triage_catalog::embedded;
use triage_core::Advice;
use triage_core::catalog::Origin;
use triage_core::classify::prefix;

/// A line as a log holds it, and the code it must get; empty: no meaning, or one that asks for nothing.
const LINES: &[(&str, &str)] = &[
    // PCI Express.
    (
        "[81254.112233] pcieport 0000:16:00.0: AER: Multiple Correctable error message received from 0000:18:00.0",
        "pcie.aer_corrected",
    ),
    (
        "2025-11-02T03:11:09.120034+00:00 n17 kernel: pcieport 0001:00:01.0: AER: Multiple Uncorrectable (Non-Fatal) error message received from 0001:01:00.0",
        "pcie.aer_nonfatal",
    ),
    (
        "kernel: pcieport 0000:80:01.1: AER: Uncorrectable (Fatal) error message received from 0000:80:01.1",
        "pcie.aer_fatal",
    ),
    (
        "[ 99.1] nvidia 0000:5d:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Completer ID)",
        "pcie.aer_fatal",
    ),
    (
        "[ 99.1] mlx5_core 0000:9a:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
        "pcie.aer_nonfatal",
    ),
    ("[ 99.1] pcieport 0000:64:02.0: AER: device recovery failed", "pcie.recovery_failed"),
    ("[ 99.1] pcieport 0000:64:02.0: DPC: containment event, status:0x1f01 source:0x0000", "pcie.dpc"),
    (
        "[ 99.1] pcieport 0000:64:02.0: DPC: containment event, status:0x1f07, ERR_FATAL received from 0000:65:00.0",
        "pcie.dpc",
    ),
    ("[ 99.1] pcieport 0000:40:01.1: pciehp: Slot(9-1): Link Down", "pcie.link_down"),
    ("[ 99.1] pcieport 0000:40:01.1: pciehp: Slot(9-1): Card not present", "pcie.card_gone"),
    ("[ 99.1] pcieport 0000:40:01.1: pciehp: Slot(12): Power fault", "pcie.power_fault"),
    (
        "[ 99.1] nvidia 0000:5d:00.0: Unable to change power state from D3cold to D0, device inaccessible",
        "pcie.unreachable",
    ),
    ("[ 99.1] pcieport 0000:b7:01.0:   TLP Header: 60000080 ab0000ff 00000001 d0c0ffee", "pcie.aer_detail"),
    ("[ 99.1] pcieport 0000:00:1b.2: can't find device of ID00da", "pcie.aer_detail"),
    ("[ 99.1] nvme 0000:2b:00.0: AER: aer_layer=Physical Layer, aer_agent=Receiver ID", "pcie.aer_detail"),
    (
        "[ 99.1] 0000:52:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, id=5200(Requester ID)",
        "pcie.aer_nonfatal",
    ),
    ("[ 99.1] pcieport 0015:00:00.0: EDR: DPC port successfully recovered", "pcie.recovery"),
    ("[ 99.1] pciehp 0000:5c:01.0:pcie204: Slot(8-1): Link Down", "pcie.link_down"),
    ("[ 99.1] pciehp 0000:5c:01.0:pcie204: Slot(8-1): Card not present", "pcie.card_gone"),
    ("[ 99.1] igc 0000:02:00.0: not ready 65535ms after bus reset; giving up", "pcie.unreachable"),
    (
        "[ 99.1] nvidia 0000:5d:00.0: BAR 1: failed to assign [mem size 0x1000000000 64bit pref]",
        "pcie.no_window",
    ),
    ("[ 99.1] pci 0000:00:1c.0: BAR 13: failed to assign [io  size 0x1000]", ""),
    ("[ 99.1] pci 0000:5d:00.0: BAR 6: failed to assign [mem size 0x00080000 pref]", ""),
    ("[ 99.1] pci 0000:5d:00.0: BAR 1: assigned [mem 0x2000000000-0x3fffffffff 64bit pref]", ""),
    ("[ 99.1] pcieport 0000:00:1c.0: Data Link Layer Link Active not set in 100 msec", "pcie.recovery_step"),
    (
        "[ 99.1] pcieport 0000:00:1c.5: DPC: error containment capabilities: Int Msg #0, RPExt+ PoisonedTLP+ SwTrigger+ RP PIO Log 4, DL_ActiveErr+",
        "",
    ),
    (
        "[ 99.1] iommu ivhd2: AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=c1:00.0 address=0x1005a3d10]",
        "iommu.fault",
    ),
    ("[ 99.1] DMAR: VT-d detected Invalidation Queue Error: Reason f", "iommu.fault"),
    (
        "[ 99.1] arm-smmu-v3 arm-smmu-v3.16.auto: event: C_BAD_STREAMID client: (unassigned sid) sid: 0x1f80 ssid: 0x0",
        "iommu.fault",
    ),
    ("[ 99.1] arm-smmu-v3 arm-smmu-v3.7.auto: IRQ combined not found", ""),
    ("[ 99.1] hpsa 0000:04:00.0: [ 8] RELAY_NUM Rollover", "pcie.aer_corrected"),
    ("[ 99.1] pcieport 0000:00:01.0: [12] Replay Timer Timeout", "pcie.aer_corrected"),
    ("[ 99.1] tg3 0000:04:00.0: AER: [20] UnsupReq (First)", "pcie.aer_nonfatal"),
    // Memory and processors.
    ("kernel: MCE: [Hardware Error]: Machine check events logged", "mce.logged"),
    ("[ 12.3] [Hardware Error]: Machine check: Data load in unrecoverable area of kernel", "mce.uncorrected"),
    ("[ 12.3] mce: [Hardware Error]: Machine check: Processor context corrupt", "mce.uncorrected"),
    ("[ 12.3] mce: CPU21: Machine Check Exception: 4 Bank 7", "mce.uncorrected"),
    ("CPU 21: Machine Check Exception: 0 Bank 7: 8c00004000010091", "mce.corrected"),
    (
        "kernel: [Hardware Error]: CPU:6 Machine Check Exception: 0 Bank 4: b600000000070f0f",
        "mce.uncorrected",
    ),
    ("kernel: [Hardware Error]: Error Status: Corrected error, no action required.", "mce.corrected"),
    ("[ 12.3] [Hardware Error]: event severity: fatal", "apei.previous_fatal"),
    (
        "[ 12.3] x86/amd: Previous system reset reason [0x00080800]: an uncorrected error caused a data fabric sync flood event",
        "apei.previous_fatal",
    ),
    ("kernel: EDAC amd64 MC3: CE ERROR_ADDRESS= 0x1ab2c3d40", "mce.detail"),
    ("[ 12.3] MCE 0x5a31c: recovery action for clean LRU page: Recovered", "memory.page_failed"),
    ("[ 12.3] Memory failure: 0x5a31c0: split unsplit thp successfully.", ""),
    (
        "[ 12.3] EDAC MC1: 3 CE memory scrubbing error on CPU_SrcID#1_MC#0_Chan#1_DIMM#1 (channel:1 slot:1 page:0x5e22f1 offset:0x0 grain:32 syndrome:0x0 -  err_code:0x0008:0x00c1 socket:1 imc:0 rank:5 bg:2 ba:1 row:0x1f2 col:0x3a0)",
        "memory.corrected",
    ),
    (
        "[ 12.3] EDAC MC0: 1 UE memory read error on mc#0csrow#2channel#1 (csrow:2 channel:1 page:0x12 offset:0x0 grain:64)",
        "memory.uncorrected",
    ),
    ("[ 12.3] mce: [Hardware Error]: Machine check events logged", "mce.logged"),
    ("[ 12.3] mce: Uncorrected hardware memory error in user-access at 5d1a2b3c40", "memory.uncorrected"),
    ("[ 12.3] Memory failure: 0x5d1a2b3: recovery action for dirty LRU page: Recovered", ""),
    (
        "[ 12.3] Memory failure: 0x5d1a2b3: Sending SIGBUS to python3:4711 due to hardware memory corruption",
        "memory.killed",
    ),
    ("[ 12.3] [Hardware Error]: Corrected error, no action required.", "mce.corrected"),
    ("[ 12.3] [Hardware Error]: Uncorrected, software containable error.", "mce.uncorrected"),
    ("[ 12.3] {3}[Hardware Error]: event severity: fatal", "apei.fatal"),
    ("[ 12.3] {1}[Hardware Error]: event severity: corrected", "apei.corrected"),
    ("[ 12.3] NMI: PCI system error (SERR) for reason b1 on CPU 0.", "nmi.hardware"),
    (
        "[ 12.3] CPU42: Package temperature above threshold, cpu clock throttled (total events = 4711)",
        "cpu.throttled",
    ),
    (
        "[ 12.3] mce: CPU12: Package temperature is above threshold, cpu clock is throttled (total events = 1)",
        "cpu.throttled",
    ),
    ("[ 12.3] thermal thermal_zone0: acpitz: critical temperature reached, shutting down", "host.overheated"),
    ("[ 99.1] EDAC igen6 MC0: HANDLING IBECC MEMORY ERROR", "mce.detail"),
    ("[ 99.1] EDAC MC0: 1 CE memory read error", "memory.corrected"),
    ("[ 99.1] EDAC amd64: Node 0: DRAM ECC disabled.", ""),
    ("[ 99.1] core: [Hardware Error]: Machine check events logged", "mce.logged"),
    ("[ 99.1] CPU17 BANK12 CMCI storm detected", "mce.storm"),
    ("[ 99.1] CPU17 BANK12 CMCI storm subsided", "mce.storm_over"),
    ("[ 99.1] CPU3: Package power limit notification (total events = 12)", ""),
    ("[ 99.1] Memory failure: 0x77aa01: recovery action for unsplit thp: Delayed", ""),
    (
        "[ 99.1] soft_offline: 0x77aa01: page isolation failed: 0, page count 2, type 17ffffc0000014",
        "memory.page_offlined",
    ),
    ("[ 99.1] Memory failure: 0x77aa01: recovery action for unsplit thp: Failed", "memory.page_failed"),
    // Memory of jobs and of the node.
    ("Mar  3 04:05:06 n1 kernel: Out of Memory: Killed process 991 (xfs).", "oom.host"),
    ("kernel: Out of memory: Killed process (database)", "oom.host"),
    (
        "[ 12.3] Killed process 991 (x86_64-conda-linux-gnu-c++) total-vm:510000kB, anon-rss:440000kB, file-rss:51kB",
        "oom.reaped",
    ),
    ("[ 12.3] Out of memory: Killed process 9321", "oom.host"),
    ("[ 12.3] Out of memory: Kill process 9321, UID 1007, (vasp_std).", "oom.host"),
    ("[ 12.3] Memory cgroup out of memory: Killed process 9321, UID 1007, (vasp_std).", "oom.cgroup"),
    ("[ 12.3] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),", "oom.cgroup"),
    ("[ 12.3] oom-kill:constraint=OTHER", "oom.invoked"),
    ("Mar  3 04:05:06 n1 kernel: vasp_std invoked oom-killer", "oom.invoked"),
    ("Mar  3 04:05:06 n1 kernel: oom-killer: gfp_mask=0x1d2, order=0", "oom.invoked"),
    (
        "[ 12.3] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg=/slurm/uid_1000/job_77/step_0,task_memcg=/slurm/uid_1000/job_77/step_0/task_0,task=python,pid=991,uid=1000",
        "oom.cgroup",
    ),
    (
        "[ 12.3] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-7,global_oom,task_memcg=/system.slice/sshd.service,task=sshd,pid=1201,uid=0",
        "oom.host",
    ),
    (
        "[ 12.3] Out of memory: Killed process 1201 (sshd) total-vm:15000kB, anon-rss:1200kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:60kB oom_score_adj:0",
        "oom.host",
    ),
    (
        "[ 12.3] Memory cgroup out of memory: Killed process 991 (ray::IDLE) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0",
        "oom.cgroup",
    ),
    (
        "[ 12.3] Task in /slurm/uid_1000/job_77/step_0 killed as a result of limit of /slurm/uid_1000/job_77",
        "oom.cgroup",
    ),
    (
        "[ 12.3] Tasks in /kubepods.slice/kubepods-pod7.slice/cri-containerd-1a.scope are going to be killed due to memory.oom.group set",
        "oom.cgroup",
    ),
    (
        "<6>[ 12.3][  T54] oom_reaper: reaped process 991 (a.out), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        "oom.reaped",
    ),
    (
        "Sun Nov 29 13:05:23 2026 kern.warn kernel: [  471.147114] python invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        "oom.invoked",
    ),
    (
        "Nov 29 13:05:23 n1 systemd-oomd[811]: Killed /user.slice/user-1001.slice/session-4.scope due to memory used (47110 of 48000) / swap used (471 of 500) being more than 90.00%",
        "oom.daemon",
    ),
    (
        "Nov 29 13:05:23 n1 systemd[4711]: run-p47-i11.scope: Failed with result 'oom-kill'.",
        "oom.unit_killed",
    ),
    (
        "[ 12.3] SLUB: Unable to allocate memory on node -1, gfp=0xdc0(GFP_KERNEL|__GFP_ZERO)",
        "memory.allocation_failed",
    ),
    // The kernel itself.
    ("Mar  3 04:05:06 n1 kernel: Kernel panic - not syncing", "kernel.panic"),
    (
        "[ 12.3] Kernel Panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)",
        "kernel.panic",
    ),
    ("29 Nov, 04:05:06 n1 kernel: rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "kernel.rcu_stall"),
    (
        "[ 12.3] kernel: DMAR: [DMA Write NO_PASID] Request device [0x5d:0x00.0] fault addr 0x4711000 [fault reason 0x05] PTE Write access is not set",
        "iommu.fault",
    ),
    (
        "[ 12.3] smp: csd: Detected non-responsive CSD lock (#2) on CPU#9, waiting 5000000012 ns for CPU#41 do_flush_tlb_all+0x0/0x30(0x0).",
        "kernel.cpu_silent",
    ),
    ("Mar  3 04:05:06 n1 kernel: NMI Watchdog detected LOCKUP on CPU 9", "kernel.hard_lockup"),
    ("Mar  3 04:05:06 n1 kernel: NMI Watchdog detected LOCKUP on CPU9, registers:", "kernel.hard_lockup"),
    (
        "[ 12.3] tasks_rcu_exit_srcu_stall: rcu_tasks grace period number 9 (since boot) gp_state: RTGS_POST_SCAN_TASKLIST is 30311 jiffies old.",
        "kernel.rcu_stall",
    ),
    ("[ 12.3] INFO: task kworker blocked for more than 245 seconds.", "task.hung"),
    ("29 Nov 04:05:06 n1 kernel: INFO: task jbd2/dm-3-8:991 blocked for more than 120 seconds.", "task.hung"),
    (
        "11/29/2026, 04:05:06 PM kernel: BUG: soft lockup - CPU#9 stuck for 22s! [fio:991]",
        "kernel.soft_lockup",
    ),
    ("[Nov 29 04:05:06 2026] traps: python3[991] general protection fault", "process.trap"),
    (
        "Mar  3 04:05:06 n1 (udev-worker)[991]: sdq: Process '/usr/bin/unshare -m /usr/bin/snap auto-import' failed with exit code 1.",
        "",
    ),
    ("[ 12.3] INFO: task kworker/u256:3:99112 blocked for more than 241 seconds.", "task.hung"),
    ("[ 12.3] INFO: task ll_ost_io01_003:1234 blocked for more than 120 seconds.", "task.hung"),
    (
        "[ 12.3] watchdog: BUG: soft lockup - CPU#191 stuck for 45s! [migration/191:1153]",
        "kernel.soft_lockup",
    ),
    ("[ 12.3] NMI watchdog: Watchdog detected hard LOCKUP on cpu 33", "kernel.hard_lockup"),
    ("[ 12.3] watchdog: Watchdog detected hard LOCKUP on cpu 7", "kernel.hard_lockup"),
    ("[ 12.3] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "kernel.rcu_stall"),
    (
        "[ 12.3] rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 12-... } 21 jiffies s: 1 root: 0x1/.",
        "kernel.rcu_stall",
    ),
    ("[ 12.3] BUG: unable to handle page fault for address: ffffa0c1deadbeef", "kernel.oops"),
    (
        "[ 12.3] Oops: general protection fault, probably for non-canonical address 0xdead000000000108: 0000 [#1] PREEMPT SMP NOPTI",
        "kernel.oops",
    ),
    ("[ 12.3] Kernel panic - not syncing: Fatal exception in interrupt", "kernel.panic"),
    (
        "[ 12.3] python3[812]: segfault at 0 ip 0000000000000000 sp 00007ffc1 error 14 likely on CPU 3 (core 3, socket 0)",
        "process.segfault",
    ),
    (
        "[ 12.3] traps: a.out[4711] trap invalid opcode ip:401136 sp:7ffd2 error:0 in a.out[401000+1000]",
        "process.trap",
    ),
    (
        "[ 12.3] cgroup: fork rejected by pids controller in /slurm/uid_1000/job_5/step_batch",
        "process.fork_refused",
    ),
    (
        "[ 12.3] clocksource: timekeeping watchdog on CPU12: Marking clocksource 'tsc' as unstable because the skew is too large:",
        "clock.unstable",
    ),
    ("[ 12.3] INFO: task virtiofsd:77 blocked in I/O wait for more than 122 seconds.", "task.hung"),
    (
        "<3>[ 12.3][  T140] INFO: task nvidia-smi:470 is blocked on a mutex likely owned by task nv_queue:471.",
        "task.hung",
    ),
    ("[ 12.3] INFO: task rcu_gp:3 blocked on a semaphore likely last held by task nv_queue:77.", "task.hung"),
    ("[ 12.3] Watchdog CPU:47 Hard LOCKUP", "kernel.hard_lockup"),
    ("[ 12.3] watchdog: CPU 471 self-detected hard LOCKUP @ hcall_norets+0x18/0x2c", "kernel.hard_lockup"),
    (
        "2026-11-29T13:05:23.471147+02:00 n1 kernel: [  471.147114] BUG: workqueue lockup - pool cpus=0-3 flags=0x4 nice=-20 stuck for 41s!",
        "kernel.workqueue_stall",
    ),
    ("[ 12.3] INFO: rcu_sched_state detected stall on CPU 0 (t=15004 jiffies)", "kernel.rcu_stall"),
    ("[ 12.3] INFO: rcu_tasks_trace detected stalls on tasks:", "kernel.rcu_stall"),
    (
        "[ 12.3] Unable to handle kernel execute from non-executable memory at virtual address ffff80007a3c0000",
        "kernel.oops",
    ),
    ("[ 12.3] Unhandled fault at 0xffff80001a2b3c40", "kernel.oops"),
    ("[ 12.3] Internal error: ttbr address size fault: 96000044 [#2] SMP", "kernel.oops"),
    ("[ 12.3] SError Interrupt on CPU3, code 0xbe000011 -- SError", "mce.uncorrected"),
    ("[ 12.3] kernel tried to execute NX-protected page - exploit attempt? (uid: 0)", "kernel.oops"),
    ("[ 12.3] Fixing recursive fault but reboot is needed!", "kernel.oops"),
    ("[ 12.3] Oops: 0011 [#3] SMP", "kernel.oops"),
    (
        "11月 29 13:05:23 n1 kernel: BUG: Bad page map in process tmux: server  pte:80000001a2b3c025 pmd:1d2e3f067",
        "kernel.bad_state",
    ),
    ("13:05:23 kernel: BUG: Bad page map in process qemu  pte:00000710 pmd:2a3b4c067", "kernel.bad_state"),
    (
        "[ 12.3] list_add corruption. next->prev should be prev (ffff), but was 0000. (next=ffff).",
        "kernel.bad_state",
    ),
    (
        "[ 12.3] BUG: sleeping function called from invalid context at kernel/locking/mutex.c:471",
        "kernel.bad_state",
    ),
    (
        "[ 12.3] solver-launche[4719]: segfault at 0 ip           (null) sp 00007ffd1a2b3c40 error 14 in solver-launcher[55d0a1b2c000+9000]",
        "process.segfault",
    ),
    (
        "[ 12.3] viewer[4719]: unhandled level 1 translation fault (11) at 0x00000000, esr 0x82000005",
        "process.trap",
    ),
    (
        "[ 12.3] python3[77]: unhandled exception: SP Alignment, ESR 0x000000009a000000, SP/PC alignment exception in python3.11[1c0000,aaaac0000000+4a0000]",
        "process.trap",
    ),
    (
        "Nov 29 13:05:23 n1 systemd-coredump[4720]: [🡕] Process 4711 (python) of user 1000 dumped core.",
        "process.core_dumped",
    ),
    (" kernel:[471147.114711] Uhhuh. NMI received for unknown reason 3c on CPU 17.", "nmi.unknown"),
    ("[ 12.3] VFS: file-max limit 471100 reached", "host.limit"),
    ("Nov 29 13:05:23 n1 kernel: [4711471.147114] nf_conntrack: table full, dropping packet", "host.limit"),
    ("[ 12.3] net: neighbour: ndisc_cache: neighbor table overflow!", "host.limit"),
    ("[ 12.3] ipmi_si IPI0001:00: Could not set the global enables: 0xcf.", "bmc.trouble"),
    ("[ 12.3] unregister_netdevice: waiting for eth0 to become free. Usage count = 3", "kernel.netdev_busy"),
    (
        "[ 12.3] clocksource: timekeeping watchdog: Marking clocksource 'tsc-early' as unstable because the skew is too large:",
        "clock.unstable",
    ),
    (
        "nov. 29 13:05:23 n1 systemd[1]: slurmd.service: Main process exited, code=exited, status=1/FAILURE",
        "service.failed",
    ),
    (
        "Nov 29 13:05:23 n1 systemd[1]: slurmd.service: main process exited, code=exited, status=1/FAILURE",
        "service.failed",
    ),
    // Disks and filesystems.
    ("[ 12.3] mpt3sas9: attempting device reset! scmd(ffff991100aa2200)", "disk.controller_symptom"),
    ("[ 12.3] megaraid_sas: ERROR - ctrl reset failed", "disk.controller_lost"),
    (
        "[ 12.3] systemd-journald[991]: Failed to create new system journal: No space left on device",
        "fs.full",
    ),
    ("[ 12.3] BTRFS: Transaction aborted (error -5)", "fs.error"),
    ("[ 12.3] nvme nvme3: I/O tag 17 (4011) type 4 opcode 0x1 (I/O Cmd) QID 6 timeout", "disk.path_down"),
    (
        "[ 12.3] nvme nvme3: queue 6: header digest error: recv 0x1a2b3c4d expected 0x4d3c2b1a",
        "disk.path_down",
    ),
    ("[ 12.3] sd 7:0:0:0: [sdq] Medium access timeout failure. Offlining disk!", "disk.lost"),
    (
        "Mar  3 04:05:06 n1 mdadm[991]: Fail event detected on md device /dev/md7, component device /dev/nvme3n1p2",
        "raid.disk_failed",
    ),
    ("Mar  3 04:05:06 n1 mdadm[991]: NewArray event detected on md device /dev/md7", ""),
    ("Mar  3 04:05:06 n1 mdadm[991]: RebuildFinished event detected on md device /dev/md7", ""),
    (
        "Mar  3 04:05:06 n1 smartd[991]: Device: /dev/sdq [SAT], 24 Currently unreadable (pending) sectors",
        "disk.capacity_warning",
    ),
    (
        "Mar  3 04:05:06 n1 smartd[991]: Device: /dev/sdq [SAT], SMART Usage Attribute: 194 Temperature_Celsius changed from 117 to 116",
        "",
    ),
    ("[ 12.3] Buffer I/O error on dev sdq", "disk.io_symptom"),
    ("[ 12.3] Buffer I/O error on dev loop9p1, logical block 81, async page read", "fs.image_error"),
    ("[ 12.3] EXT3-fs (dm-9): error: remounting filesystem read-only", "fs.read_only"),
    ("[ 12.3] Remounting filesystem read-only", "fs.read_only"),
    ("[ 12.3] journal commit I/O error on dm-9", "fs.journal_aborted"),
    ("[ 12.3] nvme nvme3: D3 entry latency set to 8 seconds", ""),
    ("[ 12.3] nvme nvme3: async event result 00010300", ""),
    (
        "[ 12.3] nvme nvme3: I/O tag 417 (a1a1) opcode 0x2 (I/O Cmd) QID 22 timeout, aborting req_op:READ(0) size:131072",
        "disk.timeout",
    ),
    ("[ 12.3] nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff", "disk.lost"),
    ("[ 12.3] nvme nvme2: Device not ready; aborting reset, CSTS=0x1", "disk.lost"),
    ("[ 12.3] nvme nvme2: Disabling device after reset failure: -19", "disk.lost"),
    (
        "[ 12.3] I/O error, dev nvme1n1, sector 2048 op 0x1:(WRITE) flags 0x8800 phys_seg 4 prio class 2",
        "disk.io_error",
    ),
    (
        "[ 12.3] critical medium error, dev sdc, sector 11223344 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 0",
        "disk.medium_error",
    ),
    ("[ 12.3] blk_update_request: critical medium error, dev sdaa, sector 99", "disk.medium_error"),
    (
        "[ 12.3] EXT4-fs error (device dm-3): ext4_lookup:1855: inode #131: comm slurmd: iget: checksum invalid",
        "fs.error",
    ),
    ("[ 12.3] EXT4-fs (sda2): Remounting filesystem read-only", "fs.read_only"),
    ("[ 12.3] Aborting journal on device dm-0-8.", "fs.journal_aborted"),
    (
        "[ 12.3] XFS (nvme0n1p1): Corruption of in-memory data (0x8) detected at xfs_trans_cancel+0x11 (fs/xfs/xfs_trans.c:1000).  Shutting down filesystem.",
        "fs.shutdown",
    ),
    (
        "[ 12.3] XFS (dm-2): Log I/O Error (0x2) detected at xlog_ioend_work+0x5f/0x80 [xfs] (fs/xfs/xfs_log.c:1378).  Shutting down filesystem.",
        "fs.shutdown",
    ),
    ("[ 12.3] BTRFS info (device sdb1 state EA): forced readonly", "fs.read_only"),
    (
        "[ 12.3] BTRFS error (device nvme0n1p2): bdev /dev/nvme0n1p2 errs: wr 0, rd 7, flush 0, corrupt 0, gen 0",
        "fs.error",
    ),
    ("[ 12.3] md/raid10:md127: Disk failure on nvme3n1, disabling device.", "raid.disk_failed"),
    ("[ 12.3] md/raid1:md0: Operation continuing on 1 devices.", "raid.degraded"),
    ("[ 12.3] md: md0: recovery done.", "raid.rebuilt"),
    ("[ 12.3] nvme nvme6: failed to set APST feature (16641)", "disk.admin_failed"),
    ("[ 12.3] nvme nvme6: Duplicate cntlid 7 with nvme2, rejecting", "disk.admin_failed"),
    ("[ 12.3] nvme nvme6: frozen state error detected, reset controller", "disk.io_symptom"),
    ("[ 12.3] nvme nvme6: NVME-FC{3}: reset: Reconnect attempt failed (-111)", "disk.path_down"),
    ("[ 12.3] nvme nvme6: queue 0: timeout request 0x3 type 4", "disk.path_down"),
    ("[ 12.3] nvme nvme6: NVME-FC{3}: controller connect complete", "disk.path_up"),
    ("[ 12.3] nvme nvme6: Removing ctrl: NQN \"nqn.2014-08.org.nvmexpress.discovery\"", ""),
    (
        "[ 12.3] nvme6n1: Write(0x1) @ LBA 512, 16 blocks, Capacity Exceeded (sct 0x0 / sc 0x81) DNR",
        "disk.io_error",
    ),
    (
        "[ 12.3] operation not supported error, dev nvme6n1, sector 4711 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 2",
        "disk.refused",
    ),
    (
        "[ 12.3] timeout error, dev sdq, sector 4711 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
        "disk.io_error",
    ),
    (
        "[ 12.3] critical space allocation error, dev dm-9, sector 4711 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2",
        "disk.full",
    ),
    (
        "[ 12.3] critical space allocation error, dev loop9, sector 4711 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2",
        "fs.image_error",
    ),
    ("[ 12.3] python3: attempt to access beyond end of device", "fs.beyond_end"),
    ("[ 12.3] nvme6n1: detected capacity change from 6251233968 to 0", "disk.io_symptom"),
    ("[ 12.3] loop9: detected capacity change from 0 to 4096", ""),
    ("[ 12.3] sd 7:0:0:0: [sdq]  Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK", "disk.io_error"),
    ("[ 12.3] sd 7:0:0:0: [sdq] tag#3 Sense Key : Illegal Request [current] ", ""),
    ("[ 12.3] ata6.00: failed to set xfermode (err_mask=0x40)", "disk.link"),
    ("[ 12.3] ata6.00: failed to enable AA (error_mask=0x1)", ""),
    ("[ 12.3] ata6.00: disable device", "disk.given_up"),
    ("[ 12.3] mpt2sas0: fault_state(0x0d03)!", "disk.controller_fault"),
    ("[ 12.3] mpt3sas_cm1: log_info(0x30030109): originator(IOP), code(0x03), sub_code(0x0109)", ""),
    ("[ 12.3] mpt3sas_cm1: message unit reset: SUCCESS", ""),
    (
        "[ 12.3] megaraid_sas 0000:3b:00.0: 991 (boot + 12s/0x0020/FATAL) - Controller cache pinned for missing or offline VD 02/2",
        "disk.controller_event",
    ),
    ("[ 12.3] megaraid_sas 0000:3b:00.0: FW provided TM TaskAbort/Reset timeout\t: 6 secs/60 secs", ""),
    (
        "[ 12.3] smartpqi 0000:3b:00.0: no heartbeat detected - last heartbeat count: 4711",
        "disk.controller_lost",
    ),
    ("[ 12.3] smartpqi 0000:3b:00.0: RAID IU Timeout enabled", ""),
    ("[ 12.3] aacraid: Host adapter appears dead -3", "disk.controller_lost"),
    (
        "[ 12.3]  connection12:0: ping timeout of 5 secs expired, recv timeout 5, last rx 4300000000, last ping 4300005120, now 4300010240",
        "disk.path_down",
    ),
    (
        "[ 12.3] lpfc 0000:3b:00.1: 1:1303 Link Up Event x3 received Data: x3 x0 x100 x0 x0 x0 0",
        "disk.path_up",
    ),
    ("[ 12.3] EXT3-fs error (device sdq1): ext3_journal_start_sb: Detected aborted journal", "fs.error"),
    ("[ 12.3] EXT4-fs (sdq1): last error at time 1700000000: ext4_lookup:1855", "fs.earlier_error"),
    ("[ 12.3] EXT4-fs (sdq1): warning: maximal mount count reached, running e2fsck is recommended", ""),
    (
        "[ 12.3] EXT4-fs error (device loop9): ext4_iget:5084: inode #12: comm slurmstepd: iget: bad extra_isize 512 (inode size 256)",
        "fs.image_error",
    ),
    (
        "[ 12.3] XFS (md4): Metadata I/O Error (0x4) detected at xfs_buf_ioend_handle_error+0x1a/0x40 [xfs] (fs/xfs/xfs_buf.c:1234).  Shutting down filesystem.",
        "fs.shutdown",
    ),
    ("[ 12.3] XFS (md4): Invalid superblock magic number", ""),
    ("[ 12.3] BTRFS warning (device sdq1): qgroup rescan init failed, qgroup is not enabled", ""),
    (
        "[ 12.3] FAT-fs (sdq1): Volume was not properly unmounted. Some data may be corrupt. Please run fsck.",
        "",
    ),
    (
        "[ 12.3] WARNING: Pool 'tank7' has encountered an uncorrectable I/O failure and has been suspended.",
        "fs.shutdown",
    ),
    ("[ 12.3] md/raid:md4: raid level 6 active with 11 out of 11 devices, algorithm 2", "raid.degraded"),
    ("[ 12.3] md/raid1:md4: sdq1: rescheduling sector 4711", "disk.io_symptom"),
    (
        "[ 12.3] device-mapper: thin: 253:11: reached low water mark for data device: sending event.",
        "dm.low_space",
    ),
    ("[ 12.3] device-mapper: table: 253:5: multipath: error getting device (-EBUSY)", ""),
    ("[ 12.3] device-mapper: multipath: 253:7: Reinstating path 65:48.", "disk.path_up"),
    ("[ 12.3] scsi0 (0:0): rejecting I/O to offline device", "disk.lost"),
    ("[ 12.3] device-mapper: crypt: dm-6: INTEGRITY AEAD ERROR, sector 9400", "dm.failed"),
    (
        "[ 12.3] XFS: postgres(8112) possible memory allocation deadlock in kmem_alloc (mode:0x250)",
        "memory.allocation_failed",
    ),
    ("[ 12.3] XFS: attr2 mount option is deprecated.", ""),
    // Network filesystems.
    (
        "04:05:06  Lustre: ptlrpc_expire_one_request() @@@ Request sent has timed out for slow reply:",
        "lustre.request_timeout",
    ),
    (
        "[ 12.3] LNetError: 991:0:(api-ni.c:2533:lnet_startup_lndnet()) Can't load LND o2ib, module ko2iblnd, rc=256",
        "netfs.refused",
    ),
    (
        "[ 12.3] LustreError: 991:0:(file.c:4711:ll_inode_revalidate_fini()) scratch: revalidate FID [0x2000:0x1:0x0] error: rc = -108",
        "netfs.symptom",
    ),
    ("[ 12.3] LustreError: 158-c: Can't load module 'osd-zfs'", "netfs.refused"),
    (
        "04:05:06  LustreError 167-0: scratch-OST0007-osc-ffff8a0c: This client was evicted by scratch-OST0007; in progress operations using this service will fail.",
        "lustre.evicted",
    ),
    ("Mar  3 04:05:06 n1 kernel: nfs: server nas07 is not responding", "nfs.not_responding"),
    ("Mar  3 04:05:06 n1 kernel:  <5>nfs: server nas07 still not responding", "nfs.not_responding"),
    ("[ 12.3] libceph: osd7 (1)10.1.2.3:6801 bad crc/signature", "netfs.not_responding"),
    ("[ 12.3] beegfs: mount(991): Couldn't find any usable NIC", "netfs.refused"),
    (
        "[ 12.3] Lustre: work-OST0012-osc-ffff9ad0c1b2a800: Connection to work-OST0012 (at 10.1.2.3@tcp) was lost; in progress operations using this service will wait for recovery to complete",
        "lustre.connection_lost",
    ),
    (
        "[ 12.3] LustreError: 167-0: work-MDT0000-mdc-ffff9ad0c1b2a800: This client was evicted by work-MDT0000; in progress operations using this service will fail.",
        "lustre.evicted",
    ),
    (
        "[ 12.3] Lustre: work-OST0012-osc-ffff9ad0c1b2a800: Connection restored to  (at 10.1.2.3@tcp)",
        "lustre.connection_restored",
    ),
    ("[ 12.3] nfs: server home.cluster not responding, timed out", "nfs.not_responding"),
    ("[ 12.3] nfs: server 10.0.0.9 OK", "nfs.ok"),
    ("[ 12.3] ceph: mds0 hung", "netfs.not_responding"),
    (
        "[ 12.3] LustreError: 8112:0:(lov_io.c:1189:lov_io_init()) ASSERTION( lio->lis_nr_subios != 0 ) failed: ",
        "lustre.bug",
    ),
    ("[ 12.3] LNetError: 8112:0:(peer.c:3212:lnet_peer_discovery()) LBUG", "lustre.bug"),
    (
        "[ 12.3] Lustre: work-OST0012: Recovery over after 1:02, of 90 clients 90 recovered and 0 were evicted.",
        "",
    ),
    (
        "[ 12.3] Lustre: 8112:0:(client.c:2310:ptlrpc_expire_one_request()) Skipped 9 previous similar messages",
        "",
    ),
    ("[ 12.3] LNet: Added LNI 10.1.2.3@o2ib [32/512/0/100]", ""),
    ("[ 12.3] statd: server rpc.statd not responding, timed out", "nfs.not_responding"),
    ("[ 12.3] NFS: __nfs4_reclaim_open_state: Lock reclaim failed!", "nfs.error"),
    ("[ 12.3] rpcrdma: connection to 10.0.0.9:20049 on mlx5_2, memreg 'FRWR', 64 credits, 16 responders", ""),
    ("[ 12.3] ceph: [0e0e0e0e-1a1a-2b2b-3c3c-4d4d4d4d4d4d 77]: mds1 hung", "netfs.not_responding"),
    ("[ 12.3] ceph: [0e0e0e0e-1a1a-2b2b-3c3c-4d4d4d4d4d4d 77]: mds1 caps renewed", "netfs.restored"),
    ("[ 12.3] libceph (0e0e0e0e-1a1a-2b2b-3c3c-4d4d4d4d4d4d e77): osd9 up", "netfs.restored"),
    ("[ 12.3] CIFS: Attempting to mount \\\\nas01\\share", ""),
    ("[ 12.3] CIFS: VFS: cifs_mount failed w/return code = -13", "netfs.refused"),
    ("[ 12.3] CIFS: VFS: cifs_mount failed w/return code = -112", "netfs.not_responding"),
    ("[ 12.3] RPC: Couldn't create auth handle (flavor 390003)", "nfs.transport"),
    ("[ 12.3] RPC: Registered tcp transport module.", ""),
    // Adapters.
    ("[ 12.3] mlx5_core 0000:d8:00.1 ens6f1np1: Link down", "nic.link_down"),
    (
        "[ 12.3] mlx5_core 0000:d8:00.0: mlx5_crdump_collect:50:(pid 2415): crdump: failed to lock gw status -13",
        "",
    ),
    ("[ 12.3] mlx5_core 0000:d8:00.0: poll_health:825:(pid 0): Fatal error 1 detected", "nic.firmware"),
    (
        "[ 12.3] mlx5_core 0000:d8:00.0: wait_func:1195:(pid 967): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource",
        "nic.command_timeout",
    ),
    (
        "[ 12.3] mlx5_core 0000:d8:00.0: Port module event[error]: module 0, Cable error, Bad or unsupported cable/module",
        "nic.cable",
    ),
    ("[ 12.3] bnxt_en 0000:31:00.0 enp49s0f0np0: NIC Link is Down", "nic.link_down"),
    ("[ 12.3] ice 0000:4b:00.0 eth2: NIC Link is Down", "nic.link_down"),
    ("[ 12.3] ice 0000:4b:00.1: Firmware recovery mode detected. Limiting functionality.", "nic.firmware"),
    ("[ 12.3] i40e 0000:86:00.0 ens3f0: NIC Link is Down", "nic.link_down"),
    ("[ 12.3] NETDEV WATCHDOG: ens6f0np0 (mlx5_core): transmit queue 14 timed out 5120 ms", "nic.tx_timeout"),
    ("[ 12.3] mlx5_core 0000:3b:00.0 mlx5_7: Port: 1 Link DOWN", "nic.link_down"),
    ("[ 12.3] bond1: (slave ens6f1np1): link status definitely down, disabling slave", "nic.link_down"),
    ("[ 99.1] mlx5_core 0000:3b:00.0: print_health_info:520:(pid 0): synd 0x10: High temperature", "nic.hot"),
    (
        "[ 99.1] mlx5_core 0000:3b:00.0: mlx5_pcie_event:305:(pid 500): PCIe slot advertised sufficient power (75W).",
        "",
    ),
    (
        "[ 99.1] mlx5_core 0000:3b:00.0: wait_func_handle_exec_timeout:1113:(pid 31): cmd[0]: CREATE_CQ(0x400) recovered after timeout",
        "nic.command_late",
    ),
    ("[ 99.1] mlx4_en: ib2: Link Down", "nic.link_down"),
    ("[ 99.1] bnxt_en 0000:31:00.0 ens4f0: Firmware reset request successful.", ""),
    (
        "[ 99.1] bnxt_en 0000:31:00.0: QPLIB: bnxt_re_is_fw_stalled: FW STALL Detected. cmdq[0x31]=0x5 waited (103641 > 100000) msec active 1",
        "nic.firmware",
    ),
    ("[ 99.1] cxi_core 0000:c3:00.0: cxi1[hsn1] CXI_EVENT_LINK_DOWN", "nic.link_down"),
    (
        "[ 99.1] cxi_ss1 0000:c3:00.0: cxi1[hsn1]: C_EC_UNCOR_NS: C_IXE error: port_dfa_mismatch (37)",
        "nic.firmware",
    ),
    (
        "[ 99.1] cxi_ss1 0000:c3:00.0: cxi1[hsn1]: C_EC_INFO: C_PI_EXT error: pri_rarb_xlat_rbyp_abort_error (35)",
        "",
    ),
    ("[ 99.1] hfi1 0000:05:00.0: hfi1_0: Eager buffer size 8388608", ""),
    ("[ 99.1] i40e 0000:18:00.0: DCB init failed -5, disabled", ""),
    ("[ 99.1] i40e 0000:18:00.0: Query for DCB configuration failed, err -EIO aq_err I40E_AQ_RC_EINVAL", ""),
    ("[ 99.1] bond0: now running without any active interface!", "nic.link_down"),
    ("[ 99.1] scsi host4: ib_srp: reconnect succeeded", "nic.recovered"),
    ("[ 99.1] bond-san: first active interface up!", "nic.link_up"),
    ("[ 99.1] bnx2 0000:03:00.1 eth1: NIC SerDes Link is Down", "nic.link_down"),
    ("[ 99.1] eth0: hw csum failure", "nic.driver_error"),
    ("[ 99.1] NETDEV WATCHDOG: eth0: transmit timed out", "nic.tx_timeout"),
    (
        "[ 99.1] mlx4_en: ens4: mlx4_get_module_info i(0) offset(256) bytes_to_read(128) - FAILED (0xfffff8e4)",
        "",
    ),
    (
        "[ 99.1] nvidia-nvswitch4: SXid (PCI:0000:d1:00.0): 26006, SOE HALT data[12] = 0x      0000d00d42",
        "sxid.26006",
    ),
    (
        "[ 99.1] NVRM: GPU2 _intrServiceStallCommonCheckBegin: Failed GPU reg read : 0xffffffff. Check whether GPU is present on the bus",
        "nvidia.lost",
    ),
    ("[ 99.1] pcieport 0000:d0:05.1: [21] ACSViol", "pcie.aer_nonfatal"),
    (
        "[ 99.1] pcieport 0000:d0:05.1: broken device, retraining non-functional downstream link at 2.5GT/s",
        "pcie.recovery_step",
    ),
    ("[ 99.1] xhci_hcd 0000:d1:00.2: Controller not ready at resume -19", "pcie.dead_function"),
    ("[ 99.1] ena 0000:00:06.0 ens6: Transmit timeout", "nic.tx_timeout"),
    // Adapters of clouds, words of drivers without a family, devices that come and go.
    (
        "[ 99.1] infiniband rdmap47s11: The device sent a completion but the driver didn't receive any MSI-X interrupt for admin cmd CREATE_AH(5) status 0",
        "nic.firmware",
    ),
    ("[ 99.1] infiniband rdmap47s11: Failed to submit command REG_MR (opcode 7) err -12", "nic.driver_error"),
    ("[ 99.1] efa 0000:47:1b.0 rdmap71s27: Failed to process command DESTROY_QP (opcode 4) err -22", ""),
    ("[ 99.1] efa 0000:47:1b.0 efa_0: IB device registered", ""),
    ("[ 99.1] ena 0000:00:06.0 ens6: Reset indication didn't turn off", "nic.tx_timeout"),
    ("[ 99.1] ena 0000:00:06.0 ens6: resume: 4", ""),
    ("[mar. févr. 28 12:57:41 2026] gve 0000:00:05.0 ens5: Device link is down.", "nic.link_down"),
    ("[ 99.1] gve 0000:00:05.0 ens5: Timeout on tx queue, 4", "nic.tx_timeout"),
    ("[ 99.1] gve 0000:00:05.0: Driver is running with DQO RDA queue format.", ""),
    ("[ 99.1] mlx5_core 0000:d8:00.0 ens6f0 (unregistering): TX timeout detected", "nic.tx_timeout"),
    (
        "[ 99.1] mlx5_core 0000:d8:00.0 ens6f0: RX timeout on channel: 14, ICOSQ: 0x1a2, RQ: 0x19f, CQ: 0x4711",
        "nic.tx_timeout",
    ),
    ("[ 99.1] mlx5_warn:mlx5_4:destroy_mkey:3312:(pid 4711): destroy mkey failed (-110)", "nic.driver_error"),
    (
        "[ 99.1] mlx5_core 0000:d8:00.0: 0000:d8:00.0:poll_health:285:(pid 0): device's health compromised - reached miss count",
        "nic.firmware",
    ),
    (
        "[ 99.1] infiniband rocep216s0f1: mlx5_poll_one:530:(pid 0): Requestor error cqe on cqn 0x4a1:",
        "nic.driver_error",
    ),
    ("[ 99.1] siw: device registration error -17", "nic.driver_error"),
    (
        "[ 99.1] infiniband mlx5_4: setup_qp:301:(pid 4711): could not change QP812 state to RTR: -110",
        "nic.driver_error",
    ),
    (
        "[ 99.1] mlx5_core 0000:d8:00.0: mlx5_fw_reset_complete_reload:181:(pid 4711): reset reload flow aborted, PCI reads still not working",
        "nic.recovery_failed",
    ),
    ("[ 99.1] mlx5_core 0000:d8:00.0: Missing registers BAR, aborting", "nic.init_failed"),
    (
        "[ 99.1] mlx5_core 0000:d8:00.0: mlx5_sync_reset_now_event:598:(pid 77): Sync Reset now. Device is going to reset.",
        "",
    ),
    ("[ 99.1] ice 0000:4b:00.0: GNSS init failure", "nic.driver_error"),
    ("[ 99.1] ice 0000:4b:00.0: PTP failed to set time -5", ""),
    ("[ 99.1] ixgbe 0000:4b:00.1 eth3: Could not add VLAN filter, error 12", ""),
    ("[ 99.1] pcieport 0000:64:02.0: [14] CmpltTO", "pcie.aer_nonfatal"),
    ("[ 99.1] pcieport 0000:64:02.0: AER: Multiple Uncorrectable (Fatal) error", "pcie.aer_fatal"),
    ("[ 99.1] pcieport 0000:64:02.0: AER: Uncorrected error received: 0000:65:00.0", "pcie.aer_nonfatal"),
    (
        "[ 99.1] nvidia 0000:5d:00.0: can't enable device: BAR 3 [mem size 0x02000000 64bit pref] not claimed",
        "pcie.no_window",
    ),
    ("[ 99.1] pcieport 0000:64:02.0: AER: Error of this agent is reported first", "pcie.aer_detail"),
    (
        "[ 99.1] pcieport 0000:64:02.0: DPC: Data Link Layer Link Active not cleared in 1000 msec",
        "pcie.recovery_step",
    ),
    ("[ 99.1] pcieport 0000:64:02.0: pciehp: Slot(4-1): No device found", "pcie.recovery_step"),
    ("[Ter Set 29 06:01:41 2026] pciehp 0000:5c:01.0:pcie24: slot(8): Link Down event", "pcie.link_down"),
    ("[ 99.1] xhci_hcd 0000:5d:00.2: PCI post-resume error -19!", "pcie.dead_function"),
    ("[...] NVRM: Xid (0000:e4:00): 31, Ch 00000004, engmask 00000101, intr 10000000", "xid.31"),
    // NVIDIA.
    (
        "Mar  3 04:05:06 n1 nvidia-vgpu-mgr[991]: error: vmiop_log: (0x0): vGPU is being terminated, stop reason: 0x33",
        "service.daemon_error",
    ),
    ("Mar  3 04:05:06 n1 nvidia-vgpu-mgr[991]: notice: vmiop_log: nvidia-vgpu-mgr daemon started", ""),
    ("[ 12.3] NVRM: GPU 0000:e4:00.0: GPU has fallen off the bus.", "nvidia.gpu_off_bus"),
    ("[ 12.3] NVRM: GPU 0000:e4:00.0: RmInitAdapter failed! (0x62:0xffff:2477)", "nvidia.init_failed"),
    ("[ 12.3] NVRM: rm_init_adapter failed, device minor number 5", "nvidia.init_symptom"),
    ("6,901,990000;NVRM: GPU5 RmInitNvDevice: *** Cannot initialize the device", "nvidia.init_symptom"),
    ("[ 12.3] NVRM: API mismatch: the client has the version 535.183.06, but", "nvidia.version_mismatch"),
    (
        "[ 12.3] NVRM: Xid (PCI:00000001:00:00.0): 94, pid=12, name=python, Contained: SM (0x1). RST: No, D-RST: No",
        "xid.94",
    ),
    ("[ 12.3] NVRM: Xid (PCI:0000:e4:00): 999, pid=12, name=python, something new", "xid.999"),
    (
        "[ 12.3] nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
        "sxid.12028",
    ),
    (
        "[ 12.3] NVRM: Xid (PCI:0000:e4:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (PF FLR)",
        "xid.154",
    ),
    (
        "[ 12.3] NVRM: GPU 0000:e4:00.0: installed in this system is not supported by the",
        "nvidia.unsupported",
    ),
    ("[ 12.3] NVRM: the version 535.183.06.  Please make sure that this", "nvidia.version_mismatch"),
    (
        "[ 12.3] NVRM: GPU5 krcRcAndNotifyAllChannels_IMPL: RC all user channels for critical error 95.",
        "nvidia.channels_stopped",
    ),
    ("[ 12.3] NVRM: failed to initialize capabilities.", "nvidia.probe_failed"),
    ("[ 12.3] NVRM: GPU5 someNewFunction_GB100: cannot reach the unit, status 0x65", "nvidia.assert"),
    ("[ 12.3] NVRM: GPU 0000:e4:00.0: uncorrected memory error, page 0x1f00", "nvidia.ecc"),
    ("[ 12.3] NVRM: someTimer_GH100: GPU lost from the bus, giving up", "nvidia.lost"),
    ("[ 12.3] nv_peer_mem: Unknown symbol nvidia_p2p_free_page_table (err -22)", "nvidia.module_refused"),
    ("[ 12.3] Loading of unsigned module is rejected", "kernel.module_refused"),
    ("[ 12.3] nvidia-nvswitch5:Failed during device post init : -5", "nvswitch.fatal"),
    ("[ 12.3] nvidia-uvm: Unable to set up the fault buffer, status 0x1a", "nvidia.uvm_error"),
    (
        "Mar  3 04:05:06 g07 nv-fabricmanager[812]: fabric manager NVIDIA GPU driver interface version 535.183.06 doesn't match with driver version 535.183.01",
        "fabric.manager_error",
    ),
    (
        "Mar  3 04:05:06 g07 nvidia-persistenced[812]: Failed to open libnvidia-cfg.so.1",
        "service.daemon_error",
    ),
    ("Mar  3 04:05:06 g07 systemd: Unit nvidia-imex.service entered failed state.", "service.failed_symptom"),
    ("[ 12.3] nvidia-nvswitch5: ioctl attempted on blacklisted device", ""),
    ("[ 12.3] NVRM: RmInitAdapter: Failed to load gsp_log_tu10x.bin, no logs of it (non-fatal)", ""),
    ("[ 12.3] NVRM: GPU5 _kgspLogRpcTimeout: Note: the reset comes later", ""),
    ("[ 12.3] NVRM: GPU5 RPC event history (CPU <- GSP):", ""),
    ("[ 12.3] nvidia-gpu 0000:e4:00.3: i2c timeout error e0000000", ""),
    // More wordings.
    ("[ 12.3] watchdog: CPU7: Watchdog detected hard LOCKUP on cpu 7", "kernel.hard_lockup"),
    (
        "[ 12.3] mlx5_core 0000:d8:00.0: wait_func:1151:(pid 812): 2RST_QP(0x50a) timeout. Will cause a leak of a command resource",
        "nic.command_timeout",
    ),
    ("[ 12.3] ib2: transmit timeout: latency 4100 msecs", "nic.tx_timeout"),
    (
        "[ 12.3] mce: CPUs not responding to MCE broadcast (may include false positives): 8,9",
        "mce.uncorrected",
    ),
    ("[ 12.3] nvidia 0000:5d:00.0: AER:   Error of this Agent is reported first", "pcie.aer_detail"),
    ("[ 12.3] ceph: mds2 caps stale", "netfs.not_responding"),
    (
        "[ 12.3] nvidia-nvswitch: Version mismatch, kernel version 550.54.15 user version 550.90.07",
        "nvidia.version_mismatch",
    ),
    (
        "Mar  3 04:05:06 g07 mmfs: [E] Lost membership in cluster store.example. Unmounting file systems.",
        "gpfs.error",
    ),
    (
        "Mar  3 04:05:06 g07 systemd[1]: nvidia-fabricmanager.service: Main process exited, code=exited, status=1/FAILURE",
        "service.failed",
    ),
    // Ordinary.
    ("[ 12.3] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604467 ns", ""),
    ("Mar  3 04:05:06 n1 kernel: EDAC MC: Ver: 3.0.0", ""),
    ("[ 12.3] show_signal: 17 callbacks suppressed", ""),
    (
        "[ 12.3] unchecked MSR access error: RDMSR from 0x852 at rIP: 0xffffffffa1b2c3d4 (native_read_msr+0x7/0x40)",
        "",
    ),
    ("[ 12.3] EXT4-fs (nvme0n1p2): re-mounted 1b2 r/w. Quota mode: none.", ""),
    ("[ 12.3] e1000e 0000:00:1f.6 eno1: NIC Link is Up 1000 Mbps Full Duplex, Flow Control: Rx/Tx", ""),
    ("[ 12.3] pcieport 0000:00:1c.0: AER: enabled with IRQ 122", ""),
    ("[ 12.3] sched: RT throttling activated", ""),
    ("[ 12.3] watchdog: watchdog0: watchdog did not stop!", ""),
    (
        "[ 12.3] ipmi_si IPI0001:00: IPMI message handler: Found new BMC (man_id: 0x004711, prod_id: 0x0a01, dev_id: 0x20)",
        "",
    ),
    (
        "[ 12.3] ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PCI0.RP07.PXSX], AE_NOT_FOUND (20210730/psargs-330)",
        "",
    ),
    ("[ 12.3] TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.", ""),
    ("Nov 29 13:05:23 n1 systemd[1]: database.service: Main process exited, code=killed, status=9/KILL", ""),
    ("[ 12.3] md: resync of RAID array md0", ""),
    ("[ 12.3] systemd[1]: Started Machine Check Exception Logging Daemon.", ""),
    (
        "[ 12.3] audit: type=1300 audit(1.0:2): comm=\"nvidia-smi\" exe=\"/usr/bin/NVRM: Xid (PCI:0000:01:00): 79\"",
        "",
    ),
];

#[test]
fn lines_nobody_wrote_a_family_for_are_taken_by_the_right_one() {
    let catalog = embedded();
    let mut wrong = Vec::new();
    for (line, code) in LINES {
        let peeled = prefix::peel(line.as_bytes());
        let meaning = catalog.read(Origin::Kernel, peeled.text);
        let found = meaning.as_ref().map_or("", |m| m.code.as_str());
        let right = match *code {
            "" => meaning.as_ref().is_none_or(|m| matches!(m.action, Advice::None | Advice::Watch)),
            code => found == code,
        };
        if !right {
            wrong.push(format!("{line}\n    wanted {code:?}, got {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), LINES.len(), wrong.join("\n"));
}
