//! Running the checks of a pass, and what follows from what they found: their new states, and an event for each
//! resource that turned bad. A level that the last pass knew already is no news.
use crate::arrange::Gather as _;
use std::collections::{BTreeMap, BTreeSet};

use super::{
    ALL, Check, CheckAction, CheckInput, CheckState, CheckWord, Checking, Finding, Findings, Item, ItemState,
    Setting, Where, gone,
};
use crate::detectors::Names;
use crate::facts::Area;
use crate::pipeline::{Input, Trigger};
use crate::{
    Advice, Case, ClearedBy, Code, Event, EventId, Provenance, Resource, Role, SourceKind, Stamp, still,
};

/// What the checks of one pass gave.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// New results, for the ledger.
    pub(crate) states: Vec<CheckState>,
    /// What turned bad.
    pub(crate) events: Vec<Event>,
    /// Names of the checks that looked at everything they wanted to.
    sighted: BTreeMap<String, Seen>,
    /// Check and resource of what was bad and could not be looked at in this pass.
    unseen: BTreeSet<(String, String)>,
    /// Fault and resource of what a check had found bad and has now found good for long enough.
    mended: BTreeSet<(String, String)>,
}

/// What one check saw clearly.
#[derive(Debug, Default)]
struct Seen {
    /// Resources it could not look at.
    blind_on: BTreeSet<String>,
    /// Resources it has something to say about.
    items: BTreeSet<String>,
}

impl Checked {
    /// Whether the check behind the case looked in this pass, and has held its resource for good long enough.
    pub(crate) fn passes(&self, case: &Case) -> bool {
        let resource = case.resource.to_string();
        // Two checks may see one fault; it is gone when neither does.
        let another = |(name, seen): (&String, &Seen)| {
            super::find(name).is_some_and(|check| !check.fault.is_empty() && check.fault == case.fault)
                && seen.items.contains(&resource)
        };
        if self.sighted.iter().any(another) {
            return false;
        }
        super::name_of(case.code.as_str())
            .and_then(|name| self.sighted.get(name))
            .is_some_and(|seen| !seen.items.contains(&resource) && !seen.blind_on.contains(&resource))
    }

    /// Whether the check looked in this pass and could not see the case's resource.
    pub(crate) fn is_unseen(&self, state: &CheckState, same: impl Fn(&str) -> bool) -> bool {
        self.unseen.iter().any(|(name, resource)| *name == state.name && same(resource))
    }

    /// Whether the check that knows the case's fault had found its resource bad, and no check does any more. `same` tells
    /// whether a resource is the case's, whatever it is called.
    pub(crate) fn mended(&self, case: &Case, same: impl Fn(&Resource) -> bool) -> bool {
        let is_it = |name: &String| same(&Resource::from(name.as_str()));
        let still =
            |(name, seen): (&String, &Seen)| fault_of(name) == case.fault && seen.items.iter().any(is_it);
        self.mended.iter().any(|(fault, name)| *fault == case.fault && is_it(name))
            && !self.sighted.iter().any(still)
    }
}

/// The fault class of what the check of this name finds.
fn fault_of(name: &str) -> &str {
    super::find(name).map(|check| check.fault).filter(|fault| !fault.is_empty()).unwrap_or(name)
}

/// Runs every check that belongs to this pass.
pub(crate) fn run(input: &Input<'_>) -> Checked {
    let mut checked = Checked::default();
    let Some(checking) = input.checks.as_ref().filter(|checking| checking.made) else { return checked };
    for check in ALL {
        let setting = checking.settings.of(check);
        let last = checking.last.iter().find(|state| state.name == check.name);
        if !setting.enabled {
            checked.states.extend(disabled(checking, check, last));
        } else if setting.at.contains(&Where::of(input.trigger)) {
            let has_case = has_case(input, check);
            let seen = CheckInput { last, has_case, ..CheckInput::new(input, checking, &setting) };
            let findings = look(&seen, check);
            let judged = Judged {
                name: check.name,
                code: check.code(),
                check,
                setting: &setting,
                cost_us: cost(checking, check),
            };
            checked.take(input, checking, &judged, &findings, last);
        }
    }
    super::site::run(input, &mut checked);
    checked
}

