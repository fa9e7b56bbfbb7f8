//! A run that went well needs no explanation.
use crate::attribute::claim::{Claim, Rule, Tier};
use crate::attribute::ending::Ending;
use crate::attribute::faults::Faults;
use crate::attribute::scene::Scene;
use crate::{CauseClass, Confidence};

/// Slurm says the run completed: whatever was printed on the way did not matter. Faults of its nodes still count
/// against the nodes.
pub(super) const WENT_WELL: Rule = Rule { name: "went_well", tier: Tier::Nothing, judge };

fn judge(scene: &Scene<'_>, _: &Faults) -> Option<Claim> {
    (scene.ending == Ending::Completed).then(|| {
        Claim::new(CauseClass::None, Confidence::Confirmed, "it completed: there is nothing to explain")
    })
}
