//! What a simulated GPU says of itself, and how a scenario overrides it.
use serde::Deserialize;

use super::pci::PciAddress;
use super::profile::Profile;
use super::words::{Code, FabricHealth, FabricState, LinkState, MigMode, RecoveryAction, Throttle};

/// Bytes in a MiB.
const MIB: u64 = 1 << 20;

/// Largest number of NVLinks of one GPU in NVML 13.
pub(crate) const MAX_LINKS: u32 = nvml_wrapper_sys::bindings::NVML_NVLINK_MAX_LINKS;

/// Declares the values of a GPU once: the structure, its healthy defaults, and the overrides a scenario may give.
macro_rules! values {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr,)+) => {
        /// Everything a GPU can be asked. Keys, units and meanings: `docs/nvml-sim.md`.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct Values { $($(#[$doc])* pub(crate) $name: $type,)+ }

        impl Default for Values {
            /// A healthy, idle H100.
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        /// Values given in a scenario; `index` is for `[[gpu]]` only.
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct Overrides { pub(crate) index: Option<u32>, $($name: Option<$type>,)+ }

        impl Overrides {
            /// Replaces in `values` what is given here.
            pub(crate) fn apply(&self, values: &mut Values) {
                $(if let Some(given) = &self.$name { values.$name.clone_from(given); })+
            }

            /// Keys of a GPU, as the documentation lists them.
            #[cfg(test)]
            pub(crate) const KEYS: &'static [&'static str] = &[$(stringify!($name)),+];
        }
    };
}

values! {
    uuid: String = String::new(),
    pci: PciAddress = PciAddress::default(),
    serial: String = String::new(),
    name: String = "NVIDIA H100 80GB HBM3".to_owned(),
    minor: u32 = 0,
    vbios: String = "96.00.89.00.01".to_owned(),
    inforom: String = "G520.0200.00.05".to_owned(),
    persistence: bool = true,
    mig: MigMode = MigMode::Disabled,
    /// Absent: the same as `mig`.
    mig_pending: Option<MigMode> = None,
    mig_devices: Vec<Profile> = Vec::new(),
    ecc: bool = true,
    ecc_corrected: u64 = 0,
    ecc_uncorrected: u64 = 0,
    ecc_corrected_aggregate: u64 = 0,
    ecc_uncorrected_aggregate: u64 = 0,
    remap_corrected: u32 = 0,
    remap_uncorrected: u32 = 0,
    remap_pending: bool = false,
    remap_failed: bool = false,
    retired_single_bit: Option<u32> = None,
    retired_double_bit: Option<u32> = None,
    retired_pending: bool = false,
    recovery_action: RecoveryAction = RecoveryAction::None,
    throttle: Vec<Throttle> = vec![Throttle::GpuIdle],
    temperature_c: u32 = 34,
    temperature_slowdown_c: u32 = 87,
    temperature_shutdown_c: u32 = 92,
    power_w: Watts = Watts::from_milliwatts(72_000),
    power_limit_w: Watts = Watts::from_milliwatts(700_000),
    pcie_gen: u32 = 5,
    pcie_gen_max: u32 = 5,
    pcie_width: u32 = 16,
    pcie_width_max: u32 = 16,
    pcie_replays: u32 = 0,
    nvlinks: u32 = 18,
    nvlink: Vec<Link> = Vec::new(),
    memory_total_mib: u64 = 81_559,
    memory_used_mib: u64 = 4,
    processes: Vec<Process> = Vec::new(),
    utilization_gpu: u32 = 0,
    utilization_memory: u32 = 0,
    clock_sm_mhz: u32 = 345,
    clock_sm_max_mhz: u32 = 1980,
    clock_memory_mhz: u32 = 2619,
    clock_memory_max_mhz: u32 = 2619,
    fabric_state: FabricState = FabricState::Completed,
    fabric_status: Code = Code::SUCCESS,
    fabric_health: FabricHealth = FabricHealth::Healthy,
}

impl Values {
    /// Memory in use, bytes, the processes' included.
    pub(crate) fn memory_used(&self) -> u64 {
        let processes = self.processes.iter().fold(0u64, |sum, process| sum.saturating_add(process.memory()));
        self.memory_used_mib.saturating_mul(MIB).saturating_add(processes)
    }

    /// Memory installed, bytes.
    pub(crate) fn memory_total(&self) -> u64 {
        self.memory_total_mib.saturating_mul(MIB)
    }

    /// The throttle reasons as NVML's mask.
    pub(crate) fn throttle_mask(&self) -> u64 {
        self.throttle.iter().fold(0, |mask, reason| mask | u64::from(reason.number()))
    }

    /// The link of that number, if the GPU has it.
    pub(crate) fn link(&self, number: u32) -> Option<Link> {
        let scripted = self.nvlink.iter().find(|link| link.link == number).cloned();
        (number < self.nvlinks).then(|| scripted.unwrap_or_else(|| Link { link: number, ..Link::default() }))
    }

    /// Says what makes these values impossible to report.
    pub(crate) fn check(&self) -> Result<(), String> {
        let texts = [
            ("uuid", &self.uuid),
            ("serial", &self.serial),
            ("name", &self.name),
            ("vbios", &self.vbios),
            ("inforom", &self.inforom),
        ];
        for (key, text) in texts {
            if text.contains('\0') {
                return Err(format!("{key} must not contain NUL"));
            }
        }
        if self.nvlinks > MAX_LINKS {
            return Err(format!("nvlinks must be at most {MAX_LINKS}"));
        }
        match self.nvlink.iter().find(|link| link.link >= self.nvlinks) {
            Some(link) => Err(format!("link {} in nvlink, but nvlinks is {}", link.link, self.nvlinks)),
            None => Ok(()),
        }
    }
}

/// One NVLink, active and without errors unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    /// Number on the GPU.
    pub(crate) link: u32,
    #[serde(default = "active")]
    pub(crate) state: LinkState,
    #[serde(default)]
    pub(crate) replay: u64,
    #[serde(default)]
    pub(crate) recovery: u64,
    #[serde(default)]
    pub(crate) crc_flit: u64,
    #[serde(default)]
    pub(crate) crc_data: u64,
}

fn active() -> LinkState {
    LinkState::Active
}

impl Default for Link {
    fn default() -> Self {
        Self { link: 0, state: active(), replay: 0, recovery: 0, crc_flit: 0, crc_data: 0 }
    }
}

/// A process with a compute context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    #[serde(default)]
    memory_mib: u64,
}

impl Process {
    /// GPU memory it uses, bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.memory_mib.saturating_mul(MIB)
    }
}

/// A power, given in watts, told in milliwatts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Watts(u32);

impl Watts {
    const fn from_milliwatts(milliwatts: u32) -> Self {
        Self(milliwatts)
    }

    pub(crate) fn milliwatts(self) -> u32 {
        self.0
    }
}

impl TryFrom<f64> for Watts {
    type Error = String;

    fn try_from(watts: f64) -> Result<Self, String> {
        let milliwatts = (watts * 1000.0).round();
        if !(0.0..=f64::from(u32::MAX)).contains(&milliwatts) {
            return Err(format!("{watts} is no power in watts: 0 to {}", u32::MAX / 1000));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "in range, checked above"
        )]
        Ok(Self(milliwatts as u32))
    }
}
