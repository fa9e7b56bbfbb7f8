//! What a rule says, and how the best of several claims is found.
use super::faults::Faults;
use super::scene::{Scene, TOGETHER};
use super::{Discounted, Evidence, Fault};
use crate::arrange::Arrange as _;
use crate::{CauseClass, Confidence, Resource, Stamp};

/// One rule: looks at everything, and says what it thinks happened, or nothing.
pub(super) struct Rule {
    /// Its name, shown with every verdict it makes.
    pub(super) name: &'static str,
    /// How specific its claims are.
    pub(super) tier: Tier,
    /// The rule itself.
    pub(super) judge: fn(&Scene<'_>, &Faults) -> Option<Claim>,
}

/// How much a claim says. A claim of a lower tier counts only when none of a higher one is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    /// There is nothing to explain.
    Nothing,
    /// A device, a port, a process or a line of code is named. Among these the earliest wins.
    Specific,
    /// The run was held back rather than broken.
    Slow,
    /// A person or Slurm ended the run.
    Outside,
    /// Earlier runs say what this one does not.
    History,
    /// Only symptoms, and their pattern.
    Pattern,
    /// Nothing of the run itself; something happened next to it.
    Rest,
}

/// What a rule says.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) class: CauseClass,
    pub(super) confidence: Confidence,
    /// Nodes to blame, by their place in the job's list.
    pub(super) culprits: Vec<(usize, Option<Resource>)>,
    /// When the cause acted; `None`: not known.
    pub(super) at: Option<Stamp>,
    /// Rests on trusted evidence.
    pub(super) trusted: bool,
    /// Rests on numbers alone: likely, never certain.
    pub(super) statistical: bool,
    pub(super) evidence: Vec<Evidence>,
    pub(super) discounted: Vec<Discounted>,
    /// Faults of nodes that follow from the claim.
    pub(super) faults: Vec<Fault>,
    /// What happened, one or two lines for a person.
    pub(super) why: Vec<String>,
}

impl Claim {
    /// A claim that names nobody yet.
    pub(super) fn new(class: CauseClass, confidence: Confidence, why: impl Into<String>) -> Self {
        Self {
            class,
            confidence,
            culprits: Vec::new(),
            at: None,
            trusted: false,
            statistical: false,
            evidence: Vec::new(),
            discounted: Vec::new(),
            faults: Vec::new(),
            why: vec![why.into()],
        }
    }

    /// A trusted source says that a node is at fault, and the run ended of it: that is the second, independent witness.
    pub(super) fn is_borne_out(&self) -> bool {
        self.trusted
            && !self.statistical
            && self.confidence == Confidence::Probable
            && !self.culprits.is_empty()
            && matches!(self.class, CauseClass::Hardware | CauseClass::System)
    }
}

/// The claim that decides, with the rule that made it.
pub(super) fn decide(
    scene: &Scene<'_>,
    faults: &Faults,
    rules: &'static [Rule],
) -> Option<(&'static Rule, Claim)> {
    let mut tiers: Vec<Tier> = rules.iter().map(|rule| rule.tier).collect();
    tiers.arrange();
    tiers.dedup();
    tiers.into_iter().find_map(|tier| {
        let claims: Vec<(&Rule, Claim)> = rules
            .iter()
            .filter(|rule| rule.tier == tier)
            .filter_map(|rule| Some((rule, (rule.judge)(scene, faults)?)))
            .filter(|(_, claim)| tier != Tier::Specific || in_time(scene, claim))
            .collect();
        earliest(claims)
    })
}

/// What comes after a run began to be taken down from outside did not end it.
fn in_time(scene: &Scene<'_>, claim: &Claim) -> bool {
    match (scene.taken_down, claim.at) {
        (Some(down), Some(at)) => at < down.plus_micros(-TOGETHER / 3),
        // What cannot be dated is a cause only where the evidence is not the job's own.
        (Some(_), None) => claim.trusted,
        (None, _) => true,
    }
}

/// The earliest claim. Of those that are as early as can be told, trusted evidence outranks the job's own word, and
/// then the order of the rules decides. A claim without a time comes last.
fn earliest(claims: Vec<(&'static Rule, Claim)>) -> Option<(&'static Rule, Claim)> {
    let time = |claim: &Claim| claim.at.unwrap_or(Stamp::from_micros(i64::MAX));
    let first = claims.iter().map(|(_, claim)| time(claim)).min()?;
    let mut abreast: Vec<(&Rule, Claim)> =
        claims.into_iter().filter(|(_, claim)| time(claim).micros_since(first) <= TOGETHER).collect();
    abreast.arrange_by_key(|(_, claim)| !claim.trusted);
    abreast.into_iter().next()
}
