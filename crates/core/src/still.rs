//! What a sensor still reads as bad though nobody's case says so any more. A level is no news while it stays, so a fault
//! whose case was closed by a word would be forgotten; here it is told by what was closed, and by what the checks hold.
use crate::checks::{self, CheckState, CheckWord, Checked, ItemState};
use crate::detectors::{Names, joins_any};
use crate::facts::NodeFacts;
use crate::pipeline::{Closed, Input};
use crate::reading::NvmlReading;
use crate::{Case, CaseId, ClearedBy, Payload, PciAddress, Resource};

/// Whether a level that is known already is news again: no case of the fault stands for the thing, and the last one was closed
/// as repaired. What a person called no fault is left alone until it was seen good in between.
pub(crate) fn is_news_again(input: &Input<'_>, faults: &[&str], is_it: impl Fn(&Resource) -> bool) -> bool {
    let named = |fault: &str| faults.contains(&fault) || faults.iter().any(|fault| joins_any(fault));
    let stands = |case: &Case| case.is_open() && named(&case.fault) && is_it(&case.resource);
    if input.cases.iter().any(stands) {
        return false;
    }
    let of_it = |closed: &&Closed| named(&closed.fault) && is_it(&closed.resource);
    let last = input.past.closed.iter().filter(of_it).max_by_key(|closed| closed.at);
    last.is_some_and(|closed| !closed.acquitted)
}

/// The address of the one GPU that tells none, where only closed cases remember it: that of the case of this fault that was
/// closed last, of those on addresses that no GPU tells.
pub(crate) fn closed_address(input: &Input<'_>, reading: &NvmlReading, fault: &str) -> Option<PciAddress> {
    if reading.gpus.iter().filter(|gpu| gpu.pci.is_none()).count() != 1 {
        return None;
    }
    let untold = |closed: &&Closed| closed.fault == fault && is_untold(reading, closed.resource.pci());
    input.past.closed.iter().filter(untold).max_by_key(|closed| closed.at)?.resource.pci()
}

fn is_untold(reading: &NvmlReading, address: Option<PciAddress>) -> bool {
    address.is_some() && reading.gpus.iter().all(|gpu| gpu.pci != address)
}

/// Whether both may be one GPU. One that is lost may tell no more than its index: it may be any whose address nobody tells.
pub(crate) fn may_be_one(reading: &NvmlReading, a: &Resource, b: &Resource) -> bool {
    match (a, b) {
        _ if a == b => true,
        (Resource::Gpu(address), Resource::GpuIndex(index))
        | (Resource::GpuIndex(index), Resource::Gpu(address)) => {
            let told = reading.gpus.iter().find(|gpu| gpu.index == *index).and_then(|gpu| gpu.pci);
            told.map_or_else(|| is_untold(reading, Some(*address)), |told| told == *address)
        }
        _ => false,
    }
}

/// What tells which names are of one thing: what was read of the node, and the last sweep over its GPUs.
#[derive(Clone, Copy)]
struct Sight<'a> {
    names: Names<'a>,
    reading: Option<&'a NvmlReading>,
}

impl Sight<'_> {
    fn is_one(&self, name: &str, resource: &Resource) -> bool {
        let item = Resource::from(name);
        self.names.are_one(&item, resource)
            || self.reading.is_some_and(|reading| may_be_one(reading, &item, resource))
    }

    /// Whether the check knows the case's fault, and holds the case's thing for bad.
    fn holds_bad(&self, state: &CheckState, case: &Case) -> bool {
        state.state != CheckWord::Disabled
            && knows(state, case)
            && state
                .items
                .iter()
                .any(|(name, item)| item.state == ItemState::Bad && self.is_one(name, &case.resource))
    }
}

/// The check that found the case.
fn is_own(state: &CheckState, case: &Case) -> bool {
    checks::name_of(case.code.as_str()) == Some(&state.name)
}

/// What the driver asks for is a word on every fault of its GPU.
fn knows(state: &CheckState, case: &Case) -> bool {
    let fault = checks::find(&state.name).map_or("", |check| check.fault);
    is_own(state, case) || (!fault.is_empty() && (fault == case.fault || joins_any(fault)))
}

