//! From the events and sweeps of a pass to the counts, and from counts that are reached to events.
use std::collections::BTreeMap;

use super::links;
use super::{Engine, Occurrence, RULES, Rule, Threshold};
use crate::detectors::Names;
use crate::pipeline::{Input, Past};
use crate::reading::{GpuReading, NvmlReading};
use crate::{
    Advice, CauseClass, ClearedBy, Code, Confidence, Event, EventId, JobSpan, Observation, Payload,
    Provenance, Resource, Role, SourceKind, drill, parts,
};

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Fed {
    /// Engines in their new state; one that has nothing to remember is to be forgotten.
    pub(crate) changed: Vec<Engine>,
    /// One event for each that fired.
    pub(crate) fired: Vec<Event>,
}

/// Links go down and up while drivers load.
pub(crate) const BOOT_GRACE_S: i64 = 600;

/// What the identity of a drill's count begins with.
pub(super) const DRILL: &str = "drill:";

/// Counts what this pass brought.
pub(crate) fn feed(input: &Input<'_>, events: &[Event]) -> Fed {
    let mut bench = Bench::new(input);
    for rule in RULES {
        let Some(threshold) = input.past.thresholds.of(rule) else { continue };
        let of_link = rule.counts_links();
        let told = |event: &Event| of_link && links::has_told(input, event);
        for event in events.iter().filter(|e| rule.counts(e) && is_news(&input.past, e) && !told(e)) {
            bench.count_event(rule, &threshold, event);
        }
        if of_link {
            links::rises(input).iter().for_each(|rise| bench.count_link(rule, &threshold, rise));
        }
        if let super::rules::Counts::Counter(read) = rule.counts {
            for (observation, gpu, rise) in rises(input, read) {
                bench.count_rise(rule, &threshold, observation, gpu, rise);
            }
        }
    }
    bench.done()
}

/// What is counted: trusted, of this node's own time, and no link going down while the node starts.
fn is_news(past: &Past, event: &Event) -> bool {
    event.provenance == Provenance::Trusted && !is_of_boot(past, event)
}

/// A link that goes down while the node starts: drivers load, switches negotiate.
pub(crate) fn is_of_boot(past: &Past, event: &Event) -> bool {
    matches!(event.code.as_str(), "nic.link_down" | "nic.cable")
        && past.booted.is_some_and(|booted| event.at < booted.plus_secs(BOOT_GRACE_S))
}

/// By how much a counter rose on each GPU since the sweep before, in the same boot.
fn rises<'a>(
    input: &'a Input<'_>,
    read: fn(&GpuReading) -> Option<u64>,
) -> impl Iterator<Item = (&'a Observation, &'a GpuReading, u64)> {
    let last =
        input.last_reading.as_ref().filter(|(boot, _)| *boot == input.boot).map(|(_, reading)| reading);
    let sweeps = input.observations.iter().filter_map(|observation| match &observation.payload {
        Payload::Nvml(reading) => Some((observation, reading)),
        _ => None,
    });
    sweeps.flat_map(move |(observation, reading)| {
        reading.gpus.iter().filter_map(move |gpu| {
            let before = same_part(last?, gpu).and_then(read)?;
            let rise = read(gpu)?.checked_sub(before).filter(|rise| *rise > 0)?;
            Some((observation, gpu, rise))
        })
    })
}

fn same_part<'a>(last: &'a NvmlReading, gpu: &GpuReading) -> Option<&'a GpuReading> {
    last.gpus.iter().find(|before| before.pci == gpu.pci && before.uuid == gpu.uuid)
}

/// The engines of one pass.
pub(super) struct Bench<'a, 'i> {
    pub(super) input: &'a Input<'i>,
    pub(super) engines: BTreeMap<(String, String), Engine>,
    changed: BTreeMap<(String, String), ()>,
    fired: Vec<Event>,
}

