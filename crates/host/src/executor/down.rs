//! Setting a node down, which ends the jobs on it. Only after its drain stood for a moment: what is taken back then
//! costs nobody a job.
use triage_core::fleet::{self, Limit};
use triage_core::{CaseId, NodeName, NodeRecord, Outcome, reason};

use super::Executor;
use crate::clock::Deadline;

impl Executor<'_> {
    pub(super) fn down(
        &self,
        node: &NodeName,
        case: &CaseId,
        limits: &[Limit],
        deadline: Deadline,
    ) -> Outcome {
        let (mine, nodes) = match self.once_settled(node, deadline) {
            Ok(told) => told,
            Err(later) => return later,
        };
        if !mine.is_out() {
            return self.later("the node is not drained yet, or not any more");
        }
        if reason::case_of(&mine.reason).as_ref() != Some(case) {
            return self.left_alone(format!("not our drain for this case, left alone: \"{}\"", mine.reason));
        }
        if is_down(&mine) {
            return self.done("down already");
        }
        if let Some(why) = fleet::held(&self.all_limits(limits, &mine, &nodes), &nodes, node) {
            return self.left_alone(format!("one too many, so nothing on it is ended: {why}"));
        }
        // The same words as the drain's: the reason goes on telling the case, and nothing of it is lost.
        match self.scontrol.down(node, &mine.reason) {
            Ok(()) => self.done("set down: Slurm ends the jobs on it"),
            Err(error) => self.failed_but_harmless_to_repeat(&error),
        }
    }
}

fn is_down(record: &NodeRecord) -> bool {
    record.state.iter().any(|word| word == "DOWN")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use triage_core::fleet::Scope;
    use triage_core::{Action, DecisionId, Stamp};

    use super::*;
    use crate::runner::{Finished, RunError};
    use crate::slurm::Scontrol;
    use crate::testkit::{FakeClock, Scripted, answered, failed};

    const OURS: &str = "slurm-triage: xid.79 gpu [case 0a1b2c3d]";
    const OTHER: &str = "slurm-triage: xid.48 gpu [case ffffffff]";

    fn record(node: &str, state: &str, reason: &str, at: i64) -> String {
        format!("NodeName={node} State={state} Partitions=p Reason={reason} [root@{at}]\n")
    }

    fn ids() -> (NodeName, CaseId, DecisionId) {
        (NodeName::from("n2"), CaseId::from("0a1b2c3d"), DecisionId::from("d"))
    }

    /// What came of `action`, and what the controller was asked.
    fn execute(action: &Action, answers: Vec<Result<Finished, RunError>>) -> (Outcome, Vec<String>) {
        let runner = Scripted::in_order(answers);
        let clock = FakeClock::at(Stamp::from_secs(1_800_000_100));
        let program = "/usr/bin/scontrol".into();
        let scontrol = Scontrol { runner: &runner, program, conf: None, deadline: Duration::from_secs(3) };
        let deadline = Deadline::after(&clock, Duration::from_secs(60));
        let outcome =
            Executor { scontrol, clock: &clock, output: None, site: None }.execute(action, deadline);
        (outcome, runner.asked())
    }

    fn down() -> Action {
        let (node, case, decision) = ids();
        Action::Down { node, case, limits: vec![Limit { most: 1, scope: Scope::Cluster }], decision }
    }

    #[test]
    fn a_drained_node_is_set_down_with_the_words_of_its_drain() {
        let nodes = record("n1", "IDLE", "", 0) + &record("n2", "MIXED+DRAIN", OURS, 50);
        let (outcome, asked) = execute(&down(), vec![answered(&nodes), answered("")]);
        assert!(outcome.done, "{}", outcome.answer);
        assert_eq!(
            asked,
            ["-o show node".to_owned(), format!("update NodeName=n2 State=DOWN Reason={OURS}")]
        );
    }

    #[test]
    fn a_node_that_is_one_too_many_or_not_ours_keeps_its_jobs() {
        let cases = [
            (record("n1", "IDLE+DRAIN", OTHER, 40) + &record("n2", "MIXED+DRAIN", OURS, 50), false),
            (record("n2", "MIXED+DRAIN", "bad fan", 50), false),
            (record("n2", "MIXED+DRAIN", OTHER, 50), false),
            (record("n2", "MIXED+DRAIN", &format!("{OURS} keep out, Ann"), 50), false),
            // The drain may still be on its way.
            (record("n2", "MIXED", "", 0), true),
        ];
        for (nodes, again) in cases {
            let (outcome, asked) = execute(&down(), vec![answered(&nodes)]);
            assert_eq!((outcome.done, outcome.retry, asked.len()), (false, again, 1), "{nodes}");
        }
    }

    #[test]
    fn a_node_that_was_set_down_before_a_crash_is_found_so() {
        let (outcome, asked) = execute(&down(), vec![answered(&record("n2", "DOWN+DRAIN", OURS, 50))]);
        assert_eq!((outcome.done, asked.len()), (true, 1));
        let away = "slurm_load_node error: Unable to contact slurm controller (connect failure)";
        let (outcome, _) = execute(&down(), vec![failed(away)]);
        assert!(outcome.retry && !outcome.done);
    }

    #[test]
    fn what_we_set_down_comes_up_again_and_what_others_did_does_not() {
        let (node, case, decision) = ids();
        for (from_down, state, word) in [
            (true, "DOWN+DRAIN", "RESUME"),
            (true, "IDLE+DRAIN", "UNDRAIN"),
            (true, "DOWN+DRAIN+FAIL", "UNDRAIN"),
            (false, "DOWN+DRAIN", "UNDRAIN"),
        ] {
            let (node, case, decision) = (node.clone(), case.clone(), decision.clone());
            let action = Action::Resume { node, case, from_down, decision };
            let (outcome, asked) =
                execute(&action, vec![answered(&record("n2", state, OURS, 50)), answered("")]);
            assert!(outcome.done, "{}", outcome.answer);
            assert_eq!(asked.last(), Some(&format!("update NodeName=n2 State={word}")), "{state}");
        }
    }
}
