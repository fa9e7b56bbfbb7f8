//! One scripted fault: whom it hits, what it does, when.
use std::time::{Duration, SystemTime};

use super::file::{FaultTable, Kind};
use super::place::Place;
use super::values::{Overrides, Values};
use super::window::{Window, seconds};
use super::words::{Code, RecoveryAction};

/// A fault of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    /// GPUs it hits; none: every GPU, and the calls that are about no GPU.
    targets: Option<Vec<u32>>,
    pub(crate) effect: Effect,
    pub(crate) window: Window,
}

/// What a fault does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Lost,
    Absent,
    Ecc { count: u64, corrected: bool },
    RemapPending,
    RemapFailed,
    Set(Box<Overrides>),
    Error { code: Code, function: Option<String> },
    Hang { lasts: Option<Duration>, function: Option<String> },
}

impl Fault {
    /// Checks one `[[fault]]`. `functions` are the names of all functions there are.
    pub(crate) fn read(
        table: FaultTable,
        gpus: u32,
        start: SystemTime,
        place: &Place,
        functions: &[&str],
    ) -> Result<Self, String> {
        let window = Window::read(&table, start, place)?;
        let targets = targets(&table, gpus)?;
        refuse_strange_keys(&table)?;
        let function = table.function.as_deref().map(|name| known(name, functions)).transpose()?;
        let effect = match table.kind {
            Kind::Lost => Effect::Lost,
            Kind::Absent => Effect::Absent,
            Kind::Ecc => {
                Effect::Ecc { count: table.count.unwrap_or(1), corrected: table.corrected.unwrap_or(false) }
            }
            Kind::RemapPending => Effect::RemapPending,
            Kind::RemapFailed => Effect::RemapFailed,
            Kind::Set => Effect::Set(Box::new(table.set.ok_or("kind \"set\" needs set = { ... }")?)),
            Kind::Error => Effect::Error { code: table.error.ok_or("kind \"error\" needs error")?, function },
            Kind::Hang => Effect::Hang {
                lasts: table.hang_s.map(|given| seconds("hang_s", given)).transpose()?,
                function,
            },
        };
        Ok(Self { targets, effect, window })
    }

    /// Whether it hits a call about `gpu`, or, without one, a call about the whole library.
    pub(crate) fn hits(&self, gpu: Option<u32>) -> bool {
        match (&self.targets, gpu) {
            (None, _) => true,
            (Some(targets), Some(gpu)) => targets.contains(&gpu),
            (Some(_), None) => false,
        }
    }

    /// Changes what the GPU says of itself.
    pub(crate) fn apply(&self, values: &mut Values) {
        match &self.effect {
            Effect::Ecc { count, corrected } => add_ecc(values, *count, *corrected),
            Effect::RemapPending => {
                values.remap_pending = true;
                values.remap_uncorrected = values.remap_uncorrected.saturating_add(1);
                values.recovery_action = RecoveryAction::GpuReset;
            }
            Effect::RemapFailed => {
                values.remap_failed = true;
                values.recovery_action = RecoveryAction::NodeReboot;
            }
            Effect::Set(overrides) => overrides.apply(values),
            Effect::Lost | Effect::Absent | Effect::Error { .. } | Effect::Hang { .. } => {}
        }
    }
}

impl Effect {
    /// Whether it meddles with calls of `function`; `None` in the script means all of them.
    pub(crate) fn meddles(&self, function: &str) -> bool {
        match self {
            Self::Error { function: only, .. } | Self::Hang { function: only, .. } => {
                only.as_deref().is_none_or(|only| only == canonical(function))
            }
            _ => false,
        }
    }
}

/// A function's name without its version; functions that are one to a script share a name.
pub(crate) fn canonical(function: &str) -> &str {
    let base = match function.rsplit_once("_v") {
        Some((base, version)) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            base
        }
        _ => function,
    };
    match base {
        "nvmlInitWithFlags" => "nvmlInit",
        "nvmlDeviceGetCurrentClocksThrottleReasons" => "nvmlDeviceGetCurrentClocksEventReasons",
        _ => base,
    }
}

fn known(name: &str, functions: &[&str]) -> Result<String, String> {
    let wanted = canonical(name);
    if functions.iter().any(|function| canonical(function) == wanted) {
        Ok(wanted.to_owned())
    } else {
        Err(format!("this library has no function \"{name}\""))
    }
}

fn targets(table: &FaultTable, gpus: u32) -> Result<Option<Vec<u32>>, String> {
    let targets = match (table.gpu, &table.gpus) {
        (Some(_), Some(_)) => return Err("gpu and gpus exclude each other".to_owned()),
        (Some(gpu), None) => Some(vec![gpu]),
        (None, many) => many.clone(),
    };
    match targets.iter().flatten().find(|&&gpu| gpu >= gpus) {
        Some(gpu) => Err(format!("there is no GPU {gpu}: gpus = {gpus}, counted from 0")),
        None => Ok(targets),
    }
}

/// A key that its kind does not have is a mistake of the author.
fn refuse_strange_keys(table: &FaultTable) -> Result<(), String> {
    use Kind::{Ecc, Error, Hang, Set};
    let given: [(&str, bool, &[Kind]); 6] = [
        ("function", table.function.is_some(), &[Error, Hang]),
        ("error", table.error.is_some(), &[Error]),
        ("hang_s", table.hang_s.is_some(), &[Hang]),
        ("count", table.count.is_some(), &[Ecc]),
        ("corrected", table.corrected.is_some(), &[Ecc]),
        ("set", table.set.is_some(), &[Set]),
    ];
    match given.iter().find(|(_, given, kinds)| *given && !kinds.contains(&table.kind)) {
        Some((key, ..)) => Err(format!("a fault of this kind has no key {key}")),
        None if table.error == Some(Code::SUCCESS) => Err("SUCCESS is no error".to_owned()),
        None => Ok(()),
    }
}

fn add_ecc(values: &mut Values, count: u64, corrected: bool) {
    let (volatile, aggregate) = if corrected {
        (&mut values.ecc_corrected, &mut values.ecc_corrected_aggregate)
    } else {
        (&mut values.ecc_uncorrected, &mut values.ecc_uncorrected_aggregate)
    };
    *volatile = volatile.saturating_add(count);
    *aggregate = aggregate.saturating_add(count);
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn versions_and_twins_of_a_function_are_one_to_a_script() {
        assert_eq!(canonical("nvmlDeviceGetCount_v2"), "nvmlDeviceGetCount");
        assert_eq!(canonical("nvmlInitWithFlags"), "nvmlInit");
        assert_eq!(canonical("nvmlInit_v2"), "nvmlInit");
        assert_eq!(canonical("nvmlDeviceGetGpuFabricInfoV"), "nvmlDeviceGetGpuFabricInfoV");
        assert_eq!(canonical("x_v"), "x_v");
        assert_eq!(canonical("x_vy2"), "x_vy2");
    }
}
