//! The configuration file.
use triage_host::config::{Config, ConfigError};

use super::finding::Findings;
use super::parts::Checkup;
use super::paths::{self, Kind};

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let path = &checkup.site.config_path;
    match Config::load(path) {
        Ok(loaded) => {
            findings.ok(format!("{}: read; this is node {}", path.display(), checkup.site.node));
            for warning in &loaded.warnings {
                findings.warn(
                    warning.to_string(),
                    "correct it there: until then it has no effect, or another one than it says",
                );
            }
            paths::safe(findings, path, Kind::File);
        }
        Err(error @ ConfigError::Missing { .. }) => {
            findings.warn(error.to_string(), "until then built-in defaults and monitor mode hold");
        }
        Err(error) => {
            let told = format!("{:#}", anyhow::Error::from(error));
            findings.fail(told, "until it is mended built-in defaults and monitor mode hold");
        }
    }
}
