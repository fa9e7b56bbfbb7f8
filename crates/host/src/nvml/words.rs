//! NVML's numbers in the words of a reading. Numbers are those of NVML 13 (`nvml.h`); a number from a newer driver keeps
//! its place as a word with the number in it.
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings as nv;

/// Longest text of an error that a reading keeps, bytes.
const MAX_TEXT: usize = 200;

/// Clock event reasons, by bit.
const THROTTLE: &[(u64, &str)] = &[
    (nv::nvmlClocksEventReasonGpuIdle as u64, "gpu_idle"),
    (nv::nvmlClocksEventReasonApplicationsClocksSetting as u64, "applications_clocks"),
    (nv::nvmlClocksEventReasonSwPowerCap as u64, "sw_power_cap"),
    (nv::nvmlClocksThrottleReasonHwSlowdown as u64, "hw_slowdown"),
    (nv::nvmlClocksEventReasonSyncBoost as u64, "sync_boost"),
    (nv::nvmlClocksEventReasonSwThermalSlowdown as u64, "sw_thermal"),
    (nv::nvmlClocksThrottleReasonHwThermalSlowdown as u64, "hw_thermal"),
    (nv::nvmlClocksThrottleReasonHwPowerBrakeSlowdown as u64, "hw_power_brake"),
    (nv::nvmlClocksEventReasonDisplayClockSetting as u64, "display_clocks"),
    // Newer than the bindings: NVML 615.
    (0x200, "board_limit"),
    (0x400, "reliability"),
];

/// What the driver asks for, by number. The last came with NVML 610 (5) and 615 (6 and 7).
const RECOVERY: &[&str] = &[
    "none",
    "gpu_reset",
    "node_reboot",
    "drain_p2p",
    "drain_and_reset",
    "recover_imex_domain",
    "bus_reset",
    "system_reboot",
];

/// States of the registration with the fabric manager, by number.
const FABRIC_STATE: &[&str] = &["not_supported", "not_started", "in_progress", "completed"];

/// Names of NVML's return codes without `NVML_ERROR_`, by number.
const CODES: &[&str] = &[
    "SUCCESS",
    "UNINITIALIZED",
    "INVALID_ARGUMENT",
    "NOT_SUPPORTED",
    "NO_PERMISSION",
    "ALREADY_INITIALIZED",
    "NOT_FOUND",
    "INSUFFICIENT_SIZE",
    "INSUFFICIENT_POWER",
    "DRIVER_NOT_LOADED",
    "TIMEOUT",
    "IRQ_ISSUE",
    "LIBRARY_NOT_FOUND",
    "FUNCTION_NOT_FOUND",
    "CORRUPTED_INFOROM",
    "GPU_IS_LOST",
    "RESET_REQUIRED",
    "OPERATING_SYSTEM",
    "LIB_RM_VERSION_MISMATCH",
    "IN_USE",
    "MEMORY",
    "NO_DATA",
    "VGPU_ECC_NOT_SUPPORTED",
    "INSUFFICIENT_RESOURCES",
    "FREQ_NOT_SUPPORTED",
    "ARGUMENT_VERSION_MISMATCH",
    "DEPRECATED",
    "NOT_READY",
    "GPU_NOT_FOUND",
    "INVALID_STATE",
    "RESET_TYPE_NOT_SUPPORTED",
];

/// The names of the bits that are set; `bit_N` for one without a name.
pub(super) fn throttle(mask: u64) -> Vec<String> {
    let set = (0..u64::BITS).filter(|bit| mask & (1 << bit) != 0);
    set.map(|bit| {
        let known = THROTTLE.iter().find(|(value, _)| *value == 1 << bit);
        known.map_or_else(|| format!("bit_{bit}"), |(_, name)| (*name).to_owned())
    })
    .collect()
}

/// The recovery action's name.
pub(super) fn recovery(number: u64) -> String {
    by_number(RECOVERY, number, "action")
}

/// The fabric state's name.
pub(super) fn fabric_state(number: u64) -> String {
    by_number(FABRIC_STATE, number, "state")
}

/// The fabric status' name: a return code in lower case, `success` included.
pub(super) fn fabric_status(code: u32) -> String {
    self::code(code).to_ascii_lowercase()
}

/// NVML's word for an error, or, where the error is not NVML's own, what it is.
pub(super) fn error(error: &NvmlError) -> String {
    match number(error) {
        Some(number) => code(number),
        None => one_line(&error.to_string()),
    }
}

/// The error's word and what it means.
pub(super) fn sentence(error: &NvmlError) -> String {
    match number(error) {
        Some(number) => one_line(&format!("{} ({error})", code(number))),
        None => one_line(&error.to_string()),
    }
}

