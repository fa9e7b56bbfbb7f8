//! `policy.toml` from disk. A file that cannot be used never widens what we do: [`Policy::default`] is monitor mode.
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use triage_core::policy::Policy;
use triage_toml::{Fault, line_column};

use crate::policy_words::{hint, line_of};

/// Largest policy file read. A site's table of rules is a few KiB.
const MAX_BYTES: u64 = 1024 * 1024;

/// Why a policy file is not used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// It could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// Somebody but root could have written it, and it says what root does.
    #[error(
        "{}: others than root can write it: chown root and chmod go-w it",
        path.display()
    )]
    Unsafe {
        /// The file.
        path: PathBuf,
    },
    /// It is too large to be one.
    #[error("{}: larger than 1 MiB: this is no policy", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not TOML, or has keys or words this version does not know.
    #[error("{}{text}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// `:line:column: what`.
        text: String,
    },
    /// A rule makes no sense.
    #[error("{}:{line}: rule {number} (\"{name}\"): {fault}", path.display())]
    Rule {
        /// The file.
        path: PathBuf,
        /// Where the rule begins, from 1.
        line: usize,
        /// Which one, from 1.
        number: usize,
        /// Its name.
        name: String,
        /// What is wrong, and what to write instead.
        fault: String,
    },
    /// A figure or a step makes no sense.
    #[error("{}: {fault}", path.display())]
    Figure {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to write instead.
        fault: String,
    },
    /// It was written for another version.
    #[error("{}: version = {found}: this program knows version 1; upgrade it, or write the file for version 1", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: u32,
    },
}

impl PolicyError {
    /// The same of the file that is to hold, with what follows from it.
    pub fn in_force(&self) -> String {
        let until = if matches!(self, Self::Read { .. }) { "it can be read" } else { "it is mended" };
        format!("{self}; every decision is only written down until {until}")
    }
}

/// Reads and checks a policy. A file that is not there is the default policy.
///
/// # Errors
/// When the file is there and cannot be used.
pub fn load(path: &Path) -> Result<Policy, PolicyError> {
    match read(path, true) {
        Ok(text) => parse(path, &text),
        Err(PolicyError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Policy::default())
        }
        Err(error) => Err(error),
    }
}

/// Reads and checks a policy that nobody acts by: whoever may write it, it is only tried out.
///
/// # Errors
/// When it cannot be read or used.
pub fn read_any(path: &Path) -> Result<Policy, PolicyError> {
    parse(path, &read(path, false)?)
}

fn read(path: &Path, must_be_safe: bool) -> Result<String, PolicyError> {
    let failed = |source| PolicyError::Read { path: path.to_owned(), source };
    // Non-blocking, so that a FIFO in its place does not hold the hook.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(failed(std::io::Error::from(std::io::ErrorKind::InvalidInput)));
    }
    if must_be_safe && nix::unistd::geteuid().is_root() && (meta.mode() & 0o022 != 0 || meta.uid() != 0) {
        return Err(PolicyError::Unsafe { path: path.to_owned() });
    }
    let mut text = String::new();
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if read as u64 > MAX_BYTES {
        return Err(PolicyError::TooLarge { path: path.to_owned() });
    }
    Ok(text)
}

/// Checks the text of a policy file; `path` is for messages.
///
/// # Errors
/// When it cannot be used.
pub fn parse(path: &Path, text: &str) -> Result<Policy, PolicyError> {
    let policy: Policy = triage_toml::read(text)
        .map_err(|fault| PolicyError::Parse { path: path.to_owned(), text: place(text, &fault) })?
        .value;
    if policy.version != 1 {
        return Err(PolicyError::Version { path: path.to_owned(), found: policy.version });
    }
    for (index, rule) in policy.rules.iter().enumerate() {
        if let Some(fault) = rule.fault() {
            let name = rule.name.clone();
            let line = line_of(text, "[[rule]]", index).unwrap_or(1);
            return Err(PolicyError::Rule { path: path.to_owned(), line, number: index + 1, name, fault });
        }
    }
    match policy.fault() {
        Some(fault) => Err(PolicyError::Figure { path: path.to_owned(), fault }),
        None => Ok(policy),
    }
}