fn has_case(input: &Input<'_>, check: &Check) -> bool {
    let its = |case: &&Case| case.code.as_str() == check.code() || case.fault == check.fault;
    input.cases.iter().filter(|case| case.is_open()).any(|case| its(&case))
}

/// What the check finds, and what it could not see.
pub(super) fn look(input: &CheckInput<'_>, check: &Check) -> Findings {
    let mut findings = blindness(input, check);
    if findings.blind.is_empty() {
        (check.evaluate)(input, &mut findings);
        for why in partly_blind(input, check) {
            findings.blind(why);
        }
    }
    findings
}

/// A check whose area was not read, or of a list not all, does not look: half a table is no proof of anything, and what is in its
/// other half is not gone.
fn blindness(input: &CheckInput<'_>, check: &Check) -> Findings {
    let mut findings = Findings::default();
    for area in check.reads {
        match input.facts.state_of(*area) {
            Some(state) if state.said && (state.blind.is_empty() || stands_in_parts(*area)) => {}
            Some(state) if !state.blind.is_empty() => findings.blind(state.blind.join("; ")),
            // Its checks say themselves whether there is something to look at: a node without NVIDIA's driver has nothing.
            None if *area == Area::Nvml => {}
            _ => findings.blind(format!("{area}: not looked at")),
        }
    }
    findings
}

/// Whether each thing read of it stands for itself: one filesystem's answer, one file's figure.
const fn stands_in_parts(area: Area) -> bool {
    matches!(area, Area::Space | Area::Smart | Area::Kernel | Area::Clock | Area::Pstore)
}

/// What could not be read beside the things that could: with them alone nothing is proved good.
fn partly_blind<'a>(input: &CheckInput<'a>, check: &Check) -> impl Iterator<Item = String> + 'a {
    // A disk's answer comes with those of the filesystems, and tells of itself what is wrong with it.
    let areas = check.reads.iter().filter(|area| stands_in_parts(**area) && **area != Area::Smart);
    let facts = input.facts;
    areas.filter_map(move |area| facts.state_of(*area)).flat_map(|state| state.blind.iter().cloned())
}

fn cost(checking: &Checking<'_>, check: &Check) -> u64 {
    let costs = check.reads.iter().filter_map(|area| checking.facts.state_of(*area));
    costs.map(|state| state.cost_us).fold(0, u64::saturating_add)
}

/// What is the same for a check of ours and a site's own.
pub(super) struct Judged<'a> {
    pub(super) name: &'a str,
    pub(super) code: String,
    pub(super) check: &'a Check,
    pub(super) setting: &'a Setting,
    pub(super) cost_us: u64,
}

fn disabled(checking: &Checking<'_>, check: &Check, last: Option<&CheckState>) -> Option<CheckState> {
    let known = last.is_some_and(|last| last.state == CheckWord::Disabled);
    (!known).then(|| gone::out_of_use(checking, check.name, gone::SWITCHED_OFF))
}

impl Checked {
    /// Takes what one check found.
    pub(super) fn take(
        &mut self,
        input: &Input<'_>,
        checking: &Checking<'_>,
        judged: &Judged<'_>,
        findings: &Findings,
        last: Option<&CheckState>,
    ) {
        let at = checking.facts.at;
        let none = BTreeMap::new();
        let before = last.map_or(&none, |last| &last.items);
        let whole = findings.blind.iter().any(|(resource, _)| resource.is_none());
        let blind_on: BTreeSet<String> =
            findings.blind.iter().filter_map(|(r, _)| r.as_ref()).map(ToString::to_string).into_set();
        let mut items = BTreeMap::new();
        for finding in &findings.bad {
            let key = finding.resource.to_string();
            let item = turned_bad(input, judged.setting, before.get(&key), at);
            if item.state == ItemState::Bad
                && !judged.check.listed
                && self.is_news(input, judged, finding, before.get(&key))
            {
                self.events.push(event(input, judged, finding, at));
            }
            items.insert(key, item);
        }
        for (key, item) in before {
            if !items.contains_key(key) {
                let unseen = whole || blind_on.contains(key);
                if unseen {
                    self.unseen.insert((judged.name.to_owned(), key.clone()));
                }
                let kept =
                    if unseen { Some(item.clone()) } else { turned_good(input, judged.setting, item, at) };
                if kept.is_none() && item.state != ItemState::Waiting {
                    self.mended.insert((fault_of(judged.name).to_owned(), key.clone()));
                }
                items.extend(kept.map(|kept| (key.clone(), kept)));
            }
        }
        if !whole {
            let seen = Seen { blind_on, items: items.keys().cloned().collect() };
            self.sighted.insert(judged.name.to_owned(), seen);
        }
        let state = state_of(checking, judged, findings, last, items);
        // A prolog or epilog writes only what is new; that it looked is of no interest to anybody.
        let same = last.is_some_and(|last| (last.state, &last.items) == (state.state, &state.items));
        if input.trigger == Trigger::HealthCheck || !same {
            self.states.push(state);
        }
    }

