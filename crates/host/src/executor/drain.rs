//! Taking a node out, and lifting our own drain.
use triage_core::{CaseId, NodeName, Outcome, reason};

use super::Executor;

impl Executor<'_> {
    pub(super) fn drain(&self, node: &NodeName, wanted: &str) -> Outcome {
        let record = match self.scontrol.node(node) {
            Ok(record) => record,
            Err(error) => return self.failed(&error),
        };
        if record.is_out() && reason::is_ours(&record.reason) {
            return self.done(format!("out already by our own drain: \"{}\"", record.reason));
        }
        if record.is_out() {
            return self
                .left_alone(format!("out already for another reason, left alone: \"{}\"", record.reason));
        }
        let reason = keeping(&record.reason, wanted);
        match self.scontrol.drain(node, &reason) {
            Ok(()) => self.done(format!("drained: \"{reason}\"")),
            Err(error) => self.failed_but_harmless_to_repeat(&error),
        }
    }

    pub(super) fn resume(&self, node: &NodeName, case: &CaseId) -> Outcome {
        let record = match self.scontrol.node(node) {
            Ok(record) => record,
            Err(error) => return self.failed(&error),
        };
        if !record.is_out() {
            return self.done("in service already");
        }
        if reason::case_of(&record.reason).as_ref() != Some(case) {
            return self
                .left_alone(format!("not our drain for this case, left alone: \"{}\"", record.reason));
        }
        match self.scontrol.undrain(node) {
            Ok(()) => self.done("our drain is lifted"),
            Err(error) => self.failed_but_harmless_to_repeat(&error),
        }
    }
}

/// Our reason, with what somebody had written on a node that was in service: Slurm has room for one reason only, and
/// theirs must not be lost.
fn keeping(theirs: &str, ours: &str) -> String {
    let theirs: String = theirs.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
    let room = reason::MAX_LEN.saturating_sub(ours.len() + " (was: )".len());
    if theirs.trim().is_empty() || reason::is_ours(&theirs) || room < 8 {
        return ours.to_owned();
    }
    // ASCII, so any length is a character boundary.
    format!("{ours} (was: {})", theirs.get(..room).unwrap_or(&theirs).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_wrote_on_a_node_in_service_is_kept() {
        let ours = "slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d]";
        assert_eq!(keeping("", ours), ours);
        assert_eq!(keeping("slurm-triage: older [case 1]", ours), ours);
        let kept = keeping("watch the fan,\nsays Bob", ours);
        assert_eq!(kept, format!("{ours} (was: watch the fan,says Bob)"));
        assert_eq!(reason::case_of(&kept), Some(CaseId::from("0a1b2c3d")));
        assert!(keeping(&"x".repeat(1_000), ours).len() <= reason::MAX_LEN);
    }
}
