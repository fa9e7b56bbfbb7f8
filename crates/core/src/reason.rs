//! Drain reasons. Ours carry a prefix; whatever does not is a person's or another program's and is left alone.
use crate::{Case, CaseId};

/// What every reason of ours begins with.
pub const PREFIX: &str = "slurm-triage: ";

/// Longest reason we write. slurmdbd keeps 255 bytes of it; tools cut earlier.
pub const MAX_LEN: usize = 199;

/// `slurm-triage: <code> <resource> [case <id>]`, ASCII, under 200 bytes. A drill says so.
pub fn for_case(case: &Case) -> String {
    let drill = if case.synthetic { " (drill)" } else { "" };
    let tail = format!(" [case {}]{drill}", case.id);
    let head = format!("{PREFIX}{} {}", case.code, case.resource);
    let mut reason: String = head.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
    reason.truncate(MAX_LEN.saturating_sub(tail.len()));
    reason + &tail
}

/// Whether we wrote the reason.
pub fn is_ours(reason: &str) -> bool {
    reason.starts_with(PREFIX)
}

/// The case a reason of ours names.
pub fn case_of(reason: &str) -> Option<CaseId> {
    let after = reason.strip_prefix(PREFIX)?.split_once("[case ")?.1;
    let id = after.split_once(']')?.0;
    (!id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit())).then(|| CaseId::from(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_read_back_from_its_reason() {
        let id = case_of("slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d]");
        assert_eq!(id, Some(CaseId::from("0a1b2c3d")));
    }

    #[test]
    fn what_a_person_writes_is_not_ours() {
        for reason in [
            "",
            "bad gpu",
            "slurm-triage",
            "NHC: slurm-triage: x [case 1]",
            "Prolog error",
            " slurm-triage: x",
        ] {
            assert!(!is_ours(reason), "{reason}");
            assert_eq!(case_of(reason), None, "{reason}");
        }
        assert_eq!(case_of("slurm-triage: x [case zz]"), None);
    }
}
