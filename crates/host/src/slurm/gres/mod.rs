//! The GPUs Slurm is told of: `gres.conf`, and `slurm.conf`'s `Gres=` where slurmd looks for them itself.
//!
//! gres.conf(5): a line names files or a count; `NodeName` narrows it to nodes; `MultipleFiles` makes one resource of several
//! files; `AutoDetect` leaves the rest to slurmd, and the count is then what `slurm.conf` promises.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use triage_core::NodeName;
use triage_core::facts::Sheet;
use triage_core::facts::gres::{ConfiguredGpus, GresFacts};

use super::conf::{self, Line, applies_to, node_pairs};
use super::hostlist;
use crate::proc::Root;

/// Where slurmd's copy of a configless cluster's files is, and where packages put them.
const PLACES: &[&str] =
    &["/run/slurm/conf/slurm.conf", "/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf"];

/// The `slurm.conf` of this machine: the one that is named, else the first of the usual places that exists.
pub fn slurm_conf(root: &Root, named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(path) => Some(path.to_owned()),
        None => PLACES.iter().map(|place| root.at(place)).find(|path| path.is_file()),
    }
}

/// What Slurm's files say of the node's GPUs. `slurm_conf` is the file whose folder also has `gres.conf`, which need not be
/// there.
pub fn read(slurm_conf: &Path, node: &NodeName) -> Sheet<GresFacts> {
    let slurm = match conf::read(slurm_conf) {
        Ok(lines) => lines,
        Err(error) => return Sheet::blind(error.to_string()),
    };
    let gres = match conf::read(&slurm_conf.with_file_name("gres.conf")) {
        Ok(lines) => lines,
        Err(error) if error.is_missing() => Vec::new(),
        Err(error) => return Sheet::blind(error.to_string()),
    };
    Sheet::read(GresFacts { gpus: judge(&slurm, &gres, node) })
}

fn judge(slurm: &[Line], gres: &[Line], node: &NodeName) -> Option<ConfiguredGpus> {
    let promised = node_pairs(slurm, node).and_then(|pairs| promised(pairs.get("gres")?));
    let named = named(gres, node);
    // slurm.conf is what slurmctld schedules by. gres.conf alone makes no GPU, but it knows their files.
    match promised {
        Some(promised) => Some(ConfiguredGpus {
            files: named.files,
            autodetect: named.autodetect,
            nvidia: named.nvidia,
            mig: named.mig || promised.mig,
            from: if named.count > 0 && named.count == promised.count { "gres.conf" } else { "slurm.conf" }
                .to_owned(),
            types: if named.types.is_empty() { promised.types } else { named.types },
            ..promised
        }),
        None => None,
    }
}

/// `gpu:h100:8(S:0-1),gpu:2,shard:16` as counts. A name alone means one.
fn promised(gres: &str) -> Option<ConfiguredGpus> {
    let mut gpus = ConfiguredGpus { from: "slurm.conf".to_owned(), ..ConfiguredGpus::default() };
    for item in outside_parentheses(gres).split(',') {
        let parts: Vec<&str> = item.trim().split(':').filter(|part| *part != "no_consume").collect();
        let (kind, of_type, number) = match parts[..] {
            ["gpu"] => (None, None, 1),
            ["gpu", last] => match count(last) {
                Some(number) => (None, None, number),
                None => (Some(last), Some(last), 1),
            },
            ["gpu", kind, number, ..] => (Some(kind), Some(kind), count(number).unwrap_or(0)),
            _ => continue,
        };
        gpus.count = gpus.count.saturating_add(number);
        gpus.mig |= kind.is_some_and(is_mig_profile);
        if let Some(kind) = of_type {
            let total = gpus.types.entry(kind.to_owned()).or_default();
            *total = total.saturating_add(number);
        }
    }
    (gpus.count > 0).then_some(gpus)
}

/// The text without `(S:0-1)` and `(null)`.
fn outside_parentheses(text: &str) -> String {
    let mut depth = 0_u32;
    text.chars()
        .filter(|c| match c {
            '(' => {
                depth += 1;
                false
            }
            ')' => {
                depth = depth.saturating_sub(1);
                false
            }
            _ => depth == 0,
        })
        .collect()
}

