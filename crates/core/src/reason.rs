//! Drain reasons. Ours carry a prefix; whatever does not is a person's or another program's and is left alone.
use crate::{Case, CaseId, Resource};

/// What every reason of ours begins with.
pub const PREFIX: &str = "slurm-triage: ";

/// Longest reason we write. slurmdbd keeps 255 bytes of it; tools cut earlier.
pub const MAX_LEN: usize = 199;

/// `slurm-triage: <code> <resource> [case <id>]`, ASCII, under 200 bytes. A drill says so.
pub fn for_case(case: &Case) -> String {
    let drill = if case.synthetic { " (drill)" } else { "" };
    text(case.code.as_str(), &case.resource, case.id.as_str(), drill)
}

fn text(code: &str, resource: &Resource, id: &str, drill: &str) -> String {
    let tail = format!(" [case {id}]{drill}");
    let head = format!("{PREFIX}{code} {resource}");
    let mut reason: String = head.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
    // A path may hold what the case is read back by, and paths are also users' to choose.
    reason = reason.replace('[', "(").replace(']', ")");
    reason.truncate(MAX_LEN.saturating_sub(tail.len()));
    reason + &tail
}

/// Whether we wrote the reason.
pub fn is_ours(reason: &str) -> bool {
    reason.starts_with(PREFIX)
}

/// What may stand behind our own words: that it is a drill, what a person had written before us, and what slurmctld adds
/// when it boots the node.
const BEHIND: [&str; 3] = [" (drill)", " (was: ", " : reboot "];

/// The case a reason of ours names. Where a person has written something behind it (`... [case 0a1b] keep out, Ann`),
/// the drain is theirs from then on, and the reason names no case of ours.
pub fn case_of(reason: &str) -> Option<CaseId> {
    let after = reason.strip_prefix(PREFIX)?.split_once("[case ")?.1;
    let (id, behind) = after.split_once(']')?;
    let behind = behind.trim_end();
    let is_ours = behind.is_empty() || BEHIND.iter().any(|known| behind.starts_with(known.trim_end()));
    (is_ours && !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit())).then(|| CaseId::from(id))
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
    fn what_slurm_and_we_write_behind_a_case_leaves_it_ours_and_what_a_person_writes_does_not() {
        let ours = "slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d]";
        for behind in
            ["", " ", " (drill)", " (was: slow fan)", " : reboot issued", " (drill) : reboot issued"]
        {
            assert_eq!(case_of(&format!("{ours}{behind}")), Some(CaseId::from("0a1b2c3d")), "{behind}");
        }
        for behind in [" keep out, Ann", " - RMA 4711", "; bob: memtest", ", [case 1]", "x"] {
            assert_eq!(case_of(&format!("{ours}{behind}")), None, "{behind}");
        }
    }

    #[test]
    fn a_path_that_imitates_a_case_names_none() {
        for path in ["/home/u/[case dead]", "/home/u/] [case 1] (drill)", "[case"] {
            let resource = Resource::Fs(path.to_owned());
            let reason = text("check.mount_readonly", &resource, "0a1b2c3d", "");
            assert_eq!(case_of(&reason), Some(CaseId::from("0a1b2c3d")), "{reason}");
        }
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
