//! What a check sees.
use super::{CheckSettings, CheckState, Expect, Findings, ItemState, Setting};
use crate::baseline::Baseline;
use crate::facts::NodeFacts;
use crate::pipeline::{Input, Trigger};
use crate::reading::NvmlReading;
use crate::{BootId, JobSpan, NodeName, Payload, Resource, SourceKind, Stamp};

/// The checks' part of a pass's input.
#[derive(Debug, Clone, Copy)]
pub struct Checking<'a> {
    /// The checks are made. Otherwise nothing was read, as in a drill, and what the site says of them still holds back the
    /// cases they have opened.
    pub made: bool,
    /// What was read in this pass.
    pub facts: &'a NodeFacts,
    /// What an earlier pass read, for rates: the last one that is kept, of whatever boot.
    pub before: Option<&'a NodeFacts>,
    /// What the node should have.
    pub expect: &'a Expect,
    /// What the node had when it was admitted.
    pub baseline: Option<&'a Baseline>,
    /// What the site says of single checks.
    pub settings: &'a CheckSettings,
    /// The last result of every check.
    pub last: &'a [CheckState],
}

/// What one check sees.
#[derive(Debug, Clone, Copy)]
pub struct CheckInput<'a> {
    /// The moment of the facts.
    pub now: Stamp,
    /// This node.
    pub node: &'a NodeName,
    /// This boot.
    pub boot: &'a BootId,
    /// Which program runs.
    pub trigger: Trigger,
    /// What was read in this pass.
    pub facts: &'a NodeFacts,
    /// What an earlier pass of this boot read.
    pub before: Option<&'a NodeFacts>,
    /// This pass's sweep over NVML.
    pub nvml: Option<&'a NvmlReading>,
    /// Why there is no sweep in this pass although one was tried.
    pub nvml_blind: Option<&'a str>,
    /// The sweep before it, in this boot.
    pub nvml_before: Option<&'a NvmlReading>,
    /// What the node should have.
    pub expect: &'a Expect,
    /// What the node had when it was admitted.
    pub baseline: Option<&'a Baseline>,
    /// What holds for this check.
    pub setting: &'a Setting,
    /// Its last result.
    pub last: Option<&'a CheckState>,
    /// A case of the fault that this check finds is open.
    pub has_case: bool,
    /// The run of this prolog or epilog.
    pub span: Option<&'a JobSpan>,
    /// Other runs on the node, and those that left it lately.
    pub spans: &'a [JobSpan],
}

impl<'a> CheckInput<'a> {
    pub(super) fn new(input: &'a Input<'_>, checking: &Checking<'a>, setting: &'a Setting) -> Self {
        let nvml = input.observations.iter().rev().find_map(|observation| match &observation.payload {
            Payload::Nvml(reading) => Some(&**reading),
            _ => None,
        });
        let nvml_blind = input.observations.iter().rev().find_map(|observation| match &observation.payload {
            Payload::Blind { reason, .. } if observation.source == SourceKind::Nvml => Some(reason.as_str()),
            _ => None,
        });
        let nvml_before = input.last_reading.as_ref().filter(|(boot, _)| *boot == input.boot);
        Self {
            now: checking.facts.at,
            node: &input.node,
            boot: &input.boot,
            trigger: input.trigger,
            facts: checking.facts,
            before: checking.before.filter(|before| before.boot == input.boot),
            nvml,
            nvml_blind,
            nvml_before: nvml_before.map(|(_, reading)| reading),
            expect: checking.expect,
            baseline: checking.baseline,
            setting,
            last: None,
            has_case: false,
            span: input.span.as_ref(),
            spans: &input.spans,
        }
    }

    /// Whether this check held the resource for bad in its last pass.
    pub fn was_bad(&self, resource: &Resource) -> bool {
        let item = self.last.and_then(|last| last.items.get(&resource.to_string()));
        item.is_some_and(|item| item.state != ItemState::Good && item.boot == *self.boot)
    }

    /// What this check held for bad in its last pass and cannot see now, by what `is_there` says: it is gone, not good. Once
    /// no case of this check's fault is open, because a person closed it, nobody waits for the thing any more.
    pub(super) fn blind_on_gone(&self, findings: &mut Findings, is_there: impl Fn(&Resource) -> bool) {
        let last = self.last.filter(|_| self.has_case);
        for resource in last.iter().flat_map(|last| last.items.keys()) {
            let resource = Resource::from(resource.as_str());
            if !is_there(&resource) {
                let why = format!(
                    "{resource} is not to be seen any more; if it was taken out on purpose, close its case (slurm-triage ack)"
                );
                findings.blind_on(resource, why);
            }
        }
    }

    /// Seconds since the facts before this pass's, where there are some of this boot.
    pub fn seconds_since_before(&self) -> Option<f64> {
        let micros = self.facts.at.micros_since(self.before?.at);
        // Exact below 2^53 microseconds, which is 285 years.
        #[expect(clippy::cast_precision_loss, reason = "a pause between two looks")]
        (micros > 0).then_some(micros as f64 / 1e6)
    }

    /// Runs that are on the node now; in an epilog without the one that ends.
    pub fn running(&self) -> impl Iterator<Item = &'a JobSpan> {
        self.spans.iter().filter(|span| span.end.is_none())
    }
}
