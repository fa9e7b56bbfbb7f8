//! One line of `scontrol -o show`: `Key=Value Key=Value ...`.

use std::collections::BTreeMap;

/// A job, node or partition as scontrol shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record(BTreeMap<String, String>);

impl Record {
    /// Reads one line. A value may hold spaces: it ends where a word of letters and `/:_-` is followed by `=`.
    pub(crate) fn parse(line: &str) -> Self {
        let mut fields: Vec<(String, String)> = Vec::new();
        for word in line.trim_end().split(' ') {
            match word.split_once('=') {
                Some((key, value)) if is_key(key) => fields.push((key.to_owned(), value.to_owned())),
                _ => {
                    if let Some((_, value)) = fields.last_mut() {
                        value.push(' ');
                        value.push_str(word);
                    }
                }
            }
        }
        Self(fields.into_iter().map(|(k, v)| (k, v.trim_end().to_owned())).collect())
    }

    /// The value of `key`, empty when scontrol did not show it.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    /// The state's words: `IDLE+DRAIN` is `["IDLE", "DRAIN"]`; a `*` (not responding) is left out.
    pub(crate) fn states(&self) -> Vec<&str> {
        let value = if self.0.contains_key("JobState") { self.get("JobState") } else { self.get("State") };
        value.split(['+', ',']).map(|w| w.trim_matches(['*', '~', '#', '$', '@'])).collect()
    }

    /// Whether `word` is among the state's words.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.states().contains(&word)
    }

    /// Forgets `key`.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|(key, value)| writeln!(f, "{key}={value}"))
    }
}

fn is_key(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "/:_-".contains(c))
}

#[test]
fn values_may_hold_spaces_and_equal_signs() {
    let line = "NodeName=n1 OS=Linux 6.1 #1 SMP CfgTRES=cpu=64,gres/gpu=8 ReqB:S:C:T=0:0:*:* Reason=bad gpu, a=b [root@2026-01-01T00:00:00] ";
    let record = Record::parse(line);
    assert_eq!(record.get("OS"), "Linux 6.1 #1 SMP");
    assert_eq!(record.get("CfgTRES"), "cpu=64,gres/gpu=8");
    assert_eq!(record.get("ReqB:S:C:T"), "0:0:*:*");
    assert_eq!(record.get("Reason"), "bad gpu, a=b [root@2026-01-01T00:00:00]");
    assert_eq!(record.get("Comment"), "");
}

#[test]
fn states_are_words() {
    assert_eq!(Record::parse("NodeName=n1 State=IDLE*+DRAIN").states(), ["IDLE", "DRAIN"]);
    assert!(Record::parse("JobId=1 JobState=RUNNING").is("RUNNING"));
}