/// Names a policy by what it says: sixteen hex digits. A comment or the order of keys changes nothing.
pub fn digest(policy: &Policy) -> String {
    let said = serde_json::to_string(policy).unwrap_or_default();
    format!("{:016x}", triage_core::digest([said.as_bytes()]))
}

/// `:line:column: message` of a TOML error, on one line.
fn place(text: &str, fault: &Fault) -> String {
    let mut message = fault.message.replace('\n', " ");
    if let Some(hint) = hint(&message) {
        message = format!("{message}; {hint}");
    }
    let (line, column) = line_column(text, fault.at);
    format!(":{line}:{column}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use triage_core::Mode;
    use triage_core::policy::DEFAULT_POLICY;

    fn parse(text: &str) -> Result<Policy, String> {
        super::parse(Path::new("policy.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_shipped_file_says_what_holds_without_it() {
        assert_eq!(parse(DEFAULT_POLICY), Ok(Policy::default()));
    }

    #[test]
    fn a_missing_file_is_the_default() {
        assert_eq!(load(Path::new("/nonexistent/policy.toml")).unwrap(), Policy::default());
    }

    #[test]
    fn what_others_can_write_never_makes_root_act() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.toml");
        std::fs::write(&path, "version = 1\n[mode]\ndefault = \"act\"\n").unwrap();
        for (mode, safe) in [(0o600, true), (0o644, true), (0o664, false), (0o646, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            // Who is not root does nothing that root's file would have to be safe for.
            let safe = safe || !nix::unistd::geteuid().is_root();
            assert_eq!(load(&path).is_ok(), safe, "{mode:o}");
        }
    }

    #[test]
    fn a_policy_that_is_no_file_does_not_hold_the_hook() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("policy.toml");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        assert!(load(&fifo).is_err());
        assert!(load(folder.path()).is_err());
    }

    #[test]
    fn errors_tell_line_and_column() {
        let error = parse("version = 1\n[mode]\ndefault = \"acting\"\n").unwrap_err();
        assert!(error.starts_with("policy.toml:3:11: "), "{error}");
        let error = parse("version = 1\n\n[[rule]]\nname = \"r\"\njob = \"drain\"\n").unwrap_err();
        assert!(error.starts_with("policy.toml:3: rule 1"), "{error}");
        let error = parse("version = 1\n[[rule]]\nname = \"r\"\nhours = [\"25-3\"]\n").unwrap_err();
        assert!(error.starts_with("policy.toml:4:") && error.contains("write \"22-06\""), "{error}");
        let error = parse("version = 1\n[[rule]]\nname = \"r\"\nnodes = [\"n[1-\"]\n").unwrap_err();
        assert!(error.contains("is no list of nodes"), "{error}");
        let error = parse("version = 1\n[brake]\nmax_share = 10\n").unwrap_err();
        assert!(error.contains("policy.toml:3:") || error.contains("0 to 1"), "{error}");
    }

    #[test]
    fn an_unknown_key_is_refused_since_it_may_be_a_misspelt_brake() {
        assert!(
            parse("version = 1\n[[rule]]\nname = \"r\"\ncofidence = \"confirmed\"\n")
                .unwrap_err()
                .contains("did you mean \"confidence\"?")
        );
    }

    #[test]
    fn a_rule_that_makes_no_sense_is_refused() {
        let error = parse("version = 1\n[[rule]]\nname = \"r\"\nnode = \"requeue\"\n").unwrap_err();
        assert!(
            error.contains("rule 1 (\"r\")")
                && error.contains("use none, note, drain, reboot_when_idle or down"),
            "{error}"
        );
    }

    #[test]
    fn another_version_is_refused() {
        assert!(parse("version = 2\n").unwrap_err().contains("knows version 1"));
    }

    #[test]
    fn act_is_a_choice_for_each_action() {
        let policy = parse("version = 1\n[mode]\ndrain = \"act\"\n").unwrap();
        assert_eq!(policy.mode.of(triage_core::Intent::Drain), Mode::Act);
        assert_eq!(policy.mode.of(triage_core::Intent::Requeue), Mode::Monitor);
    }
}
