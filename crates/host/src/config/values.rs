//! Values with bounds. An error made here gets the value's place in the file from the TOML reader.
use std::path::PathBuf;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error};

/// slurmd kills HealthCheckProgram after 60 s; what is left is for the program's own end.
const HEALTHCHECK_MAX_MS: u64 = 58_000;

fn within<'de, D: Deserializer<'de>>(d: D, least: u64, most: u64, unit: &str) -> Result<u64, D::Error> {
    let value = u64::deserialize(d)?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(D::Error::custom(format!("{value} is out of bounds: write {least} to {most} ({unit})")))
}

pub(super) fn millis<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    within(d, 1, 3_600_000, "milliseconds").map(Duration::from_millis)
}

pub(super) fn healthcheck_millis<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    within(d, 1, HEALTHCHECK_MAX_MS, "milliseconds; slurmd kills HealthCheckProgram after 60000")
        .map(Duration::from_millis)
}

pub(super) fn seconds<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
    within(d, 1, 86_400, "seconds").map(Duration::from_secs)
}

pub(super) fn kib<'de, D: Deserializer<'de>>(d: D) -> Result<usize, D::Error> {
    let kib = within(d, 64, 1024 * 1024, "KiB")?;
    usize::try_from(kib * 1024).map_err(D::Error::custom)
}

pub(super) fn output_kib<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
    within(d, 0, 65_536, "KiB").map(|kib| kib * 1024)
}

/// The bound keeps a reader and the program that waits for it small.
pub(super) fn output_mib<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
    within(d, 1, 256, "MiB").map(|mib| mib * 1024 * 1024)
}

pub(super) fn days<'de, D: Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
    within(d, 1, 36_500, "days").and_then(|days| u32::try_from(days).map_err(D::Error::custom))
}

pub(super) fn megabytes<'de, D: Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
    within(d, 4, 1_000_000, "MB").and_then(|mb| u32::try_from(mb).map_err(D::Error::custom))
}

pub(super) fn path<'de, D: Deserializer<'de>>(d: D) -> Result<PathBuf, D::Error> {
    let text = clean(String::deserialize(d)?)?;
    if text.starts_with('/') {
        return Ok(text.into());
    }
    Err(D::Error::custom(format!("\"{text}\" is not absolute: begin the path with /")))
}

/// Empty means none, so that the shipped file can show the key.
pub(super) fn optional_path<'de, D: Deserializer<'de>>(d: D) -> Result<Option<PathBuf>, D::Error> {
    let text = clean(String::deserialize(d)?)?;
    match text.as_str() {
        "" => Ok(None),
        _ if text.starts_with('/') => Ok(Some(text.into())),
        _ => Err(D::Error::custom(format!(
            "\"{text}\" is not absolute: begin the path with /, or leave it empty"
        ))),
    }
}

/// A bare name is looked up by the dynamic linker; a relative path would depend on the working directory.
pub(super) fn library<'de, D: Deserializer<'de>>(d: D) -> Result<PathBuf, D::Error> {
    let text = clean(String::deserialize(d)?)?;
    if !text.is_empty() && (text.starts_with('/') || !text.contains('/')) {
        return Ok(text.into());
    }
    Err(D::Error::custom(format!("\"{text}\" names no library: write a file name or an absolute path")))
}

fn clean<E: Error>(text: String) -> Result<String, E> {
    if text.chars().any(char::is_control) {
        return Err(E::custom("the path holds a control character: remove it"));
    }
    Ok(text)
}