/// What the lines of `gres.conf` name.
fn named(lines: &[Line], node: &NodeName) -> ConfiguredGpus {
    let mut gpus = ConfiguredGpus { from: "gres.conf".to_owned(), ..ConfiguredGpus::default() };
    let mut files = BTreeSet::new();
    for line in lines {
        if line.get("NodeName").is_some_and(|list| !applies_to(list, node)) {
            continue;
        }
        if let Some(how) = line.get("AutoDetect") {
            gpus.autodetect = !how.eq_ignore_ascii_case("off");
            gpus.nvidia |= ["nvml", "nvidia"].iter().any(|word| how.eq_ignore_ascii_case(word));
        }
        if !line.get("Name").is_some_and(|name| name.eq_ignore_ascii_case("gpu")) {
            continue;
        }
        let number = gpus_of_line(line, &mut files, &mut gpus.mig);
        gpus.count = gpus.count.saturating_add(number);
        if let Some(kind) = line.get("Type") {
            gpus.mig |= is_mig_profile(kind);
            let total = gpus.types.entry(kind.to_owned()).or_default();
            *total = total.saturating_add(number);
        }
    }
    gpus.nvidia |= !files.is_empty();
    gpus.files = files.into_iter().collect();
    gpus
}

/// How many GPUs one line makes; the numbers of their device files go into `files`.
fn gpus_of_line(line: &Line, files: &mut BTreeSet<u32>, mig: &mut bool) -> u32 {
    let counted = line.get("Count").and_then(count);
    if let Some(list) = line.get("MultipleFiles") {
        let names = paths(list);
        *mig |= names.iter().any(|name| name.contains("nvidia-cap"));
        files.extend(names.iter().filter_map(|name| device_number(name)));
        return counted.unwrap_or(1);
    }
    let names = line.get("File").map(paths).unwrap_or_default();
    *mig |= names.iter().any(|name| name.contains("nvidia-cap"));
    files.extend(names.iter().filter_map(|name| device_number(name)));
    match u32::try_from(names.len()) {
        Ok(0) | Err(_) => counted.unwrap_or(1),
        Ok(number) => counted.unwrap_or(number),
    }
}

/// `/dev/nvidia[0-3],/dev/nvidia7` as names. A path is no node name, so only what is behind the last slash is expanded.
fn paths(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    for item in split_outside_brackets(list) {
        let (folder, name) = item.rsplit_once('/').map_or(("", item), |(folder, name)| (folder, name));
        match hostlist::expand(name) {
            Ok(expanded) => names.extend(expanded.iter().map(|name| format!("{folder}/{name}"))),
            Err(_) => names.push(item.to_owned()),
        }
    }
    names
}

fn split_outside_brackets(list: &str) -> Vec<&str> {
    let mut inside = false;
    let parts = list.split(move |c: char| {
        inside = if c == '[' { true } else { inside && c != ']' };
        c == ',' && !inside
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn device_number(path: &str) -> Option<u32> {
    path.strip_prefix("/dev/nvidia")?.parse().ok()
}

/// `8`, `2K`. Slurm's suffixes are powers of 1024.
fn count(text: &str) -> Option<u32> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' | b'K' => (text.get(..text.len() - 1)?, 1024),
        b'm' | b'M' => (text.get(..text.len() - 1)?, 1024 * 1024),
        _ => (text, 1),
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u32>().ok()?.checked_mul(factor)
}

/// `1g.10gb`, `h100_3g.40gb`, `1c.2g.20gb`: a type that names a MIG profile.
fn is_mig_profile(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let slices = |part: &str| {
        part.strip_suffix('g')
            .is_some_and(|before| before.bytes().next_back().is_some_and(|b| b.is_ascii_digit()))
    };
    let mut parts = kind.split('.').peekable();
    while let Some(part) = parts.next() {
        let memory = parts.peek().and_then(|next| next.split_once("gb"));
        let is_memory =
            |(digits, _): (&str, &str)| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if slices(part) && memory.is_some_and(is_memory) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
