//! `scontrol show config`: `Key  = value` lines; since 24.05 a key that may stand several times has a number behind it.
use std::path::{Path, PathBuf};

/// The controller's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct Conf {
    lines: Vec<(String, String)>,
}

impl Conf {
    /// From scontrol's answer. Lines in another form, such as headings, are left out.
    pub(in super::super) fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| {
            let (key, value) = line.split_once('=')?;
            let key = key.trim().split('[').next().unwrap_or_default();
            let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            let value = value.trim();
            let set = !matches!(value, "" | "(null)" | "N/A" | "none" | "NONE");
            (plain && set).then(|| (key.to_owned(), value.to_owned()))
        });
        Self { lines: lines.collect() }
    }

    /// Every value of a key that is set, in order.
    pub(in super::super) fn all(&self, key: &str) -> Vec<&str> {
        self.lines
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(key))
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// The last value of a key.
    pub(in super::super) fn get(&self, key: &str) -> Option<&str> {
        self.all(key).pop()
    }

    /// The number a value begins with: `60 sec`.
    pub(in super::super) fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.split_whitespace().next()?.parse().ok()
    }

    /// A value's parts between commas.
    pub(in super::super) fn words(&self, key: &str) -> Vec<&str> {
        self.get(key).map_or_else(Vec::new, |value| value.split(',').map(str::trim).collect())
    }

    /// The folder of slurm.conf, in which relative paths begin.
    pub(in super::super) fn folder(&self) -> PathBuf {
        let file = self.get("SLURM_CONF").map_or(Path::new("/etc/slurm/slurm.conf"), Path::new);
        file.parent().unwrap_or(Path::new("/etc/slurm")).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ANSWER: &str = "Configuration data as of 2026-03-01T10:00:00\n\
        HealthCheckInterval     = 60 sec\n\
        HealthCheckNodeState    = ANY,CYCLE\n\
        Prolog[0]               = /a\n\
        Prolog[1]               = /b=c\n\
        Epilog                  = (null)\n\
        SLURM_CONF              = /opt/slurm/etc/slurm.conf\n\
        \n\
        Cgroup Support Configuration:\n";

    #[test]
    fn keys_with_a_number_are_one_key_with_several_values() {
        let conf = Conf::parse(ANSWER);
        assert_eq!(conf.all("Prolog"), ["/a", "/b=c"]);
        assert_eq!(conf.number("HealthCheckInterval"), Some(60));
        assert_eq!(conf.words("HealthCheckNodeState"), ["ANY", "CYCLE"]);
        assert_eq!(conf.folder(), Path::new("/opt/slurm/etc"));
    }

    #[test]
    fn null_is_not_a_value() {
        let conf = Conf::parse(ANSWER);
        assert_eq!(conf.get("Epilog"), None);
        assert!(conf.words("Epilog").is_empty());
    }

    proptest! {
        #[test]
        fn any_answer_is_read(text in "(.{0,40}\n){0,8}") {
            let conf = Conf::parse(&text);
            let _ = (conf.number("a"), conf.words("a"), conf.folder());
        }
    }
}
