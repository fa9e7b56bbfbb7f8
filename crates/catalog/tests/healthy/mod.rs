//! What healthy nodes log: boot, containers, services, USB consoles, audit, network cards coming up, programs that fail, and
//! the rare errors that hardware corrects.
#![allow(dead_code, reason = "each test file uses a part of it")]
use std::fmt::Write as _;

/// Numbers that look random and are the same in every run.
#[derive(Debug, Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// What a node logs while it starts.
pub(crate) const BOOT: &[&str] = &[
    "Linux version 6.8.0-60-generic (build@host) (gcc 13.3.0, GNU ld 2.42) #63-Ubuntu SMP PREEMPT_DYNAMIC",
    "Command line: BOOT_IMAGE=/vmlinuz root=UUID=x ro iommu=pt pci=realloc=off console=ttyS0,115200n8 nmi_watchdog=1",
    "KERNEL supported cpus:",
    "x86/fpu: Supporting XSAVE feature 0x001: 'x87 floating point registers'",
    "BIOS-e820: [mem 0x0000000000000000-0x000000000009ffff] usable",
    "tsc: Detected 2100.000 MHz processor",
    "ACPI: RSDP 0x000000007B7FE014 000024 (v02 ALASKA)",
    "Memory: 2113527840K/2147123456K available (20480K kernel code, 4377K rwdata, 13000K rodata, 4900K init, 4600K bss)",
    "rcu: Hierarchical RCU implementation.",
    "rcu: \tRCU restricting CPUs from NR_CPUS=8192 to nr_cpu_ids=224.",
    "rcu: RCU calculated value of scheduler-enlistment delay is 100 jiffies.",
    "rcu: Hierarchical SRCU implementation.",
    "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
    "smp: Bringing up secondary CPUs ...",
    "smpboot: Total of 224 processors activated (940800.00 BogoMIPS)",
    "clocksource: jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 1911260446275000 ns",
    "clocksource: Switched to clocksource tsc",
    "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 1584036171 wd_nsec: 1584036160",
    "mce: CPU supports 29 MCE banks",
    "mce: CMCI storm subsided: switching to interrupt mode",
    "EDAC MC: Ver: 3.0.0",
    "EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#0: DEV 0000:fe:0c.0 (INTERRUPT)",
    "EDAC i10nm: v0.0.6",
    "EDAC amd64: Node 0: DRAM ECC enabled.",
    "RAS: Correctable Errors collector initialized.",
    "HEST: Table parsing has been initialized.",
    "GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC.",
    "ERST: Error Record Serialization Table (ERST) support is initialized.",
    "pstore: Using crash dump compression: deflate",
    "pstore: Registered erst as persistent store backend",
    "BERT: Boot Error Record Table support is disabled. Enable it by using bert_enable as kernel parameter.",
    "DMAR: DRHD base: 0x000000d37fc000 flags: 0x0",
    "DMAR: Intel(R) Virtualization Technology for Directed I/O",
    "AMD-Vi: Interrupt remapping enabled",
    "pci 0000:41:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint",
    "pci 0000:41:00.0: 504.112 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x16 link at 0000:40:01.1 (capable of 1008.224 Gb/s with 64.0 GT/s PCIe x16 link)",
    "pci 0000:41:00.0: PME# supported from D0 D3hot",
    "pcieport 0000:40:01.1: PME: Signaling with IRQ 142",
    "pcieport 0000:40:01.1: AER: enabled with IRQ 142",
    "pcieport 0000:40:01.1: DPC: enabled with IRQ 142",
    "pcieport 0000:40:01.1: DPC: error containment capabilities: Int Msg #0, RPExt+ PoisonedTLP+ SwTrigger+ RP PIO Log 4, DL_ActiveErr+",
    "pcieport 0000:40:01.1: pciehp: Slot #17 AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug+ Surprise+ Interlock- NoCompl+ IbPresDis- LLActRep+",
    "pcieport 0000:40:03.1: pciehp: Slot(18): No adapter",
    "acpi PNP0A08:00: _OSC: OS now controls [PME AER PCIeCapability LTR DPC]",
    "vgaarb: loaded",
    "thermal_sys: Registered thermal governor 'step_wise'",
    "ata1: SATA link down (SStatus 0 SControl 300)",
    "ata3: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
    "sd 2:0:0:0: [sda] Write Protect is off",
    "sd 2:0:0:0: [sda] Attached SCSI disk",
    "nvme nvme0: pci function 0000:45:00.0",
    "nvme nvme0: Shutdown timeout set to 10 seconds",
    "nvme nvme0: 64/0/0 default/read/poll queues",
    "nvme nvme0: missing or invalid SUBNQN field.",
    " nvme0n1: p1 p2 p3",
    "md/raid1:md0: active with 2 out of 2 mirrors",
    "md0: detected capacity change from 0 to 976508928",
    "EXT4-fs (dm-0): mounted filesystem 00000000-0000-0000-0000-000000000000 ro with ordered data mode. Quota mode: none.",
    "EXT4-fs (dm-0): re-mounted 00000000-0000-0000-0000-000000000000 r/w. Quota mode: none.",
    "XFS (nvme0n1p3): Mounting V5 Filesystem 00000000-0000-0000-0000-000000000000",
    "XFS (nvme0n1p3): Starting recovery (logdev: internal)",
    "XFS (nvme0n1p3): Ending recovery (logdev: internal)",
    "XFS (nvme0n1p3): Ending clean mount",
    "BTRFS info (device sdb1): using crc32c (crc32c-intel) checksum algorithm",
    "systemd[1]: Inserted module 'autofs4'",
    "systemd[1]: Starting Load Kernel Modules...",
    "systemd[1]: Finished Load Kernel Modules.",
    "systemd[1]: Started Journal Service.",
    "systemd[1]: systemd-journald.service: Deactivated successfully.",
    "systemd[1]: Started NVIDIA Persistence Daemon.",
    "IPMI message handler: version 39.2",
    "nvidia: loading out-of-tree module taints kernel.",
    "nvidia: module license 'NVIDIA' taints kernel.",
    "Disabling lock debugging due to kernel taint",
    "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
    "nvidia-nvlink: Nvlink Core is being initialized, major device number 510",
    "nvidia-nvswitch: Probing device 0000:05:00.0, Vendor Id = 0x10de, Device Id = 0x22a3, Class = 0x68000",
    "nvidia-nvswitch0: using MSI",
    "nvidia-nvswitch0: open (major=510)",
    "nvidia 0000:41:00.0: enabling device (0140 -> 0142)",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build",
    "NVRM: Persistence mode is deprecated and will be removed in a future release. Please use nvidia-persistenced instead.",
    "NVRM: GPU at PCI:0000:41:00: GPU-00000000-1111-2222-3333-444444444444",
    "NVRM: iovaspaceDestruct_IMPL: 1 left-over mappings in IOVAS 0x300",
    "nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver for x86_64  570.86.15",
    "[drm] [nvidia-drm] [GPU ID 0x00004100] Loading driver",
    "[drm] Initialized nvidia-drm 0.0.0 20160202 for 0000:41:00.0 on minor 1",
    "nvidia-uvm: Loaded the UVM driver, major device number 508.",
    "nvidia-peermem: loading out-of-tree module taints kernel.",
    "mlx5_core 0000:5e:00.0: firmware version: 28.39.1002",
    "mlx5_core 0000:5e:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
    "mlx5_core 0000:5e:00.0: Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps",
    "mlx5_core 0000:5e:00.0: E-Switch: Total vports 2, per vport: max uc(128) max mc(2048)",
    "mlx5_core 0000:5e:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:5e:00.1: Port module event: module 1, Cable unplugged",
    "mlx5_core 0000:5e:00.0: mlx5_pcie_event:299:(pid 1000): Detected insufficient power on the PCIe slot (27W).",
    "mlx5_core 0000:5e:00.0 ens2f0np0: Link down",
    "mlx5_core 0000:5e:00.0 ens2f0np0: Link up",
    "mlx5_core 0000:5e:00.0 mlx5_2: Port: 1 Link DOWN",
    "mlx5_core 0000:5e:00.0 mlx5_2: Port: 1 Link ACTIVE",
    "IPv6: ADDRCONF(NETDEV_CHANGE): ib0: link becomes ready",
    "igb 0000:02:00.0 eno1: igb: eno1 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: RX/TX",
    "bond0: (slave ens2f0np0): link status definitely up, 100000 Mbps full duplex",
    "LNet: Added LNI 10.0.0.11@o2ib [8/256/0/180]",
    "Lustre: Lustre: Build Version: 2.15.4",
    "Lustre: Mounted scratch-client",
    "FS-Cache: Loaded",
    "NFS: Registering the id_resolver key type",
    "RPC: Registered rdma transport module.",
    "systemd-journald[611]: Received client request to flush runtime journal.",
    "systemd[1]: Started nvidia-fabricmanager.service - NVIDIA fabric manager service.",
];

