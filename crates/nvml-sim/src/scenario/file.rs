//! The scenario as TOML has it, before anything is checked. `docs/nvml-sim.md` is its description.
use std::time::SystemTime;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::values::Overrides;
use super::words::Code;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioFile {
    pub(crate) format: u32,
    pub(crate) node: Option<String>,
    pub(crate) start: Option<Time>,
    #[serde(default = "eight")]
    pub(crate) gpus: u32,
    #[serde(default)]
    pub(crate) driver: Driver,
    #[serde(default)]
    pub(crate) gpu_defaults: Overrides,
    #[serde(default)]
    pub(crate) gpu: Vec<Overrides>,
    #[serde(default)]
    pub(crate) fault: Vec<FaultTable>,
}

fn eight() -> u32 {
    8
}

impl Default for ScenarioFile {
    /// Eight healthy GPUs.
    fn default() -> Self {
        Self {
            format: 1,
            node: None,
            start: None,
            gpus: eight(),
            driver: Driver::default(),
            gpu_defaults: Overrides::default(),
            gpu: Vec::new(),
            fault: Vec::new(),
        }
    }
}

/// Versions of the software.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Driver {
    /// Of the kernel driver.
    pub(crate) version: String,
    /// Of NVML.
    pub(crate) nvml: String,
    /// Of CUDA: 1000 x major + 10 x minor.
    pub(crate) cuda: i32,
}

impl Default for Driver {
    fn default() -> Self {
        Self { version: "580.95.05".to_owned(), nvml: "13.580.95.05".to_owned(), cuda: 13_000 }
    }
}

/// One `[[fault]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FaultTable {
    pub(crate) kind: Kind,
    pub(crate) gpu: Option<u32>,
    pub(crate) gpus: Option<Vec<u32>>,
    pub(crate) at: Option<Time>,
    pub(crate) when_file: Option<String>,
    pub(crate) until_file: Option<String>,
    pub(crate) after_s: Option<f64>,
    pub(crate) for_s: Option<f64>,
    pub(crate) function: Option<String>,
    pub(crate) error: Option<Code>,
    pub(crate) hang_s: Option<f64>,
    pub(crate) count: Option<u64>,
    pub(crate) corrected: Option<bool>,
    pub(crate) set: Option<Overrides>,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Lost,
    Absent,
    Ecc,
    RemapPending,
    RemapFailed,
    Set,
    Error,
    Hang,
}

/// A time with its offset, as a TOML date-time or in quotes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Time(pub(crate) SystemTime);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = match toml::Value::deserialize(from)? {
            toml::Value::Datetime(time) => time.to_string(),
            toml::Value::String(text) => text,
            other => return Err(D::Error::custom(format!("expected a time, found {}", other.type_str()))),
        };
        let time: jiff::Timestamp = text.parse().map_err(|error| {
            D::Error::custom(format!(
                "\"{text}\" is no time with an offset, as in 2026-03-01T10:00:00Z: {error}"
            ))
        })?;
        SystemTime::try_from(time).map(Self).map_err(D::Error::custom)
    }
}
