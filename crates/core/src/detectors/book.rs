//! The cases of one pass: the open ones it began with, and what the detectors make of them.
use std::collections::{BTreeMap, BTreeSet};

use super::faults;
use super::gate::{Gate, Standing};
use super::same::Names;
use crate::catalog::Catalog;
use crate::pipeline::Input;
use crate::serd::Engine;
use crate::{
    Case, CaseId, CaseState, ClearedBy, Confidence, Event, Provenance, Resource, RunId, Stamp, drill, parts,
};

/// The cases of one pass. The map makes a second open case for one fault on one resource impossible.
#[derive(Debug)]
pub struct CaseBook<'a> {
    catalog: &'a Catalog,
    open: BTreeMap<(String, String), Case>,
    closed: Vec<Case>,
    changed: BTreeSet<CaseId>,
    parts: BTreeMap<String, String>,
    gate: Gate,
    names: Names<'a>,
    marks: Vec<Engine>,
}

/// Most evidence ids one case keeps. A flood adds nothing after that; counts are elsewhere.
const KEPT_EVIDENCE: usize = 64;

impl<'a> CaseBook<'a> {
    /// The book as the pass begins.
    pub fn new(input: &Input<'a>) -> Self {
        let open = input
            .cases
            .iter()
            .filter(|case| case.is_open())
            .map(|case| ((case.fault.clone(), case.resource.to_string()), case.clone()))
            .collect();
        Self {
            catalog: input.catalog,
            open,
            closed: Vec::new(),
            changed: BTreeSet::new(),
            parts: parts::known(input),
            gate: Gate::new(input),
            names: Names::new(input),
            marks: Vec::new(),
        }
    }

    /// Open cases, in order of fault and resource.
    pub fn open(&self) -> impl Iterator<Item = &Case> {
        self.open.values()
    }

    /// All cases the pass knows: the open ones, then those it closed.
    pub fn all(&self) -> Vec<Case> {
        self.open.values().chain(&self.closed).cloned().collect()
    }

    /// Cases opened, changed or closed in this pass, in their new state.
    pub fn changed(&self) -> Vec<Case> {
        self.open
            .values()
            .chain(&self.closed)
            .filter(|case| self.changed.contains(&case.id))
            .cloned()
            .collect()
    }

    /// Whether some case was acted upon, so that a person may have undone the action.
    pub fn undone_is_possible(&self) -> bool {
        self.open.values().any(|case| case.state == CaseState::Acted)
    }

    /// Adds evidence: to the open case of its fault, else it opens one.
    pub fn evidence(&mut self, event: &Event, confidence: Confidence, run: Option<RunId>, why: String) {
        let key = self.key_for(event);
        let (confidence, why) = match self.gate.judge(event, &key.0, self.names) {
            Standing::News => (confidence, why),
            Standing::BeforeOurTime => (
                Confidence::Suspected,
                format!(
                    "{why}; it was logged before this ledger was begun, and may have been repaired since"
                ),
            ),
            Standing::History => return,
        };
        match self.open.get_mut(&key) {
            Some(case) => {
                // What was made up for a drill bears nothing real out.
                let made_up = event.synthetic && !case.synthetic;
                if !made_up && !case.events.contains(&event.id) {
                    strengthen(case, event, confidence);
                    self.changed.insert(case.id.clone());
                }
            }
            None => {
                let part = self.parts.get(&key.1).cloned();
                let case = Case { part, ..open_case(event, &key.0, confidence, run, why) };
                self.changed.insert(case.id.clone());
                self.open.insert(key, case);
            }
        }
    }

    /// Adds evidence only where a case of its fault is open already.
    pub fn confirm(&mut self, event: &Event) {
        let key = self.key_for(event);
        if self.open.contains_key(&key) {
            self.evidence(event, event.confidence, None, String::new());
        }
    }

    fn key_for(&self, event: &Event) -> (String, String) {
        let resource = event.resource.to_string();
        let fault = faults::fault_of(self.catalog, event.code.as_str());
        let joined = if faults::joins_any(&fault) {
            self.open.keys().find(|key| key.1 == resource)
        } else if matches!(event.resource, Resource::GpuIndex(_)) {
            self.only_named(&fault, event)
        } else {
            self.under_another_name(&fault, event)
        };
        joined.cloned().unwrap_or((fault, resource))
    }

    /// The open case of this fault on the same thing, where that goes by another name.
    fn under_another_name(&self, fault: &str, event: &Event) -> Option<&(String, String)> {
        let same = |(key, case): &(&(String, String), &Case)| {
            key.0 == fault && self.names.are_one(&case.resource, &event.resource)
        };
        self.open.iter().find(same).map(|(key, _)| key)
    }

    /// Whether two names are of one thing.
    pub(super) fn are_one(&self, a: &Resource, b: &Resource) -> bool {
        self.names.are_one(a, b)
    }

    /// A lost GPU that tells only its index, on a node where one fault of that kind stands against a GPU with an address,
    /// is that GPU. With two such cases nobody can say which.
    fn only_named(&self, fault: &str, event: &Event) -> Option<&(String, String)> {
        let named = |(key, case): &(&(String, String), &Case)| {
            key.0 == fault && case.boot == event.boot && matches!(case.resource, Resource::Gpu(_))
        };
        let mut cases = self.open.iter().filter(named);
        cases.next().filter(|_| cases.next().is_none()).map(|(key, _)| key)
    }

