//! What the machine says of itself in files: the numbers of `/proc` and `/sys` as they stand there, nothing judged.
//! The checks (`crate::checks`) judge them; the collectors that fill them live at the edge.
//!
//! Facts come in sheets, one an area, so that a pass reads only what its checks ask for, and so that one area that
//! cannot be read does not take the others with it.
mod area;
pub mod driver;
pub mod gres;
pub mod host;
pub mod nic;
pub mod pci;
mod sheet;
pub mod site;

use serde::{Deserialize, Serialize};

use crate::{BootId, Stamp};
pub use area::Area;
pub use sheet::{Sheet, SheetState};

/// Everything that was read in one pass. A sheet that is `None` was not asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFacts {
    /// When reading began.
    pub at: Stamp,
    /// In which boot.
    pub boot: BootId,
    /// Mounted filesystems, and those that should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Sheet<host::Mounts>>,
    /// Room, and whether each filesystem answers, and the health of NVMe controllers: asked in a process that may hang.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<Sheet<host::Space>>,
    /// Memory and huge pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Sheet<host::Memory>>,
    /// Processes that cannot go on, and those that ended and wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<Sheet<host::Processes>>,
    /// The clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Sheet<host::Clock>>,
    /// CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Sheet<host::Cpus>>,
    /// Services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Sheet<host::Services>>,
    /// The kernel: taint, uptime, its tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Sheet<host::Kernel>>,
    /// Disk arrays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raid: Option<Sheet<host::Raid>>,
    /// Memory error counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edac: Option<Sheet<host::Edac>>,
    /// Disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disks: Option<Sheet<host::Disks>>,
    /// The machine's firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Sheet<host::Firmware>>,
    /// What a crash left behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pstore: Option<Sheet<host::Pstore>>,
    /// What jobs left behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leftovers: Option<Sheet<host::Leftovers>>,
    /// What slurm.conf says of this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slurm: Option<Sheet<host::SlurmNode>>,
    /// The GPUs Slurm is told of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gres: Option<Sheet<gres::GresFacts>>,
    /// What the site's own checks answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Sheet<site::SiteFacts>>,
    /// The PCI bus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci: Option<Sheet<pci::PciFacts>>,
    /// The network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic: Option<Sheet<nic::NicFacts>>,
    /// NVIDIA's driver and its services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Sheet<driver::DriverFacts>>,
}

impl NodeFacts {
    /// No sheet yet.
    pub fn new(at: Stamp, boot: BootId) -> Self {
        Self { at, boot, ..Self::default() }
    }

    /// How reading this area went; `None` when it was not asked for.
    pub fn state_of(&self, area: Area) -> Option<SheetState<'_>> {
        fn of<T>(sheet: Option<&Sheet<T>>) -> Option<SheetState<'_>> {
            sheet.map(Sheet::state)
        }
        match area {
            Area::Mounts => of(self.mounts.as_ref()),
            Area::Space | Area::Smart => of(self.space.as_ref()),
            Area::Memory => of(self.memory.as_ref()),
            Area::Processes => of(self.processes.as_ref()),
            Area::Clock => of(self.clock.as_ref()),
            Area::Cpus => of(self.cpus.as_ref()),
            Area::Services => of(self.services.as_ref()),
            Area::Kernel => of(self.kernel.as_ref()),
            Area::Raid => of(self.raid.as_ref()),
            Area::Edac => of(self.edac.as_ref()),
            Area::Disks => of(self.disks.as_ref()),
            Area::Firmware => of(self.firmware.as_ref()),
            Area::Pstore => of(self.pstore.as_ref()),
            Area::Leftovers => of(self.leftovers.as_ref()),
            Area::Slurm => of(self.slurm.as_ref()),
            Area::Gres => of(self.gres.as_ref()),
            Area::Site => of(self.site.as_ref()),
            Area::Pci => of(self.pci.as_ref()),
            Area::Nic => of(self.nic.as_ref()),
            Area::Driver => of(self.driver.as_ref()),
            // Read through NVML, not through files: the pass hands it to the checks itself.
            Area::Nvml => None,
        }
    }
}