/// One line of an ordinary day. What hardware corrects is rare.
pub(crate) fn ordinary(dice: &mut Dice, out: &mut String) {
    let (a, b) = (dice.roll(99_999) + 1, dice.roll(255));
    if dice.roll(RARE) == 0 {
        return rare(dice, out);
    }
    let _ = match dice.roll(30) {
        0 => writeln!(out, "docker0: port {b}(veth{a:05x}) entered blocking state"),
        1 => writeln!(out, "docker0: port {b}(veth{a:05x}) entered disabled state"),
        2 => writeln!(out, "device veth{a:05x} entered promiscuous mode"),
        3 => writeln!(out, "veth{a:05x}: renamed from eth0"),
        4 => writeln!(out, "IPv6: ADDRCONF(NETDEV_CHANGE): veth{a:05x}: link becomes ready"),
        5 => writeln!(
            out,
            "audit: type=1400 audit(17712931{b:02}.293:{a}): apparmor=\"DENIED\" operation=\"open\" profile=\"/usr/sbin/sssd\" name=\"/proc/{a}/cmdline\" pid={a} comm=\"sssd_nss\" requested_mask=\"r\" denied_mask=\"r\" fsuid=0 ouid=0"
        ),
        6 => writeln!(
            out,
            "audit: type=1101 audit(17712931{b:02}.293:{a}): pid={a} uid=0 msg='op=PAM:accounting acct=\"root\" exe=\"/usr/sbin/cron\" hostname=? addr=? terminal=cron res=failed'"
        ),
        7 => writeln!(out, "usb 1-14.1: new low-speed USB device number {b} using xhci_hcd"),
        8 => writeln!(out, "usb 1-14.1: USB disconnect, device number {b}"),
        9 => writeln!(
            out,
            "input: American Megatrends Inc. Virtual Keyboard and Mouse as /devices/pci0000:00/0000:00:14.0/usb1/1-14/input{b}"
        ),
        10 => writeln!(
            out,
            "hid-generic 0003:046B:FF10.{b:04X}: input,hidraw0: USB HID v1.10 Keyboard on usb-0000:00:14.0-14.1/input0"
        ),
        11 => writeln!(out, "systemd[1]: Started Session {a} of User user{b}."),
        12 => writeln!(
            out,
            "systemd[1]: run-docker-runtime\\x2drunc-moby-{a:012x}-runc.mount: Deactivated successfully."
        ),
        13 => {
            writeln!(out, "systemd[1]: apt-daily.service: Main process exited, code=exited, status=100/n/a")
        }
        14 => writeln!(out, "systemd[1]: snapd.service: Watchdog timeout (limit 5min)!"),
        15 => writeln!(out, "systemd[1]: motd-news.service: Failed with result 'exit-code'."),
        16 => writeln!(
            out,
            "TCP: request_sock_TCP: Possible SYN flooding on port {a}. Sending cookies.  Check SNMP counters."
        ),
        17 => writeln!(
            out,
            "perf: interrupt took too long ({a} > 3910), lowering kernel.perf_event_max_sample_rate to 51000"
        ),
        18 => writeln!(out, "hrtimer: interrupt took {a} ns"),
        19 => writeln!(out, "slurm.epilog ({a}): drop_caches: 3"),
        20 => writeln!(
            out,
            "workqueue: ib_cache_event_task [ib_core] hogged CPU for >10000us 4 times, consider switching to WQ_UNBOUND"
        ),
        21 => writeln!(
            out,
            "mlx5_core 0000:5e:00.0: mlx5_cmd_out_err:838:(pid {a}): ACCESS_REG(0x805) op_mod(0x1) failed, status bad resource(0x5), syndrome (0x305684), err(-22)"
        ),
        22 => writeln!(out, "loop{b}: detected capacity change from 0 to {a}"),
        23 => writeln!(
            out,
            "EXT4-fs (loop{b}): mounted filesystem without journal. Opts: (null). Quota mode: none."
        ),
        24 => writeln!(
            out,
            "overlayfs: upperdir is in-use as upperdir/workdir of another mount, accessing files from both mounts will result in undefined behavior."
        ),
        25 => writeln!(
            out,
            "python3[{a}]: segfault at 10 ip 00007f3c1a2b3c4d sp 00007ffd5e6f7a80 error 4 in libtorch_cuda.so[7f3c18000000+5a000000]"
        ),
        26 => writeln!(
            out,
            "Memory cgroup out of memory: Killed process {a} (python3) total-vm:91234567kB, anon-rss:67108000kB, file-rss:102400kB, shmem-rss:0kB, UID:1000 pgtables:140000kB oom_score_adj:0"
        ),
        27 => writeln!(out, "NVRM: Xid (PCI:0000:41:00): 43, pid={a}, name=python3, Ch 00000008"),
        28 => writeln!(
            out,
            "NVRM: Xid (PCI:0000:41:00): 31, pid={a}, name=python3, Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted @ 0x7ed4_a0000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
        ),
        _ => writeln!(
            out,
            "NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
        ),
    };
}

