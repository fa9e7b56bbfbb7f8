//! A person or Slurm ended the run.
use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::ending::{Ending, Outside};
use crate::attribute::faults::Faults;
use crate::attribute::scene::{Scene, is_timeout};
use crate::attribute::{Discounted, Evidence};
use crate::{CauseClass, Code, Confidence, Provenance, Role};

/// Slurm's word for the run's end says who ended it; errors that came with it are the noise of taking it down.
pub(super) const ENDED_FROM_OUTSIDE: Rule = Rule { name: "ended_from_outside", tier: Tier::Outside, judge };

fn judge(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    let Ending::Outside(who) = scene.ending else { return None };
    let (class, confidence, why) = match who {
        Outside::Cancelled => (CauseClass::Unknown, Confidence::Probable, "the job was cancelled"),
        Outside::Preempted => {
            (CauseClass::Unknown, Confidence::Probable, "Slurm took the job's nodes for another job")
        }
        Outside::Requeued => {
            (CauseClass::Unknown, Confidence::Probable, "the job was put back into the queue")
        }
        // A job that stood still for its last part did not run out of time by its own doing.
        Outside::TimeLimit if stalled(scene) => {
            (CauseClass::Unknown, Confidence::Suspected, "the job stood still until its time limit")
        }
        Outside::TimeLimit => {
            (CauseClass::Application, Confidence::Probable, "the job reached its time limit")
        }
    };
    let mut claim = Claim::new(class, confidence, why);
    claim.at = scene.taken_down;
    claim.trusted = true;
    claim.evidence = vec![Evidence {
        time: scene.taken_down,
        node: None,
        code: Code::from("slurm.state"),
        text: format!("job state {}", scene.evidence.run.state),
        provenance: Provenance::Trusted,
        event: None,
    }];
    claim.discounted = noise(scene);
    Some(claim)
}

fn stalled(scene: &Scene<'_>) -> bool {
    scene.output().any(|seen| is_timeout(seen.code()))
}

/// One entry a code.
fn noise(scene: &Scene<'_>) -> Vec<Discounted> {
    let mut all: Vec<Discounted> = Vec::new();
    let kept =
        scene.output().filter(|seen| matches!(seen.event.role, Role::Root | Role::Either | Role::Symptom));
    for seen in kept.filter(|seen| !seen.code().starts_with("slurm.")) {
        match all.iter_mut().find(|other| other.evidence.code == seen.event.code) {
            Some(other) => other.count = other.count.saturating_add(seen.count),
            None => all.push(Discounted {
                evidence: scene.quote(seen),
                count: seen.count,
                why: "printed while the job was taken down".to_owned(),
            }),
        }
    }
    all
}
