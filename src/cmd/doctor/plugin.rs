//! The SPANK plugin: there, of this Slurm's release, and in the plugin stack.
//!
//! Slurm skips a plugin of another release silently, so nobody notices but who looks here.
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use triage_host::config::Config;
use triage_host::slurm::Scontrol;

use super::elf;
use super::finding::Findings;
use super::parts::Checkup;
use super::paths::{self, Kind};
use super::plugstack::{self, Entry};
use super::slurm::conf::Conf;

/// The plugin's file.
const FILE: &str = "spank_triage.so";
/// Where it writes unless it is told otherwise (docs/spank.md).
const DEFAULT_SPOOL: &str = "/run/slurm-triage/spool";
/// Largest plugin that is read, bytes. Ours is below 1 MB.
const MAX_FILE: u64 = 64 * 1024 * 1024;

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let scontrol = checkup.scontrol();
    let path = checkup.site.config.paths.libexec.join(FILE);
    if path.exists() {
        version(&path, &scontrol, findings);
        paths::safe(findings, &path, Kind::File);
    } else {
        findings.warn(
            format!(
                "{}: not there, so it is not recorded which task ended first, and --triage= is unknown",
                path.display()
            ),
            "build it against this Slurm's headers and install it (docs/install.md)",
        );
    }
    stack(checkup, &scontrol, findings);
}

fn version(path: &Path, scontrol: &Scontrol<'_>, findings: &mut Findings) {
    let Some(built_for) = read(path).and_then(|file| elf::number(&file, "plugin_version")) else {
        findings.fail(
            format!("{}: no plugin of Slurm: it holds no plugin_version", path.display()),
            "install the plugin anew",
        );
        return;
    };
    let told = match scontrol.version() {
        Ok(told) => told,
        Err(error) => return findings.fail(error.to_string(), "see the check of paths"),
    };
    let Some(running) = release(&told) else {
        findings.warn(
            format!("scontrol -V says \"{told}\", which is no version"),
            "compare it with the plugin's by hand",
        );
        return;
    };
    let (major, minor, micro) = (built_for >> 16 & 0xff, built_for >> 8 & 0xff, built_for & 0xff);
    let built = format!("{}: built for Slurm {major}.{minor:02}.{micro}", path.display());
    // Slurm compares the first two numbers for a plugin of this kind.
    if (major, minor) == running {
        findings.ok(format!("{built}, and this is {told}"));
    } else {
        findings.fail(
            format!("{built}, but this is {told}: Slurm skips it without a word"),
            "build it against this release's headers (SLURM_INCLUDE), and install that one",
        );
    }
}

/// Major and minor number out of `slurm-wlm 22.05.8`.
fn release(told: &str) -> Option<(u32, u32)> {
    let version = told.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut numbers = version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = Vec::new();
    File::open(path).ok()?.take(MAX_FILE).read_to_end(&mut file).ok()?;
    Some(file)
}

fn stack(checkup: &Checkup<'_>, scontrol: &Scontrol<'_>, findings: &mut Findings) {
    let conf = if checkup.offline { None } else { scontrol.config().ok().map(|text| Conf::parse(&text)) };
    let named = conf.as_ref().and_then(|conf| conf.get("PlugStackConfig")).map(Into::into);
    let folder = conf.as_ref().map_or_else(|| own_folder(checkup), Conf::folder);
    let file = named.unwrap_or_else(|| folder.join("plugstack.conf"));
    let spool = spool(checkup);
    let argument =
        if Path::new(&spool) == Path::new(DEFAULT_SPOOL) { String::new() } else { format!(" spool={spool}") };
    let remedy = format!(
        "optional {}{argument} in plugstack.conf, or in a file that it includes",
        checkup.site.config.paths.libexec.join(FILE).display()
    );
    match plugstack::entries(&file, FILE) {
        Err(error) => findings
            .warn(format!("{}: cannot be read ({error}): the plugin is not loaded", file.display()), remedy),
        Ok(entries) if entries.is_empty() => {
            findings.warn(format!("{}: does not mention {FILE}: it is not loaded", file.display()), remedy);
        }
        Ok(entries) => entries.iter().for_each(|entry| judge(checkup, entry, findings)),
    }
}

fn own_folder(checkup: &Checkup<'_>) -> PathBuf {
    let conf =
        checkup.site.config.slurm.conf.clone().or_else(|| std::env::var_os("SLURM_CONF").map(Into::into));
    conf.and_then(|conf| conf.parent().map(Path::to_owned)).unwrap_or_else(|| "/etc/slurm".into())
}

/// Where the plugin is to write, as it can stand in a plugstack.conf that all nodes share: with %n, where triage.toml has it.
fn spool(checkup: &Checkup<'_>) -> String {
    let shared = Config::load(&checkup.site.config_path).map(|loaded| loaded.config).unwrap_or_default();
    shared.paths.run.join("spool").display().to_string()
}

fn judge(checkup: &Checkup<'_>, entry: &Entry, findings: &mut Findings) {
    let place = format!("{}:{}", entry.file.display(), entry.line);
    if entry.required {
        findings.fail(
            format!("{place}: the plugin is required: should it not load, slurmd does not start and job steps fail"),
            "write optional instead of required",
        );
    }
    let path = Path::new(&entry.plugin);
    if path.is_absolute() && !path.exists() {
        findings.fail(
            format!("{place}: {} is not there", entry.plugin),
            "correct the path, or install the plugin",
        );
    } else if !entry.required {
        findings.ok(format!("{place}: optional {}", entry.plugin));
    }
    let ours = checkup.site.config.paths.run.join("spool");
    let theirs = entry.spool.as_deref().unwrap_or(DEFAULT_SPOOL).replace("%n", checkup.site.node.as_str());
    if Path::new(&theirs) != ours {
        findings.fail(
            format!("{place}: the plugin writes to {theirs}, and the hooks read {}", ours.display()),
            format!("spool={} behind the plugin, or [paths] run in triage.toml", spool(checkup)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_as_distributions_write_them() {
        for (told, release) in [
            ("slurm-wlm 22.05.8", Some((22, 5))),
            ("slurm 24.11.5", Some((24, 11))),
            ("slurm 25.11.0-0rc1", Some((25, 11))),
            ("slurm 26.05-pre", None),
            ("slurm", None),
            ("", None),
        ] {
            assert_eq!(super::release(told), release, "{told}");
        }
    }

    #[test]
    fn the_version_of_slurms_own_plugins_is_read_where_there_are_any() {
        let Ok(plugins) = fs::read_dir("/usr/lib/x86_64-linux-gnu/slurm-wlm") else { return };
        let plugins = plugins
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "so"));
        let versions = plugins.filter_map(|path| elf::number(&read(&path)?, "plugin_version"));
        for version in versions.collect::<std::collections::BTreeSet<u32>>() {
            assert!(
                (20..=60).contains(&(version >> 16)) && matches!(version >> 8 & 0xff, 2 | 5 | 8 | 11),
                "{version:#x}"
            );
        }
    }
}