impl<'a, 'i> Bench<'a, 'i> {
    fn new(input: &'a Input<'i>) -> Self {
        let known = |engine: &&Engine| RULES.iter().any(|rule| rule.name == engine.rule);
        let engines = input.past.engines.iter().filter(known);
        let engines = engines.map(|e| ((e.rule.clone(), e.identity.clone()), e.clone())).collect();
        let mut bench = Self { input, engines, changed: BTreeMap::new(), fired: Vec::new() };
        bench.reset_repaired();
        bench.name_parts();
        bench
    }

    /// A count whose case was closed begins anew.
    fn reset_repaired(&mut self) {
        for (key, engine) in &mut self.engines {
            let Some(rule) = RULES.iter().find(|rule| rule.name == engine.rule) else { continue };
            if engine.fired_at.is_some() && !has_case(self.input, rule, engine) {
                engine.reset();
                self.changed.insert(key.clone(), ());
            }
        }
    }

    /// What was counted on a slot goes on under the part's own name once that is known.
    fn name_parts(&mut self) {
        let unnamed: Vec<(String, String)> = self
            .engines
            .iter()
            .filter(|(_, engine)| {
                engine.fired_at.is_none()
                    && matches!(engine.resource, Resource::Gpu(_))
                    && engine.identity == engine.resource.to_string()
            })
            .map(|(key, _)| key.clone())
            .collect();
        for key in unnamed {
            let Some(mut engine) = self.engines.get(&key).cloned() else { continue };
            let identity = identity(self.input, &engine.resource, false);
            let renamed = (engine.rule.clone(), identity.clone());
            if identity == engine.identity || self.engines.contains_key(&renamed) {
                continue;
            }
            if let Some(old) = self.engines.get_mut(&key) {
                old.reset();
            }
            engine.identity = identity;
            self.changed.insert(key, ());
            self.changed.insert(renamed.clone(), ());
            self.engines.insert(renamed, engine);
        }
    }

    fn count_event(&mut self, rule: &Rule, threshold: &Threshold, event: &Event) {
        let job = on_resource(self.input, event);
        let occurrence = Occurrence {
            at: event.at,
            times: 1,
            job: job.map(|span| span.run.job),
            uid: job.map(|span| span.uid),
        };
        let place = rule.place(&event.resource);
        let leave = event.fields.get(drill::FIELD).cloned();
        self.count(rule, threshold, place, occurrence, event.synthetic.then_some(leave));
    }

    fn count_rise(
        &mut self,
        rule: &Rule,
        threshold: &Threshold,
        observation: &Observation,
        gpu: &GpuReading,
        rise: u64,
    ) {
        let place = gpu.pci.map_or(Resource::GpuIndex(gpu.index), Resource::Gpu);
        let occurrence = Occurrence { times: rise, ..Occurrence::at(observation.at) };
        let leave = drill::leave(observation).map(str::to_owned);
        self.count(rule, threshold, place, occurrence, observation.synthetic.then_some(leave));
    }

    /// `drill`: the occurrence is none, with the leave the drill has.
    pub(super) fn count(
        &mut self,
        rule: &Rule,
        threshold: &Threshold,
        place: Resource,
        occurrence: Occurrence,
        drill: Option<Option<String>>,
    ) {
        if self.was_before_a_repair(rule, &place, &occurrence) {
            return;
        }
        let identity = identity(self.input, &place, drill.is_some());
        let key = (rule.name.to_owned(), identity.clone());
        let begin = || Engine::new(rule.name.to_owned(), identity, place.clone());
        let engine = self.engines.entry(key.clone()).or_insert_with(begin);
        let before = engine.clone();
        // The case a fired count stands for is about the slot it was opened on.
        if engine.fired_at.is_none() {
            engine.resource = place;
        }
        if engine.count(occurrence, threshold) {
            self.fired.push(event(self.input, rule, threshold, engine, drill));
        }
        if *engine != before {
            self.changed.insert(key, ());
        }
    }

    pub(super) fn was_before_a_repair(&self, rule: &Rule, place: &Resource, occurrence: &Occurrence) -> bool {
        let fault = self.input.catalog.fault_of(&rule.code());
        let names = Names::new(self.input);
        // One that is yet to come is of a clock that was ahead.
        let same = |c: &&crate::pipeline::Closed| {
            c.at <= self.input.now && c.fault == fault && names.are_one(&c.resource, place)
        };
        let closed = self.input.past.closed.iter().filter(same);
        closed.map(|closed| closed.at).max().is_some_and(|at| occurrence.at <= at)
    }

