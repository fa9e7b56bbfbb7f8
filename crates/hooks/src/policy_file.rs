//! `policy.toml` from disk. A file that cannot be used never widens what we do: [`Policy::default`] is monitor mode.
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use triage_core::policy::{Command, Policy, Repair};
use triage_toml::{Fault, key_offset, line_column};

use crate::policy_words::hint;

pub use triage_toml::nearest;

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
    /// It is a folder, a pipe, a device.
    #[error("{}: this is no regular file: name the policy file itself", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
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
    #[error("{}{place}: rule {number} (\"{name}\"): {fault}", path.display())]
    Rule {
        /// The file.
        path: PathBuf,
        /// Where the rule begins, `:line:column`.
        place: String,
        /// Which one, from 1.
        number: usize,
        /// Its name.
        name: String,
        /// What is wrong, and what to write instead.
        fault: String,
    },
    /// A figure or a step makes no sense.
    #[error("{}{place}: {fault}", path.display())]
    Figure {
        /// The file.
        path: PathBuf,
        /// Where it stands, `:line:column`.
        place: String,
        /// What is wrong, and what to write instead.
        fault: String,
    },
    /// It was written for another version.
    #[error(
        "{}{place}: version = {found}: this slurm-triage knows version 1: install a later slurm-triage, or write the file for \
         version 1",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Where it stands, `:line:column`.
        place: String,
        /// The version found.
        found: u32,
    },
}

impl PolicyError {
    /// The same of the file that is to hold, with what follows from it.
    pub fn in_force(&self) -> String {
        let until = if matches!(self, Self::Read { .. }) { "it can be read" } else { "it is mended" };
        let told = self.to_string();
        let (joint, every) = if told.ends_with('?') { (" ", "Every") } else { ("; ", "every") };
        format!("{told}{joint}{every} decision is only written down until {until}")
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
        return Err(PolicyError::NoFile { path: path.to_owned() });
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
    let path = || path.to_owned();
    let policy: Policy = triage_toml::read(text)
        .map_err(|fault| PolicyError::Parse { path: path(), text: told(text, &fault) })?
        .value;
    if policy.version != 1 {
        let place = place_of(text, &["version"]);
        return Err(PolicyError::Version { path: path(), place, found: policy.version });
    }
    for (index, rule) in policy.rules.iter().enumerate() {
        if let Some(fault) = rule.fault() {
            let name = rule.name.clone();
            let place = place_of(text, &["rule", &index.to_string()]);
            return Err(PolicyError::Rule { path: path(), place, number: index + 1, name, fault });
        }
    }
    match policy.fault() {
        Some(fault) => Err(PolicyError::Figure { path: path(), place: place_of_fault(text, &policy), fault }),
        None => Ok(policy),
    }
}

/// Where what [`Policy::fault`] tells of stands.
fn place_of_fault(text: &str, policy: &Policy) -> String {
    if policy.brake.fault().is_some() {
        return place_of(text, &["brake", "max_share"]);
    }
    let is_bad =
        |test: &Command| Repair { verify: vec![test.clone()], ..Repair::default() }.fault().is_some();
    match policy.repair.verify.iter().position(is_bad) {
        Some(index) => place_of(text, &["repair", "verify", &index.to_string()]),
        None => place_of(text, &["repair", "reset_command"]),
    }
}

/// `:line:column` of a key.
fn place_of(text: &str, key: &[&str]) -> String {
    let (line, column) = line_column(text, key_offset(text, key).unwrap_or(0));
    format!(":{line}:{column}")
}

/// Names a policy by what it says: sixteen hex digits. A comment or the order of keys changes nothing.
pub fn digest(policy: &Policy) -> String {
    let said = serde_json::to_string(policy).unwrap_or_default();
    format!("{:016x}", triage_core::digest([said.as_bytes()]))
}

/// `:line:column: message` of a TOML error, on one line.
fn told(text: &str, fault: &Fault) -> String {
    let mut message = fault.message.trim().replace('\n', " ");
    if let Some(hint) = hint(&fault.key, &message) {
        message = format!("{message}; {hint}");
    }
    let (line, column) = line_column(text, fault.at);
    let key = if fault.key.is_empty() { String::new() } else { format!("{}: ", fault.key) };
    format!(":{line}:{column}: {key}{message}")
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
        assert!(error.starts_with("policy.toml:3:1: rule 1"), "{error}");
        let error = parse("version = 1\n[[rule]]\nname = \"r\"\nhours = [\"25-3\"]\n").unwrap_err();
        assert!(error.starts_with("policy.toml:4:") && error.contains("write \"22-06\""), "{error}");
        let error = parse("version = 1\n[[rule]]\nname = \"r\"\nnodes = [\"n[1-\"]\n").unwrap_err();
        assert!(error.contains("is no list of nodes"), "{error}");
    }

    /// docs/policy.md promises path, line and column of whatever makes a policy unusable, and what to write instead.
    #[test]
    fn whatever_makes_a_policy_unusable_is_told_with_its_place_and_a_remedy() {
        let verify = "[[repair.verify]]\nname = \"a\"\ncommand = [\"/bin/a\"]\n";
        for (text, place, remedy) in [
            ("\nversion = 2\n", "2:1", "install a later slurm-triage"),
            ("[brake]\nmax_share = 10\n", "3:1", "from 0 to 1"),
            (&format!("{verify}{verify}deadline_s = 900\n"), "5:1", "not between 1 and 600"),
            ("[repair]\nreset = \"act\"\nreset_command = { name = \"r\" }\n", "4:1", "absolute path"),
            ("[brake]\nmax_nodes = \"3\"\n", "3:13", "write a whole number"),
            ("[brake]\nmax_share = \"3\"\n", "3:13", "write a number"),
            ("[[rule]]\nname = \"r\"\ncode = \"xid.79\"\n", "4:8", "write a list"),
            ("[[rule]]\nname = 7\n", "3:8", "in quotes"),
            ("[job]\nlast_line = \"yes\"\n", "3:13", "write true or false"),
            ("[brake]\nmax_nodes = 3\nmax_nodes = 4\n", "4:1", "duplicate key `max_nodes`; say it once"),
            ("brake = 7\n", "2:9", "in brackets"),
            (
                "rule = [{ name = \"a\" }, { name = \"r\", job = \"drain\" }]\n",
                "2:25",
                "use none, note, requeue",
            ),
            ("[repair]\nverify = [\"/bin/x\"]\n", "3:11", "{ key = value }"),
        ] {
            let text =
                if text.contains("version") { text.to_owned() } else { format!("version = 1\n{text}") };
            let error = parse(&text).unwrap_err();
            assert!(error.starts_with(&format!("policy.toml:{place}: ")), "{text:?}: {error}");
            assert!(error.contains(remedy), "{text:?}: {error}");
        }
    }

    #[test]
    fn what_is_no_file_is_said_to_be_none() {
        let error = read_any(Path::new("/")).unwrap_err().to_string();
        assert_eq!(error, "/: this is no regular file: name the policy file itself");
    }

    #[test]
    fn what_follows_is_a_sentence_whatever_went_before() {
        let error = super::parse(Path::new("p"), "version = 1\n[brake]\nmax_node = 3\n").unwrap_err();
        assert!(error.in_force().contains("\"max_nodes\"? Every decision"), "{}", error.in_force());
        let error = super::parse(Path::new("p"), "version = 2\n").unwrap_err();
        assert!(error.in_force().contains("version 1; every decision"), "{}", error.in_force());
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
