//! The words of a scenario and the numbers NVML has for them. Numbers are those of NVML 13 (`nvml.h`).
use nvml_wrapper_sys::bindings as nv;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// An enumeration with a word in the scenario and a number in NVML for each variant.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $number:expr,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum $name { $($variant,)+ }

        impl $name {
            /// NVML's number.
            pub(crate) fn number(self) -> u32 {
                match self { $(Self::$variant => $number,)+ }
            }
        }
    };
}

words! {
    /// State of an NVLink. The last two are newer than the bindings.
    LinkState { Inactive = 0, Active = 1, Sleep = 2, ActiveTrafficDisabled = 3, }
}
words! {
    /// State of a GPU's registration with the fabric manager.
    FabricState {
        NotSupported = nv::NVML_GPU_FABRIC_STATE_NOT_SUPPORTED,
        NotStarted = nv::NVML_GPU_FABRIC_STATE_NOT_STARTED,
        InProgress = nv::NVML_GPU_FABRIC_STATE_IN_PROGRESS,
        Completed = nv::NVML_GPU_FABRIC_STATE_COMPLETED,
    }
}
words! {
    /// Summary of a GPU's fabric health.
    FabricHealth {
        NotSupported = nv::NVML_GPU_FABRIC_HEALTH_SUMMARY_NOT_SUPPORTED,
        Healthy = nv::NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY,
        Unhealthy = nv::NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY,
        LimitedCapacity = nv::NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY,
    }
}
words! {
    /// Reason why clocks are held down: a bit of NVML's mask. The last two are newer than the bindings.
    Throttle {
        GpuIdle = nv::nvmlClocksEventReasonGpuIdle,
        ApplicationsClocks = nv::nvmlClocksEventReasonApplicationsClocksSetting,
        SwPowerCap = nv::nvmlClocksEventReasonSwPowerCap,
        HwSlowdown = nv::nvmlClocksThrottleReasonHwSlowdown,
        SyncBoost = nv::nvmlClocksEventReasonSyncBoost,
        SwThermal = nv::nvmlClocksEventReasonSwThermalSlowdown,
        HwThermal = nv::nvmlClocksThrottleReasonHwThermalSlowdown,
        HwPowerBrake = nv::nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
        DisplayClocks = nv::nvmlClocksEventReasonDisplayClockSetting,
        BoardLimit = 0x200,
        Reliability = 0x400,
    }
}

/// MIG mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MigMode {
    Disabled,
    Enabled,
    NotSupported,
}

/// What the driver asks for. Codes 5 to 7 came with NVML 610 and 615.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecoveryAction {
    None,
    GpuReset,
    NodeReboot,
    DrainP2p,
    DrainAndReset,
    RecoverImexDomain,
    BusReset,
    SystemReboot,
    NotSupported,
}

impl RecoveryAction {
    /// NVML's number; none where the driver does not have the field.
    pub(crate) fn number(self) -> Option<u32> {
        (self != Self::NotSupported).then_some(self as u32)
    }
}

/// A return code of NVML, by its name without `NVML_ERROR_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) nv::nvmlReturn_t);