/// A text on one line, cut to a bearable length.
pub(super) fn one_line(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let end = (0..=MAX_TEXT.min(line.len())).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    line.truncate(end);
    line
}

/// NVML's return code behind an error of the wrapper, if one is.
fn number(error: &NvmlError) -> Option<u32> {
    use NvmlError::{
        CorruptedInfoROM, DriverNotLoaded, FunctionNotFound, GpuLost, InUse, InsufficientMemory,
        InsufficientPower, InsufficientSize, InvalidArg, IrqIssue, LibRmVersionMismatch, LibraryNotFound,
        NoData, NoPermission, NotFound, NotSupported, OperatingSystem, ResetRequired, Timeout,
        UnexpectedVariant, Uninitialized, Unknown, VgpuEccNotSupported,
    };
    Some(match error {
        Uninitialized => nv::nvmlReturn_enum_NVML_ERROR_UNINITIALIZED,
        InvalidArg => nv::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT,
        NotSupported => nv::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED,
        NoPermission => nv::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION,
        NotFound => nv::nvmlReturn_enum_NVML_ERROR_NOT_FOUND,
        InsufficientSize(_) => nv::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE,
        InsufficientPower => nv::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_POWER,
        DriverNotLoaded => nv::nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED,
        Timeout => nv::nvmlReturn_enum_NVML_ERROR_TIMEOUT,
        IrqIssue => nv::nvmlReturn_enum_NVML_ERROR_IRQ_ISSUE,
        LibraryNotFound => nv::nvmlReturn_enum_NVML_ERROR_LIBRARY_NOT_FOUND,
        FunctionNotFound => nv::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND,
        CorruptedInfoROM => nv::nvmlReturn_enum_NVML_ERROR_CORRUPTED_INFOROM,
        GpuLost => nv::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST,
        ResetRequired => nv::nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED,
        OperatingSystem => nv::nvmlReturn_enum_NVML_ERROR_OPERATING_SYSTEM,
        LibRmVersionMismatch => nv::nvmlReturn_enum_NVML_ERROR_LIB_RM_VERSION_MISMATCH,
        InUse => nv::nvmlReturn_enum_NVML_ERROR_IN_USE,
        InsufficientMemory => nv::nvmlReturn_enum_NVML_ERROR_MEMORY,
        NoData => nv::nvmlReturn_enum_NVML_ERROR_NO_DATA,
        VgpuEccNotSupported => nv::nvmlReturn_enum_NVML_ERROR_VGPU_ECC_NOT_SUPPORTED,
        Unknown => nv::nvmlReturn_enum_NVML_ERROR_UNKNOWN,
        // The wrapper's word for any return code that it does not know.
        UnexpectedVariant(code) => *code,
        _ => return None,
    })
}

fn code(number: u32) -> String {
    if number == nv::nvmlReturn_enum_NVML_ERROR_UNKNOWN {
        "UNKNOWN".to_owned()
    } else {
        by_number(CODES, number.into(), "code")
    }
}

fn by_number(names: &[&str], number: u64, kind: &str) -> String {
    let known = usize::try_from(number).ok().and_then(|at| names.get(at));
    known.map_or_else(|| format!("{kind}_{number}"), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_from_the_future_is_kept() {
        assert_eq!(throttle(0x8000_0000_0000_0041), ["gpu_idle", "hw_thermal", "bit_63"]);
        assert_eq!((recovery(4), recovery(77)), ("drain_and_reset".to_owned(), "action_77".to_owned()));
        assert_eq!((fabric_state(3), fabric_state(9)), ("completed".to_owned(), "state_9".to_owned()));
        assert_eq!(error(&NvmlError::UnexpectedVariant(31)), "code_31");
    }

    #[test]
    fn names_stand_at_their_numbers() {
        for (number, name) in [
            (nv::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST, "GPU_IS_LOST"),
            (nv::nvmlReturn_enum_NVML_ERROR_NO_DATA, "NO_DATA"),
            (nv::nvmlReturn_enum_NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, "RESET_TYPE_NOT_SUPPORTED"),
            (nv::nvmlReturn_enum_NVML_ERROR_UNKNOWN, "UNKNOWN"),
        ] {
            assert_eq!(error(&NvmlError::from(number)), name);
        }
        assert_eq!(fabric_status(0), "success");
    }

    #[test]
    fn a_hostile_text_becomes_one_short_line() {
        let line = one_line(&format!("a\nb\0{}", "é".repeat(500)));
        assert!(line.starts_with("a b ") && line.len() <= MAX_TEXT);
    }
}