/// Which check still held the case's thing for bad at its last look, and what it said; `None`: none did, or none knows the
/// fault.
pub fn read_as_bad<'a>(
    case: &Case,
    states: impl IntoIterator<Item = &'a CheckState>,
    facts: Option<&NodeFacts>,
    reading: Option<&NvmlReading>,
) -> Option<String> {
    told(case, states, Sight { names: Names::of(facts), reading })
}

fn told<'a>(
    case: &Case,
    states: impl IntoIterator<Item = &'a CheckState>,
    sight: Sight<'_>,
) -> Option<String> {
    let state = states.into_iter().find(|state| sight.holds_bad(state, case))?;
    let blind = if state.state == CheckWord::Blind { " before it went blind" } else { "" };
    Some(format!("check {} read it as bad{blind}: {}", state.name, state.text))
}

/// How the things of cases stand by the last look at them.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    bad: Vec<(CaseId, String)>,
    not_bad: Vec<(CaseId, String)>,
}

impl Looks {
    /// By this pass's looks, and by the last ones where it did not look.
    pub(crate) fn new(input: &Input<'_>, checked: &Checked, cases: &[Case]) -> Self {
        let Some(checking) = input.checks else { return Self::default() };
        let now = |name: &str| checked.states.iter().any(|state| state.name == name);
        let last = checking.last.iter().filter(|state| !now(&state.name));
        let states: Vec<&CheckState> = checked.states.iter().chain(last).collect();
        let swept = input.observations.iter().rev().find_map(|seen| match &seen.payload {
            Payload::Nvml(reading) => Some(&**reading),
            _ => None,
        });
        let reading = swept.or_else(|| input.last_reading.as_ref().map(|(_, reading)| reading));
        let sight = Sight { names: Names::new(input), reading };
        let mut looks = Self::default();
        for out in &input.out {
            let case = cases.iter().find(|case| case.id == out.case.id).unwrap_or(&out.case);
            if !case.is_open() {
                looks.bad.extend(told(case, states.iter().copied(), sight).map(|why| (case.id.clone(), why)));
            }
        }
        let of_a_check =
            |case: &&Case| case.is_open() && !case.synthetic && case.clears == ClearedBy::CheckPasses;
        for case in cases.iter().filter(of_a_check) {
            let finds = |state: &&&CheckState| {
                state.state == CheckWord::Bad
                    && sight.holds_bad(state, case)
                    && !checked.is_unseen(state, |name| sight.is_one(name, &case.resource))
            };
            if !states.iter().any(|state| finds(&state)) {
                looks.not_bad.push((case.id.clone(), not_bad(case, &states, sight)));
            }
        }
        looks
    }

    /// What still reads the closed case's thing as bad.
    pub(crate) fn still_bad(&self, case: &Case) -> Option<&str> {
        told_of(&self.bad, case)
    }

    /// Why the thing of a check's open case cannot be said to be bad at this moment.
    pub(crate) fn not_bad(&self, case: &Case) -> Option<&str> {
        told_of(&self.not_bad, case)
    }
}

fn told_of<'a>(told: &'a [(CaseId, String)], case: &Case) -> Option<&'a str> {
    told.iter().find(|(id, _)| *id == case.id).map(|(_, why)| why.as_str())
}

fn not_bad(case: &Case, states: &[&CheckState], sight: Sight<'_>) -> String {
    let (code, resource) = (&case.code, &case.resource);
    let Some(state) = states.iter().find(|state| is_own(state, case)) else {
        return format!("{code} has not looked at {resource} yet");
    };
    let item = state.items.iter().find(|(name, _)| sight.is_one(name, resource)).map(|(_, item)| item);
    match item.map(|item| (item.state, item.since)) {
        Some((ItemState::Good, since)) => {
            format!("{code} finds {resource} good since {since}: not yet for long enough to close the case")
        }
        Some((ItemState::Bad, _)) => format!("{code} cannot look at {resource} now: {}", state.text),
        _ => format!("{code} does not find {resource} bad now"),
    }
}
