//! The host: filesystems, memory, processes, clock, CPUs, services, kernel. Numbers are as the kernel writes them.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Filesystems.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Mounts {
    /// What is mounted, in the kernel's order; pseudo filesystems (proc, sysfs, cgroup ...) are left out.
    pub mounted: Vec<Mount>,
    /// What `/etc/fstab` says should be: entries without `noauto`, swap and `none` left out.
    pub fstab: Vec<Mount>,
}

/// One filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Mount {
    /// Where it is mounted.
    pub path: String,
    /// Its type: `ext4`, `nfs4`, `lustre`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is mounted: `/dev/sda1`, `server:/export`.
    pub source: String,
    /// Its device (`8:1`); the same for two mounts of one filesystem. Empty in fstab.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// It may not be written to: the mount's own `ro`, or the filesystem's.
    pub read_only: bool,
}

/// What each filesystem answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Space {
    /// By mount point.
    pub of: BTreeMap<String, Answer>,
    /// What the node's own NVMe controllers answered, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub disks: BTreeMap<String, Answer>,
    /// How long each had to answer, milliseconds.
    pub deadline_ms: u64,
}

/// What one filesystem answered, or one NVMe controller.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// It did not answer in time.
    pub hung: bool,
    /// The kernel function the asking thread sleeps in, where known.
    pub wchan: Option<String>,
    /// It answered with this error.
    pub error: Option<String>,
    /// A write was asked for and failed with this error.
    pub write_error: Option<String>,
    /// Size, bytes.
    pub bytes: u64,
    /// Room for users other than root, bytes.
    pub bytes_free: u64,
    /// Inodes; 0 where the filesystem has no fixed number.
    pub inodes: u64,
    /// Free inodes.
    pub inodes_free: u64,
    /// A controller's health log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// Of an NVMe controller's SMART / Health Information log (page 02h) what is looked at: NVM Express Base Specification 1.4,
/// section 5.14.1.2; unchanged up to 2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// Critical warnings, as they are in this moment: a bit each.
    pub warnings: u64,
    /// Composite temperature, kelvin; 0 where none is told.
    pub kelvin: u64,
    /// Spare capacity that is left, per cent.
    pub spare: u64,
    /// The maker's threshold for it, per cent.
    pub spare_min: u64,
    /// The maker's estimate of the life that is used up, per cent; may be above 100, 255 stands for all above 254.
    pub used: u64,
    /// Unrecovered data integrity errors over the disk's life.
    pub media_errors: u64,
}

/// Memory, KiB as `/proc/meminfo` has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// `MemTotal`, KiB.
    pub total_kib: u64,
    /// `MemAvailable`, KiB.
    pub available_kib: Option<u64>,
    /// `SwapTotal`, KiB.
    pub swap_kib: Option<u64>,
    /// Huge pages by page size in KiB.
    pub hugepages: BTreeMap<u64, HugePages>,
}

impl Memory {
    /// What is in use by anybody, KiB: neither free, nor to be freed at once, nor set aside as huge pages.
    pub fn used_kib(&self) -> Option<u64> {
        let pages = self.hugepages.iter();
        let set_aside =
            pages.fold(0_u64, |sum, (kib, pages)| sum.saturating_add(kib.saturating_mul(pages.total)));
        Some(self.total_kib.saturating_sub(self.available_kib?).saturating_sub(set_aside))
    }
}

/// Huge pages of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HugePages {
    /// `nr_hugepages`.
    pub total: u64,
    /// `free_hugepages`.
    pub free: u64,
}

/// Processes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Processes {
    /// How many there are.
    pub count: u64,
    /// Those that sleep in the kernel and cannot be killed (state `D`); at most 64, oldest first.
    pub stuck: Vec<Process>,
    /// How many have ended and were not waited for (state `Z`).
    pub zombies: u64,
    /// How many are slurmstepd: one a step of a job, and with cgroup v2 one that is always there.
    pub steps: u64,
    /// The parent with most of them.
    pub zombie_parent: Option<Process>,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Its pid.
    pub pid: u32,
    /// When it started, clock ticks since boot: with the pid it names one process of a boot.
    pub start: u64,
    /// Its name, as it calls itself; control characters replaced.
    pub comm: String,
    /// Its owner.
    pub uid: Option<u32>,
    /// The kernel function it sleeps in.
    pub wchan: Option<String>,
}

/// The clock, as adjtimex(2) tells it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// The kernel holds the clock for synchronised (no `STA_UNSYNC`, state not `TIME_ERROR`).
    pub synchronised: Option<bool>,
    /// Bound on the error, microseconds; grows while nobody disciplines the clock.
    pub max_error_us: Option<i64>,
    /// `current_clocksource`.
    pub source: Option<String>,
    /// `available_clocksource`.
    pub available: Vec<String>,
}

/// CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpus {
    /// Numbers of the CPUs that are there.
    pub present: Vec<u32>,
    /// Numbers of those in use.
    pub online: Vec<u32>,
    /// `smt/control`: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
    /// Frequency governors and how many policies use each.
    pub governors: BTreeMap<String, u64>,
    /// The frequency driver: `intel_pstate`, `acpi-cpufreq`, `amd-pstate-epp`.
    pub driver: Option<String>,
}