impl Code {
    pub(crate) const SUCCESS: Self = Self(nv::nvmlReturn_enum_NVML_SUCCESS);
    pub(crate) const UNINITIALIZED: Self = Self(nv::nvmlReturn_enum_NVML_ERROR_UNINITIALIZED);
    pub(crate) const INVALID_ARGUMENT: Self = Self(nv::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT);
    pub(crate) const NOT_SUPPORTED: Self = Self(nv::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED);
    pub(crate) const NOT_FOUND: Self = Self(nv::nvmlReturn_enum_NVML_ERROR_NOT_FOUND);
    pub(crate) const INSUFFICIENT_SIZE: Self = Self(nv::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE);
    pub(crate) const GPU_IS_LOST: Self = Self(nv::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST);
    pub(crate) const VERSION_MISMATCH: Self = Self(nv::nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    pub(crate) const UNKNOWN: Self = Self(nv::nvmlReturn_enum_NVML_ERROR_UNKNOWN);

    /// Every code a scenario can name, with what `nvmlErrorString` says of it.
    pub(crate) const TABLE: &[(&str, Self, &std::ffi::CStr)] = &[
        ("SUCCESS", Self::SUCCESS, c"success"),
        ("UNINITIALIZED", Self::UNINITIALIZED, c"not initialized"),
        ("INVALID_ARGUMENT", Self::INVALID_ARGUMENT, c"invalid argument"),
        ("NOT_SUPPORTED", Self::NOT_SUPPORTED, c"not supported"),
        ("NO_PERMISSION", Self(nv::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION), c"insufficient permissions"),
        ("NOT_FOUND", Self::NOT_FOUND, c"not found"),
        ("INSUFFICIENT_SIZE", Self::INSUFFICIENT_SIZE, c"insufficient size"),
        (
            "INSUFFICIENT_POWER",
            Self(nv::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_POWER),
            c"insufficient external power",
        ),
        ("DRIVER_NOT_LOADED", Self(nv::nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED), c"driver not loaded"),
        ("TIMEOUT", Self(nv::nvmlReturn_enum_NVML_ERROR_TIMEOUT), c"timeout"),
        ("IRQ_ISSUE", Self(nv::nvmlReturn_enum_NVML_ERROR_IRQ_ISSUE), c"interrupt request issue"),
        ("LIBRARY_NOT_FOUND", Self(nv::nvmlReturn_enum_NVML_ERROR_LIBRARY_NOT_FOUND), c"library not found"),
        (
            "FUNCTION_NOT_FOUND",
            Self(nv::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND),
            c"function not found",
        ),
        ("CORRUPTED_INFOROM", Self(nv::nvmlReturn_enum_NVML_ERROR_CORRUPTED_INFOROM), c"corrupted inforom"),
        ("GPU_IS_LOST", Self::GPU_IS_LOST, c"GPU is lost"),
        ("RESET_REQUIRED", Self(nv::nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED), c"GPU requires reset"),
        (
            "OPERATING_SYSTEM",
            Self(nv::nvmlReturn_enum_NVML_ERROR_OPERATING_SYSTEM),
            c"blocked by the operating system",
        ),
        (
            "LIB_RM_VERSION_MISMATCH",
            Self(nv::nvmlReturn_enum_NVML_ERROR_LIB_RM_VERSION_MISMATCH),
            c"driver/library version mismatch",
        ),
        ("IN_USE", Self(nv::nvmlReturn_enum_NVML_ERROR_IN_USE), c"in use"),
        ("MEMORY", Self(nv::nvmlReturn_enum_NVML_ERROR_MEMORY), c"insufficient memory"),
        ("NO_DATA", Self(nv::nvmlReturn_enum_NVML_ERROR_NO_DATA), c"no data"),
        (
            "INSUFFICIENT_RESOURCES",
            Self(nv::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_RESOURCES),
            c"insufficient resources",
        ),
        ("ARGUMENT_VERSION_MISMATCH", Self::VERSION_MISMATCH, c"argument version mismatch"),
        ("NOT_READY", Self(nv::nvmlReturn_enum_NVML_ERROR_NOT_READY), c"not ready"),
        ("GPU_NOT_FOUND", Self(nv::nvmlReturn_enum_NVML_ERROR_GPU_NOT_FOUND), c"no GPU found"),
        ("INVALID_STATE", Self(nv::nvmlReturn_enum_NVML_ERROR_INVALID_STATE), c"invalid state"),
        ("UNKNOWN", Self::UNKNOWN, c"unknown error"),
    ];
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Self::TABLE.iter().find(|(known, ..)| *known == name).map(|&(_, code, _)| code).ok_or_else(|| {
            D::Error::custom(format!(
                "\"{name}\" is no NVML error known here: leave out NVML_ERROR_, as in GPU_IS_LOST"
            ))
        })
    }
}
