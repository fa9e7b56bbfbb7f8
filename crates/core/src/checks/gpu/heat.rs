//! Heat, power, persistence: what makes a healthy GPU slow.
use super::super::{Check, CheckInput, Findings, Threshold};
use super::{GPU, gpus, resource};
use crate::CauseClass;

/// Throttle reasons that point to cooling or power supply. A power cap is the normal state of a busy GPU.
const BAD_REASONS: &[(&str, &str)] = &[
    ("hw_slowdown", "hardware slowdown"),
    ("hw_thermal", "hardware thermal slowdown"),
    ("hw_power_brake", "power brake asserted from outside"),
    ("sw_thermal", "software thermal slowdown"),
];

/// A reason has to last: it also shows for an instant when load sets in.
pub(in super::super) const THROTTLE: Check = Check {
    name: "gpu_throttle",
    finds: "clocks held down by heat or by the power supply",
    bad_for_s: 300,
    evaluate: throttle,
    ..GPU
};

fn throttle(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in gpus(input, findings) {
        let Some(active) = &gpu.throttle else { continue };
        let bad = BAD_REASONS.iter().filter(|(word, _)| active.iter().any(|reason| reason == word));
        let words: Vec<&str> = bad.map(|(_, words)| *words).collect();
        if !words.is_empty() {
            findings.likely(resource(gpu), format!("GPU {}: {}", gpu.index, words.join(", ")));
        }
    }
}

/// Near the temperature at which the hardware slows down.
pub(in super::super) const TEMPERATURE: Check = Check {
    name: "gpu_temperature",
    finds: "too near the temperature at which the hardware slows down",
    threshold: Some(Threshold {
        value: 2.0,
        unit: "degrees Celsius below the slowdown temperature, at most",
        source: "ours; others warn at the slowdown temperature or at 93 degrees",
    }),
    bad_for_s: 120,
    evaluate: temperature,
    ..GPU
};

fn temperature(input: &CheckInput<'_>, findings: &mut Findings) {
    let mut hottest = None;
    for gpu in gpus(input, findings) {
        let Some((now, limit)) = gpu.temperature_c.zip(gpu.temperature_slowdown_c) else { continue };
        hottest = hottest.max(Some(now));
        if f64::from(limit) - f64::from(now) <= input.setting.threshold {
            findings.likely(
                resource(gpu),
                format!("GPU {}: {now} degrees, hardware slows down at {limit}", gpu.index),
            );
        }
    }
    if let Some(hottest) = hottest {
        findings.value(format!("hottest {hottest} degrees"));
    }
}

/// A kernel that waits for another GPU's word looks busy and draws little: the mark of a collective that hangs. Tells where
/// to look, accuses nobody.
pub(in super::super) const SPINNING: Check = Check {
    name: "gpu_spinning",
    finds: "a GPU all busy at little power for half an hour, as in a collective that hangs",
    class: CauseClass::Unknown,
    threshold: Some(Threshold {
        value: 30.0,
        unit: "% of the power limit, at most",
        source: "ours; a waiting kernel draws about a fifth of the limit, a working one most of it",
    }),
    bad_for_s: 1_800,
    good_for_s: 0,
    evaluate: spinning,
    ..GPU
};

fn spinning(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in gpus(input, findings).into_iter().filter(|gpu| gpu.utilization.is_some_and(|busy| busy >= 99))
    {
        let Some((now, limit)) = gpu.power_mw.zip(gpu.power_limit_mw).filter(|(_, limit)| *limit > 0) else {
            continue;
        };
        let share = f64::from(now) * 100.0 / f64::from(limit);
        if share <= input.setting.threshold {
            findings.suspect(
                resource(gpu),
                format!("GPU {}: all busy at {} W of {} W", gpu.index, now / 1_000, limit / 1_000),
            );
        }
    }
}

/// Without it the driver unloads the GPU between jobs: each job waits seconds for it, and counters begin anew.
pub(in super::super) const PERSISTENCE: Check = Check {
    name: "gpu_persistence",
    finds: "persistence mode is off",
    class: CauseClass::System,
    evaluate: persistence,
    ..GPU
};

fn persistence(input: &CheckInput<'_>, findings: &mut Findings) {
    for gpu in gpus(input, findings).into_iter().filter(|gpu| gpu.persistence == Some(false)) {
        findings.certain(resource(gpu), format!("GPU {}: persistence mode is off", gpu.index));
    }
}