/// Services, by systemd unit name without `.service`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Services {
    /// The node is run by systemd.
    pub systemd: bool,
    /// Those of interest that are enabled (a link in a `.wants` folder).
    pub enabled: Vec<String>,
    /// Those of interest that run: a process in their control group, or one of their name.
    pub running: Vec<String>,
}

/// The kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// `/proc/sys/kernel/tainted`.
    pub tainted: Option<u64>,
    /// Seconds since boot.
    pub uptime_s: Option<f64>,
    /// Load average over a minute.
    pub load: Option<f64>,
    /// Tasks (threads) there are.
    pub tasks: Option<u64>,
    /// `/proc/sys/kernel/pid_max`.
    pub pid_max: Option<u64>,
    /// `/proc/sys/kernel/threads-max`.
    pub threads_max: Option<u64>,
    /// Open files of the whole system.
    pub files: Option<u64>,
    /// Most there may be.
    pub files_max: Option<u64>,
}

/// Disk arrays of `/proc/mdstat`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Raid {
    /// The arrays.
    pub arrays: Vec<Array>,
}

/// One array.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Array {
    /// `md0`.
    pub name: String,
    /// `active`, `inactive`, `active (read-only)`.
    pub state: String,
    /// Members it should have, where the level has redundancy.
    pub wanted: Option<u32>,
    /// Members it has.
    pub working: Option<u32>,
    /// Members marked as failed (`(F)`).
    pub failed: Vec<String>,
    /// `recovery`, `resync`, `reshape`, `check` with how far, while one is under way.
    pub doing: Option<String>,
}

/// Memory error counters of EDAC, since the driver was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Edac {
    /// By DIMM, or by controller (`mc0`) where the driver tells no DIMMs.
    pub of: BTreeMap<String, Errors>,
}

/// Errors of one memory module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Errors {
    /// Corrected.
    pub corrected: u64,
    /// Uncorrected.
    pub uncorrected: u64,
}

/// What a crash left behind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pstore {
    /// Paths of the records, at most 16.
    pub records: Vec<String>,
}

/// What jobs left behind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Leftovers {
    /// Processes of the users looked for, at most 256.
    pub processes: Vec<UserProcess>,
    /// Their shared memory: files of `/dev/shm`, at most 256.
    pub shm: Vec<ShmFile>,
    /// The users looked for.
    pub uids: Vec<u32>,
}

/// One process of a user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UserProcess {
    /// Its pid.
    pub pid: u32,
    /// Its owner.
    pub uid: u32,
    /// When it started, microseconds since the Unix epoch.
    pub started_us: i64,
    /// Its name.
    pub comm: String,
}

/// One file of `/dev/shm`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ShmFile {
    /// Its name; control characters replaced.
    pub name: String,
    /// Its owner.
    pub uid: u32,
    /// Memory it holds, bytes.
    pub bytes: u64,
    /// When it was last written, microseconds since the Unix epoch.
    pub written_us: i64,
}

/// What slurm.conf says of this node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SlurmNode {
    /// The file it was read from.
    pub path: String,
    /// The node is named there.
    pub named: bool,
    /// `SlurmdParameters=config_overrides`: what is said of the node holds whatever it has.
    pub overrides: bool,
    /// `RealMemory`, MB.
    pub real_memory_mb: Option<u64>,
    /// `CPUs`, else what `Boards`, `Sockets`, `CoresPerSocket` and `ThreadsPerCore` come to.
    pub cpus: Option<u64>,
    /// `Gres`, as written: `gpu:h100:8`.
    pub gres: Option<String>,
}

/// Disks: the node's own NVMe controllers, and what the kernel sees as SCSI disks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Disks {
    /// By name, sorted.
    pub disks: Vec<Disk>,
}

/// One disk. Only the state may change within a boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// `nvme0`, `sda`.
    pub name: String,
    /// The kernel's word: `live`, `resetting`, `connecting`, `dead` of a controller; `running`, `offline`, `blocked` of a disk.
    pub state: String,
    /// Model.
    pub model: Option<String>,
    /// Serial number, or the world-wide name where the kernel tells no serial.
    pub serial: Option<String>,
    /// Firmware version.
    pub firmware: Option<String>,
}

/// The machine's firmware, as the BIOS tells it. Serial numbers are not read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Firmware {
    /// `product_name`: the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// `board_name`: the main board.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// `bios_version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bios: Option<String>,
    /// `bios_date`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bios_date: Option<String>,
    /// `ec_firmware_release`: of the embedded controller, the BMC on most servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// Microcode revision of the first CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
}

impl Firmware {
    /// Every part with its name for people.
    pub fn parts(&self) -> [(&'static str, Option<&str>); 6] {
        [
            ("product", self.product.as_deref()),
            ("board", self.board.as_deref()),
            ("BIOS", self.bios.as_deref()),
            ("BIOS date", self.bios_date.as_deref()),
            ("controller firmware", self.controller.as_deref()),
            ("microcode", self.microcode.as_deref()),
        ]
    }
}