    /// Whether a bad resource is worth an event: it turned bad, was bad in another boot, or its case asks for less than
    /// the check may ask for now; or it is still bad though its case was closed as repaired. A case that a person acquitted is
    /// not opened again while nothing changes.
    fn is_news(
        &self,
        input: &Input<'_>,
        judged: &Judged<'_>,
        finding: &Finding,
        before: Option<&Item>,
    ) -> bool {
        let known = before.is_some_and(|item| item.state == ItemState::Bad && item.boot == input.boot);
        let asks_less = input.cases.iter().any(|case| {
            case.is_open()
                && (case.code.as_str() == judged.code || case.fault == fault_of(judged.name))
                && case.resource == finding.resource
                && case.advice < advice(judged, input.trigger)
        });
        let names = Names::new(input);
        let is_it = |resource: &Resource| names.are_one(resource, &finding.resource);
        !known || asks_less || still::is_news_again(input, &[&judged.code, fault_of(judged.name)], is_it)
    }
}

fn turned_bad(input: &Input<'_>, setting: &Setting, before: Option<&Item>, at: Stamp) -> Item {
    // What was bad before a reboot, while drivers were taken out and services stopped, says nothing of a node that comes up.
    let goes_on = |item: &&Item| {
        item.state != ItemState::Good
            && item.since <= at
            && (item.state == ItemState::Bad || item.boot == input.boot)
    };
    let since = before.filter(goes_on).map_or(at, |item| item.since);
    let was_bad = before.is_some_and(|item| item.state == ItemState::Bad);
    let long_enough = at.micros_since(since) >= setting.bad_for_s.saturating_mul(1_000_000);
    let state = if was_bad || long_enough { ItemState::Bad } else { ItemState::Waiting };
    Item { state, since, boot: input.boot.clone() }
}

/// What is left of an item that was not found bad; `None` once it has been good for long enough.
fn turned_good(input: &Input<'_>, setting: &Setting, item: &Item, at: Stamp) -> Option<Item> {
    let since = match item.state {
        ItemState::Waiting => return None,
        ItemState::Bad => at,
        // A clock that was set back must not keep a case open for ever.
        ItemState::Good => item.since.min(at),
    };
    let long_enough = at.micros_since(since) >= setting.good_for_s.saturating_mul(1_000_000);
    (!long_enough).then(|| Item { state: ItemState::Good, since, boot: input.boot.clone() })
}

/// Most findings told in one line; the rest are counted.
const TOLD: usize = 4;

fn state_of(
    checking: &Checking<'_>,
    judged: &Judged<'_>,
    findings: &Findings,
    last: Option<&CheckState>,
    items: BTreeMap<String, Item>,
) -> CheckState {
    let at = checking.facts.at;
    let bad = items.values().any(|item| item.state == ItemState::Bad);
    let (state, texts) = if bad && !findings.bad.is_empty() {
        (CheckWord::Bad, findings.bad.iter().map(|finding| finding.text.clone()).collect())
    } else if !findings.blind.is_empty() {
        (CheckWord::Blind, findings.blind.iter().map(|(_, why)| why.clone()).collect())
    } else if !findings.bad.is_empty() {
        let wait =
            |finding: &Finding| format!("{} (not yet for {} s)", finding.text, judged.setting.bad_for_s);
        (CheckWord::Ok, findings.bad.iter().map(wait).collect())
    } else {
        (CheckWord::Ok, vec![findings.remark.clone()])
    };
    let same = last.filter(|last| last.state == state && last.since <= at);
    CheckState {
        name: judged.name.to_owned(),
        state,
        since: same.map_or(at, |last| last.since),
        at,
        boot: checking.facts.boot.clone(),
        text: told(&texts),
        value: findings.value.clone(),
        cost_us: judged.cost_us,
        items,
    }
}

