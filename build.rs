//! Stamps the git revision into `slurm-triage --version`. A tarball without git still builds.
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=.git/HEAD");
    println!("cargo::rerun-if-env-changed=TRIAGE_REVISION");
    let revision = std::env::var("TRIAGE_REVISION").ok().or_else(git_revision);
    let suffix = revision.map(|r| format!(" ({r})")).unwrap_or_default();
    println!("cargo::rustc-env=TRIAGE_VERSION={}{suffix}", env!("CARGO_PKG_VERSION"));
}

fn git_revision() -> Option<String> {
    let out = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    out.status.success().then(|| text.trim().to_owned()).filter(|t| !t.is_empty())
}