/// One line in so many tells of what hardware corrected: with the times [`log`] gives, some ten an hour of each kind.
const RARE: u64 = 250;

/// Errors that are corrected, heat that passes.
fn rare(dice: &mut Dice, out: &mut String) {
    let (a, b) = (dice.roll(99_999) + 1, dice.roll(255));
    let dimm = dice.roll(32);
    let _ = match dice.roll(4) {
        0 => writeln!(
            out,
            "mce: CPU{b}: Core temperature is above threshold, cpu clock is throttled (total events = {a})"
        ),
        1 => writeln!(out, "mce: CPU{b}: Core temperature/speed normal"),
        2 => writeln!(
            out,
            "pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0\nnvme 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\nnvme 0000:41:00.0:   device [144d:a824] error status/mask=00000001/0000e000\nnvme 0000:41:00.0:    [ 0] RxErr                  (First)"
        ),
        _ => writeln!(
            out,
            "EDAC MC3: 1 CE memory read error on CPU_SrcID#0_MC#3_Chan#0_DIMM#{dimm} (channel:0 slot:0 page:0x{a:x} offset:0xec0 grain:32 syndrome:0x0)"
        ),
    };
}

/// A log with times since the boot.
pub(crate) fn log(lines: usize, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = String::new();
    for line in BOOT {
        let _ = writeln!(text, "[{:12.6}] {line}", dice.roll(60_000_000) as f64 / 1e6);
    }
    for n in 0..lines {
        let mut line = String::new();
        ordinary(&mut dice, &mut line);
        for line in line.lines() {
            let _ = writeln!(text, "[{:12.6}] {line}", 60.0 + n as f64 * 0.37);
        }
    }
    text
}
