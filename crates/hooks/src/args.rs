//! The command line of a hook. slurmd gives it none; the options are for tests, drills and wrappers.
use std::ffi::OsString;
use std::path::PathBuf;

/// Where the configuration is unless `--config` says otherwise.
pub const DEFAULT_CONFIG: &str = "/etc/slurm-triage/triage.toml";

/// What a hook was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookArgs {
    /// Run one pass.
    Run {
        /// The configuration file.
        config: PathBuf,
    },
    /// Carry out one action that takes long: clear a requeued job's begin time, reset a GPU, run the site's tests.
    /// Internal: a hook starts it and does not wait for it.
    Finish {
        /// The configuration file.
        config: PathBuf,
        /// The key of the action's intent in the ledger.
        key: String,
    },
    /// Put a drill into the ledger, or end one. Internal: `slurm-triage inject` asks for it.
    Drill {
        /// The configuration file.
        config: PathBuf,
        /// What is asked for, as JSON.
        order: String,
    },
    /// Print this and leave.
    Print(String),
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// An argument that is not known, in words.
pub fn parse(program: &str, args: impl IntoIterator<Item = OsString>) -> Result<HookArgs, String> {
    let mut config = PathBuf::from(DEFAULT_CONFIG);
    let (mut key, mut order) = (None, None);
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = |name: &str| args.next().ok_or_else(|| format!("{name} needs a value"));
        match arg.to_str() {
            Some("--config") => config = value("--config")?.into(),
            Some("--finish") => {
                key = Some(value("--finish")?.to_string_lossy().into_owned());
            }
            Some("--drill") => {
                order = Some(value("--drill")?.to_string_lossy().into_owned());
            }
            Some("--help" | "-h") => return Ok(HookArgs::Print(help(program))),
            Some("--version" | "-V") => {
                return Ok(HookArgs::Print(format!("{program} {}", env!("CARGO_PKG_VERSION"))));
            }
            _ => return Err(format!("unknown argument {}: try {program} --help", arg.display())),
        }
    }
    Ok(match (key, order) {
        (Some(key), _) => HookArgs::Finish { config, key },
        (None, Some(order)) => HookArgs::Drill { config, order },
        (None, None) => HookArgs::Run { config },
    })
}

fn help(program: &str) -> String {
    format!(
        "Usage: {program} [--config PATH]\n\nRun by slurmd, see slurm.conf(5): Prolog, Epilog, HealthCheckProgram. \
         Exits 0 whatever happens to it; only triage-prolog exits 1, to refuse a job.\n\n  --config PATH   \
         configuration, default {DEFAULT_CONFIG}\n  --version       print the version\n\nExample:\n  \
         SLURMD_NODENAME=n1 {program} --config ./triage.toml"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<HookArgs, String> {
        super::parse("triage-prolog", args.iter().map(OsString::from))
    }

    #[test]
    fn slurmd_gives_none() {
        assert_eq!(parse(&[]), Ok(HookArgs::Run { config: DEFAULT_CONFIG.into() }));
    }

    #[test]
    fn what_is_not_known_is_said() {
        assert!(parse(&["--confg", "x"]).unwrap_err().contains("--confg"));
        assert!(parse(&["--config"]).unwrap_err().contains("needs a value"));
    }
}