    fn done(self) -> Fed {
        let Self { engines, changed, fired, .. } = self;
        let changed =
            engines.into_iter().filter(|(key, _)| changed.contains_key(key)).map(|(_, engine)| engine);
        Fed { changed: changed.collect(), fired }
    }
}

fn has_case(input: &Input<'_>, rule: &Rule, engine: &Engine) -> bool {
    let fault = input.catalog.fault_of(&rule.code());
    let names = Names::new(input);
    input
        .cases
        .iter()
        .any(|case| case.is_open() && case.fault == fault && names.are_one(&case.resource, &engine.resource))
}

/// A GPU keeps its history wherever it is plugged in; everything else is known by its place.
fn identity(input: &Input<'_>, place: &Resource, drill: bool) -> String {
    let name = parts::part_of(input, place).map_or_else(|| place.to_string(), |part| format!("part:{part}"));
    if drill { format!("{DRILL}{name}") } else { name }
}

/// The run that was on the resource, if it can be told: with several on the node, the one whose GPUs it is among.
fn on_resource<'a>(input: &'a Input<'_>, event: &Event) -> Option<&'a JobSpan> {
    let covering: Vec<&JobSpan> =
        input.span.iter().chain(&input.spans).filter(|span| span.covers(event.at)).collect();
    let numbers = parts::numbers(input, &event.resource);
    let owns = |span: &&&JobSpan| span.gpus.iter().any(|gpu| numbers.contains(gpu));
    let one = |spans: Vec<&'a JobSpan>| match spans[..] {
        [span] => Some(span),
        _ => None,
    };
    one(covering.iter().filter(owns).copied().collect()).or_else(|| one(covering))
}

fn event(
    input: &Input<'_>,
    rule: &Rule,
    threshold: &Threshold,
    engine: &Engine,
    drill: Option<Option<String>>,
) -> Event {
    let at = engine.fired_at.unwrap_or(input.now);
    let code = rule.code();
    let entry = input.catalog.entry(&code);
    let (source, stream) = (SourceKind::Suite, format!("{}/{}", rule.name, engine.identity));
    let cursor = at.micros().unsigned_abs();
    let mut fields = BTreeMap::from([
        ("count".to_owned(), engine.within(threshold).to_string()),
        ("hours".to_owned(), (threshold.window_s / 3_600).to_string()),
        ("identity".to_owned(), engine.identity.clone()),
    ]);
    fields.extend(drill.clone().flatten().map(|leave| (drill::FIELD.to_owned(), leave)));
    Event {
        id: EventId::of(&input.node, &input.boot, source.word(), &stream, cursor, &code),
        code: Code::new(code),
        at,
        node: input.node.clone(),
        boot: input.boot.clone(),
        source,
        stream,
        cursor,
        provenance: Provenance::Trusted,
        synthetic: drill.is_some(),
        class: entry.as_ref().map_or(CauseClass::Unknown, |entry| entry.class),
        role: Role::Root,
        advice: entry.as_ref().map_or(Advice::Watch, |entry| entry.action),
        confidence: entry.as_ref().map_or(Confidence::Suspected, |entry| entry.confidence),
        clears: entry.as_ref().map_or(ClearedBy::Ack, |entry| entry.clears),
        resource: engine.resource.clone(),
        fields,
        text: told(rule, threshold, engine),
    }
}

fn told(rule: &Rule, threshold: &Threshold, engine: &Engine) -> String {
    let among = if threshold.jobs > 1 {
        format!(" under at least {} jobs of {} users", threshold.jobs, threshold.users.max(1))
    } else {
        String::new()
    };
    format!(
        "{} {} on {}{among} within {} h, the limit is {}",
        engine.within(threshold),
        rule.what,
        engine.resource,
        threshold.window_s / 3_600,
        threshold.count
    )
}
