//! What is counted, and from how many on it is a fault. Every figure has its source; a site changes it in `[rates.<name>]`.
use super::Threshold;
use crate::reading::GpuReading;
use crate::{Event, Resource};

/// One rate.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name, in `[rates.<name>]`; `rate.<name>` is the code of the event it fires.
    pub name: &'static str,
    /// What is counted, in words for a person, plural.
    pub what: &'static str,
    /// What is counted.
    pub(super) counts: Counts,
    /// Counted over the whole node instead of each resource.
    pub(super) per_node: bool,
    /// From how many on.
    pub threshold: Threshold,
    /// Where the figure comes from.
    pub source: &'static str,
}

/// What a rule counts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Counts {
    /// Events of these codes.
    Codes(&'static [&'static str]),
    /// The same, and what the counters of links tell beyond them.
    Links(&'static [&'static str]),
    /// By how much a counter of a GPU rose from one sweep to the next.
    Counter(fn(&GpuReading) -> Option<u64>),
}

impl Rule {
    /// Whether occurrences have a size of their own.
    pub const fn sums(&self) -> bool {
        matches!(self.counts, Counts::Counter(_))
    }

    /// The code of the event it fires.
    pub fn code(&self) -> String {
        format!("rate.{}", self.name)
    }

    /// Whether the event is one of those it counts.
    pub(super) fn counts(&self, event: &Event) -> bool {
        let (Counts::Codes(codes) | Counts::Links(codes)) = self.counts else { return false };
        codes.contains(&event.code.as_str())
    }

    /// Whether it counts what the counters of links tell as well.
    pub(super) const fn counts_links(&self) -> bool {
        matches!(self.counts, Counts::Links(_))
    }

    /// What its count is kept on for something that happened to `resource`.
    pub(super) fn place(&self, resource: &Resource) -> Resource {
        if self.per_node { Resource::Host } else { resource.clone() }
    }
}

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

const fn within(count: u64, window_s: i64) -> Threshold {
    Threshold { count, window_s, jobs: 0, users: 0 }
}

/// Every rate, by name.
pub const RULES: &[Rule] = &[
    Rule {
        name: "cpu_corrected",
        what: "corrected machine checks",
        counts: Counts::Codes(&["mce.corrected", "apei.corrected"]),
        per_node: true,
        threshold: within(100, DAY),
        source: "mcelog, mcelog.conf: socket mem-ce-error-threshold = 100 / 24h",
    },
    Rule {
        name: "cpu_throttled",
        what: "times the CPUs were throttled by heat",
        counts: Counts::Codes(&["cpu.throttled"]),
        per_node: true,
        threshold: within(60, HOUR),
        source: "own choice: the kernel tells each CPU's throttling at most every 300 s, so sixty different seconds in an \
                 hour are heat that lasts",
    },
    Rule {
        name: "dimm_corrected",
        what: "corrected memory errors",
        counts: Counts::Codes(&["memory.corrected"]),
        per_node: false,
        threshold: within(24, DAY),
        source: "own choice, one an hour all day; mcelog's dimm ce-error-threshold is 10 / 24h",
    },
    Rule {
        name: "disk_timeouts",
        what: "timeouts of the disk",
        counts: Counts::Codes(&["disk.timeout"]),
        per_node: false,
        threshold: within(3, DAY),
        source: "own choice: the driver resets an NVMe controller at each",
    },
    Rule {
        name: "gpu_corrected",
        what: "corrected memory errors of the GPU",
        counts: Counts::Counter(|gpu| gpu.ecc_corrected),
        per_node: false,
        threshold: within(10_000, DAY),
        source: "own choice: Azure's node health checks accept 5e7 over a GPU's life; a healthy GPU counts some a day",
    },
    Rule {
        name: "hung_tasks",
        what: "tasks that hung in the kernel",
        counts: Counts::Codes(&["task.hung"]),
        per_node: true,
        threshold: within(5, HOUR),
        source: "own choice: the kernel stops telling after ten (kernel.hung_task_warnings)",
    },
    Rule {
        name: "link_flaps",
        what: "losses of the link",
        counts: Counts::Links(&["nic.link_down"]),
        per_node: false,
        threshold: within(5, DAY),
        source: "own choice: a link that is lost five times a day will be lost under a job",
    },
    Rule {
        name: "nvlink_recoveries",
        what: "NVLink recoveries",
        counts: Counts::Counter(nvlink_recoveries),
        per_node: false,
        threshold: within(10, DAY),
        source: "own choice: a recovery retrains the link, which a healthy one does not need",
    },
    Rule {
        name: "pcie_corrected",
        what: "seconds with corrected PCIe errors",
        counts: Counts::Codes(&["pcie.aer_corrected"]),
        per_node: false,
        threshold: within(128, HOUR),
        source: "own choice: errors in one of 28 seconds all hour; a marginal link shows them in nearly every one",
    },
    Rule {
        name: "row_remaps",
        what: "row remaps",
        counts: Counts::Codes(&["xid.63"]),
        per_node: false,
        threshold: within(8, 30 * DAY),
        source: "NVIDIA, GPU Memory Error Management: a bank has eight spare rows for uncorrectable errors",
    },
    Rule {
        name: "xid_across_jobs",
        what: "program faults (Xid 13, 31)",
        counts: Counts::Codes(&["xid.13", "xid.31"]),
        per_node: false,
        threshold: Threshold { count: 3, window_s: 7 * DAY, jobs: 3, users: 2 },
        source: "after NVSentinel, which takes two on one GPU in 24 h for the GPU's; three jobs of two users, because one \
                 faulty program runs again and again",
    },
];

/// `None` where no link tells.
fn nvlink_recoveries(gpu: &GpuReading) -> Option<u64> {
    gpu.nvlinks.iter().filter_map(|link| link.recoveries).reduce(u64::saturating_add)
}
