//! The file that tells which nodes share a switch, for the brake on drains below one (`max_per_switch`).
use std::path::{Path, PathBuf};

use triage_host::slurm::topology::{self, Place};

use super::super::finding::Findings;
use super::super::parts::Checkup;
use super::conf::Conf;

/// What follows from a file that does not tell.
const UNTIL: &str = "until it is mended no brake counts by switch ([brake] max_per_switch)";

pub(super) fn check(checkup: &Checkup<'_>, conf: Option<&Conf>, findings: &mut Findings) {
    let named = checkup.site.config.slurm.topology.as_ref();
    if let Some(path) = named.filter(|path| !path.exists()) {
        let what = format!("[slurm] topology: {}: no such file", path.display());
        return findings.warn(what, format!("correct it in triage.toml: {UNTIL}"));
    }
    let Some(path) = named.cloned().or_else(|| topology::beside(&slurm_conf(checkup, conf))) else { return };
    match topology::place_of(&path, &checkup.site.node) {
        Place::Below(switch) => findings.ok(format!(
            "{}: {} is below {}, with {} nodes",
            path.display(),
            checkup.site.node,
            switch.name,
            switch.nodes.len()
        )),
        Place::Unknown(why) => findings.warn(why, UNTIL),
        Place::Nowhere if path.exists() => findings.note(format!(
            "{}: names no switch for {}: no brake counts by switch here",
            path.display(),
            checkup.site.node
        )),
        Place::Nowhere => {}
    }
}

/// As the hooks find it: slurmd tells prolog and epilog the one that it was started with.
fn slurm_conf(checkup: &Checkup<'_>, conf: Option<&Conf>) -> PathBuf {
    let own = checkup.site.config.slurm.conf.clone();
    let own = own.or_else(|| std::env::var_os("SLURM_CONF").map(PathBuf::from));
    own.or_else(|| conf.map(|conf| conf.folder().join("slurm.conf")))
        .unwrap_or_else(|| Path::new("/etc/slurm/slurm.conf").to_owned())
}