    /// Remembers which part an open case is about, where that was not known when it was opened.
    pub fn name_part(&mut self, id: &CaseId, part: String) {
        if let Some(case) = self.open.values_mut().find(|case| case.id == *id && case.part.is_none()) {
            case.part = Some(part);
            self.changed.insert(case.id.clone());
        }
    }

    /// Keeps, or with nothing in it forgets, the moment a case's resource was reported well again.
    pub(super) fn mark(&mut self, mark: Engine) {
        self.marks.push(mark);
    }

    /// What [`Self::mark`] was told.
    pub(crate) fn take_marks(&mut self) -> Vec<Engine> {
        std::mem::take(&mut self.marks)
    }

    /// Closes a case.
    pub fn close(&mut self, id: &CaseId, state: CaseState, at: Stamp, why: String) {
        let Some(key) = self.open.iter().find(|(_, case)| case.id == *id).map(|(key, _)| key.clone()) else {
            return;
        };
        if let Some(mut case) = self.open.remove(&key) {
            case.state = state;
            case.closed_at = Some(at);
            case.why = why;
            self.changed.insert(case.id.clone());
            self.closed.push(case);
        }
    }

    /// The drain for a closed case is gone, or somebody else's by now: there is nothing left of it to lift.
    pub fn let_go(&mut self, case: &Case) {
        let case = Case { stood_down: true, ..case.clone() };
        self.changed.insert(case.id.clone());
        self.closed.push(case);
    }

    /// A run ended by what the case claims: that is the second witness, and makes the claim sure.
    pub(crate) fn bear_out(&mut self, id: &CaseId) {
        if let Some(case) = self.open.values_mut().find(|case| case.id == *id)
            && case.confidence < Confidence::Confirmed
        {
            case.confidence = Confidence::Confirmed;
            case.why.push_str("; a run ended by it");
            self.changed.insert(case.id.clone());
        }
    }

    /// A person undid our action: the case stands, and is not acted upon again.
    pub fn stand_down(&mut self, id: &CaseId, why: String) {
        if let Some(case) = self.open.values_mut().find(|case| case.id == *id) {
            case.state = CaseState::Open;
            case.stood_down = true;
            case.why = why;
            self.changed.insert(case.id.clone());
        }
    }
}

fn open_case(event: &Event, fault: &str, confidence: Confidence, run: Option<RunId>, why: String) -> Case {
    Case {
        id: CaseId::of(&event.node, fault, &event.resource.to_string(), &event.id),
        fault: fault.to_owned(),
        code: event.code.clone(),
        class: event.class,
        resource: event.resource.clone(),
        part: None,
        node: event.node.clone(),
        boot: event.boot.clone(),
        state: CaseState::Open,
        confidence,
        provenance: event.provenance,
        synthetic: event.synthetic,
        advice: event.advice,
        clears: event.clears,
        opened_at: event.at,
        last_seen: event.at,
        closed_at: None,
        run,
        events: vec![event.id.clone()],
        why,
        // A drill is not acted upon unless the person who started it asked for that.
        stood_down: event.synthetic && event.fields.get(drill::FIELD).is_some_and(|d| d != "act"),
    }
}

/// New evidence can only make a case surer and its advice graver. Two kinds of sources that agree confirm it. What is to
/// prove it gone is the graver evidence's; a check that passes proves only what nothing but the check has told.
fn strengthen(case: &mut Case, event: &Event, confidence: Confidence) {
    let second_source = event.provenance == Provenance::Trusted
        && case.provenance == Provenance::Trusted
        && source_word(&event.code) != source_word(&case.code);
    let confidence =
        if second_source && confidence >= Confidence::Probable { Confidence::Confirmed } else { confidence };
    case.confidence = case.confidence.max(confidence);
    case.provenance = case.provenance.max(event.provenance);
    if leaves_the_checks_hands(case, event) {
        case.code = event.code.clone();
        case.clears = event.clears;
    } else if event.advice > case.advice && !is_of_a_check(event.clears) {
        case.clears = event.clears;
    }
    case.advice = case.advice.max(event.advice);
    case.last_seen = case.last_seen.max(event.at);
    case.boot = event.boot.clone();
    // A real event in a drill's case makes the case real: from then on it is treated as such.
    if case.synthetic && !event.synthetic {
        case.synthetic = false;
        case.stood_down = false;
    }
    if case.events.len() < KEPT_EVIDENCE {
        case.events.push(event.id.clone());
    }
}

const fn is_of_a_check(clears: ClearedBy) -> bool {
    matches!(clears, ClearedBy::CheckPasses)
}

/// Another source tells of what only a state check had told: from then on its proof is asked for, in whatever order the two
/// came.
fn leaves_the_checks_hands(case: &Case, event: &Event) -> bool {
    is_of_a_check(case.clears) && !matches!(event.clears, ClearedBy::CheckPasses | ClearedBy::None)
}

/// `xid` of `xid.79`: the kernel says `xid`, the probe says `nvml`.
fn source_word(code: &crate::Code) -> &str {
    code.as_str().split('.').next().unwrap_or_default()
}