fn told(texts: &[String]) -> String {
    let shown: Vec<&str> = texts.iter().take(TOLD).map(String::as_str).collect();
    let more = texts.len().saturating_sub(TOLD);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{}{more}", shown.join("; "))
}

/// What the event asks for. A check that refuses asks for nothing until a job is about to begin.
fn advice(judged: &Judged<'_>, trigger: Trigger) -> Advice {
    match (judged.setting.action, trigger) {
        (CheckAction::Drain, _) | (CheckAction::Refuse, Trigger::Prolog) => judged.check.advice,
        (CheckAction::Note | CheckAction::Refuse, _) => Advice::Watch,
    }
}

fn event(input: &Input<'_>, judged: &Judged<'_>, finding: &Finding, at: Stamp) -> Event {
    let cursor = at.micros().unsigned_abs();
    let stream = stream(judged.name, &finding.resource);
    Event {
        id: EventId::of(&input.node, &input.boot, SourceKind::Sysfs.word(), &stream, cursor, &judged.code),
        code: Code::new(judged.code.clone()),
        at,
        node: input.node.clone(),
        boot: input.boot.clone(),
        source: SourceKind::Sysfs,
        stream,
        cursor,
        provenance: Provenance::Trusted,
        synthetic: false,
        class: finding.class.unwrap_or(judged.check.class),
        role: Role::Root,
        advice: advice(judged, input.trigger),
        confidence: finding.confidence,
        clears: ClearedBy::CheckPasses,
        resource: finding.resource.clone(),
        fields: BTreeMap::from([("check".to_owned(), judged.name.to_owned())]),
        text: finding.text.clone(),
    }
}

/// One check may find several resources bad at the same moment: each is a place of its own.
fn stream(name: &str, resource: &Resource) -> String {
    format!("{name} {resource}")
}

#[cfg(test)]
mod tests {
    use super::super::scene::Scene;
    use super::*;
    use crate::baseline::learn;
    use crate::facts::host::{Disk, Disks, Kernel};
    use crate::facts::{NodeFacts, Sheet};
    use serde_json::Value;

    /// The facts as they are when a folder or a file of every area could not be read: its list is empty, and said to be so.
    fn half_read(facts: &NodeFacts) -> NodeFacts {
        let mut all = serde_json::to_value(facts).unwrap();
        for sheet in all.as_object_mut().unwrap().values_mut().filter_map(Value::as_object_mut) {
            let said = sheet.get_mut("said").and_then(Value::as_object_mut);
            for list in said.into_iter().flat_map(|said| said.values_mut()).filter(|value| value.is_array()) {
                *list = Value::Array(Vec::new());
            }
            sheet.insert("blind".to_owned(), vec!["a folder: denied"].into());
        }
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn where_only_a_part_could_be_read_nothing_is_gone_and_nothing_is_good() {
        let mut scene = Scene::healthy();
        let disk = Disk { name: "nvme0".to_owned(), serial: Some("S0".to_owned()), ..Disk::default() };
        scene.facts.disks = Some(Sheet::read(Disks { disks: vec![disk] }));
        scene.facts.kernel = Some(Sheet::read(Kernel::default()));
        scene.baseline = Some(learn(&scene.facts, scene.nvml.as_ref()));
        scene.facts = half_read(&scene.facts);
        let mut looked = 0;
        for check in ALL {
            // NVML has no sheet: it is asked by a process of its own.
            let sheets: Vec<Area> = check.reads.iter().copied().filter(|area| *area != Area::Nvml).collect();
            if sheets.is_empty() || sheets.iter().any(|area| scene.facts.state_of(*area).is_none()) {
                continue;
            }
            looked += 1;
            let findings = scene.look(check);
            assert!(findings.bad.is_empty(), "{}: {findings:?}", check.name);
            let told = |(on, why): &(Option<Resource>, String)| on.is_none() && why.contains("denied");
            assert!(findings.blind.iter().any(told), "{}: {findings:?}", check.name);
        }
        assert!(looked > 10, "{looked}");
    }
}
