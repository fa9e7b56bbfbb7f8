//! The areas of a node that are read separately.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::UnknownWord;
use crate::model::words::vocabulary;

vocabulary! {
    /// One area of a node: what one collector reads.
    Area ("area") {
        /// `/proc/self/mountinfo`, `/etc/fstab`.
        Mounts = "mounts",
        /// statvfs(2) on each filesystem, in the killable child.
        Space = "space",
        /// The health log of the node's own NVMe controllers, in the same child.
        Smart = "smart",
        /// `/proc/meminfo`, `/sys/kernel/mm/hugepages`.
        Memory = "memory",
        /// `/proc/<pid>/stat` of every process.
        Processes = "processes",
        /// adjtimex(2), the clock source.
        Clock = "clock",
        /// `/sys/devices/system/cpu`.
        Cpus = "cpus",
        /// systemd's unit links and control groups.
        Services = "services",
        /// `/proc/sys/kernel`, `/proc/uptime`, `/proc/loadavg`, `/proc/sys/fs`.
        Kernel = "kernel",
        /// `/proc/mdstat`.
        Raid = "raid",
        /// `/sys/devices/system/edac`.
        Edac = "edac",
        /// `/sys/class/nvme`, `/sys/block`.
        Disks = "disks",
        /// `/sys/class/dmi/id`, the CPU's microcode.
        Firmware = "firmware",
        /// `/sys/fs/pstore`, `/var/lib/systemd/pstore`.
        Pstore = "pstore",
        /// Processes and shared memory of users whose jobs have ended.
        Leftovers = "leftovers",
        /// slurm.conf.
        Slurm = "slurm",
        /// gres.conf, and the GPUs slurm.conf promises.
        Gres = "gres",
        /// The executables of `checks.d`.
        Site = "site",
        /// `/sys/bus/pci/devices`.
        Pci = "pci",
        /// `/sys/class/infiniband`, `/sys/class/net`.
        Nic = "nic",
        /// `/proc/modules`, `/proc/driver/nvidia`, NVIDIA's services.
        Driver = "driver",
        /// NVML, through `triage-probe`.
        Nvml = "nvml",
    }
}
