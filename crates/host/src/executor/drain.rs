//! Taking a node out, and lifting our own drain.
use triage_core::{CaseId, NodeName, Outcome, reason};

use super::Executor;

impl Executor<'_> {
    pub(super) fn drain(&self, node: &NodeName, wanted: &str) -> Outcome {
        let record = match self.scontrol.node(node) {
            Ok(record) => record,
            Err(error) => return self.failed_but_harmless_to_repeat(&error),
        };
        if record.is_out() && reason::is_ours(&record.reason) {
            return self.done(format!("out already by our own drain: \"{}\"", record.reason));
        }
        if record.is_out() {
            return self
                .left_alone(format!("out already for another reason, left alone: \"{}\"", record.reason));
        }
        let reason = reason::with_earlier(wanted, &record.reason);
        match self.scontrol.drain(node, &reason) {
            Ok(()) => self.done(format!("drained: \"{reason}\"")),
            Err(error) => self.failed_but_harmless_to_repeat(&error),
        }
    }

    /// `from_down`: we had set it down for this case as well.
    pub(super) fn resume(&self, node: &NodeName, case: &CaseId, from_down: bool) -> Outcome {
        let record = match self.scontrol.node(node) {
            Ok(record) => record,
            Err(error) => return self.failed_but_harmless_to_repeat(&error),
        };
        if !record.is_out() {
            return self.done("in service already");
        }
        if reason::case_of(&record.reason).as_ref() != Some(case) {
            return self
                .left_alone(format!("not our drain for this case, left alone: \"{}\"", record.reason));
        }
        let is = |word: &str| record.state.iter().any(|state| state == word);
        // What Slurm or a person set down, or fenced, is not ours to bring up.
        let back = if from_down && is("DOWN") && !is("FAIL") && !is("FAILING") {
            self.scontrol.resume(node)
        } else {
            self.scontrol.undrain(node)
        };
        match back {
            Ok(()) => self.done("our drain is lifted"),
            Err(error) => self.failed_but_harmless_to_repeat(&error),
        }
    }
}
