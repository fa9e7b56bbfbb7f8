//! Drain reasons. Ours carry a prefix; whatever does not is a person's or another program's and is left alone.
use crate::{Case, CaseId, Resource};

/// What every reason of ours begins with.
pub const PREFIX: &str = "slurm-triage: ";

/// Behind the case of a drill.
const DRILL: &str = " (drill)";

/// Before what a person had written.
const WAS: &str = " (was: ";

/// Longest reason we write. slurmdbd keeps 255 bytes of it; tools cut earlier.
pub const MAX_LEN: usize = 199;

/// `slurm-triage: <code> <resource> [case <id>]`, ASCII, under 200 bytes. A drill says so.
pub fn for_case(case: &Case) -> String {
    let drill = if case.synthetic { DRILL } else { "" };
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

/// What slurmctld adds when it boots the node.
const OF_SLURM: [&str; 4] =
    [" : reboot requested", " : reboot issued", " : reboot complete", " : reboot timed out"];

/// The case a reason of ours names. Where a person has written something behind it (`... [case 0a1b] keep out, Ann`),
/// the drain is theirs from then on, and the reason names no case of ours.
pub fn case_of(reason: &str) -> Option<CaseId> {
    let after = reason.strip_prefix(PREFIX)?.split_once("[case ")?.1;
    let (id, behind) = after.split_once(']')?;
    (is_ours_too(behind.trim_end()) && !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit()))
        .then(|| CaseId::from(id))
}

/// Whether what stands behind the case is our own word or slurmctld's: that it is a drill, what a person had written
/// before us ([`with_earlier`]), that the node is booted.
fn is_ours_too(behind: &str) -> bool {
    let behind = behind.strip_prefix(DRILL).unwrap_or(behind);
    let behind = match behind.strip_prefix(WAS) {
        Some(earlier) => earlier.split_once(')').map(|(_, behind)| behind),
        None => Some(behind),
    };
    let Some(mut behind) = behind else { return false };
    while let Some(rest) = OF_SLURM.iter().find_map(|word| behind.strip_prefix(word)) {
        behind = rest;
    }
    behind.is_empty()
}

/// `ours`, with what somebody had written on a node that was in service: Slurm has room for one reason only, and theirs
/// must not be lost.
pub fn with_earlier(ours: &str, theirs: &str) -> String {
    // A bracket of theirs would end what is kept of it.
    let kept = |c: char| match c {
        '(' => Some('['),
        ')' => Some(']'),
        c => (c.is_ascii_graphic() || c == ' ').then_some(c),
    };
    let theirs: String = theirs.chars().filter_map(kept).collect();
    let room = MAX_LEN.saturating_sub(ours.len() + WAS.len() + 1);
    if theirs.trim().is_empty() || is_ours(&theirs) || room < 8 {
        return ours.to_owned();
    }
    // ASCII, so any length is a character boundary.
    format!("{ours}{WAS}{})", theirs.get(..room).unwrap_or(&theirs).trim())
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
        for behind in [
            "",
            " ",
            " (drill)",
            " (was: slow fan)",
            " : reboot issued",
            " (drill) (was: [x] fan) : reboot requested : reboot issued",
        ] {
            assert_eq!(case_of(&format!("{ours}{behind}")), Some(CaseId::from("0a1b2c3d")), "{behind}");
        }
        for behind in [
            " keep out, Ann",
            " - RMA 4711",
            "; bob: memtest",
            ", [case 1]",
            "x",
            " (drill) keep out",
            " (was: fan) keep out (Ann)",
            " (was: fan",
            " : reboot issued, not by me",
        ] {
            assert_eq!(case_of(&format!("{ours}{behind}")), None, "{behind}");
        }
    }

    #[test]
    fn what_a_person_wrote_on_a_node_in_service_is_kept() {
        let ours = "slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d]";
        assert_eq!(with_earlier(ours, ""), ours);
        assert_eq!(with_earlier(ours, "slurm-triage: older [case 1]"), ours);
        let kept = with_earlier(ours, "watch the (left) fan,\nsays Bob [case 1]");
        assert_eq!(kept, format!("{ours} (was: watch the [left] fan,says Bob [case 1])"));
        for theirs in ["x".repeat(1_000), ")".repeat(300), "fan) keep out (".to_owned()] {
            let kept = with_earlier(ours, &theirs);
            assert!(kept.len() <= MAX_LEN);
            assert_eq!(case_of(&kept), Some(CaseId::from("0a1b2c3d")), "{kept}");
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
