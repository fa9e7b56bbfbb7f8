//! Links that were lost: the kernel's log tells of most losses, the counters of port and interface of all of them. What the
//! counters tell beyond the log is counted as well; what both tell is counted once.
use super::feed::{BOOT_GRACE_S, Bench, DRILL};
use super::{Engine, Occurrence, Rule, Threshold};
use crate::checks::{CheckWord, Checking};
use crate::detectors::Names;
use crate::facts::NodeFacts;
use crate::facts::nic::{NetInterface, NicFacts, RdmaPort};
use crate::pipeline::Input;
use crate::{Event, Resource, Stamp};

/// The check that looks at the same counters.
const CHECK: &str = "nic_flaps";

/// By how much the count of losses of one link rose between two looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rise {
    /// The link.
    pub(super) place: Resource,
    /// By how much.
    pub(super) times: u64,
    /// The look before.
    pub(super) since: Stamp,
    /// This look.
    pub(super) at: Stamp,
}

/// The rises since the look before, in the same boot. While the node starts, drivers load and switches negotiate.
pub(super) fn rises(input: &Input<'_>) -> Vec<Rise> {
    let Some((now, before)) = looks(input) else { return Vec::new() };
    let booted = input.past.booted.is_some_and(|booted| before.at < booted.plus_secs(BOOT_GRACE_S));
    let (Some(nics), Some(old), false) = (said(now), said(before), booted) else { return Vec::new() };
    let names = Names::new(input);
    let mut rises: Vec<Rise> = Vec::new();
    for (place, times) in all(nics, old) {
        // A port and the interface on it are one link, and each counts its losses.
        match rises.iter_mut().find(|rise| names.are_one(&rise.place, &place)) {
            Some(rise) => rise.times = rise.times.max(times),
            None => rises.push(Rise { place, times, since: before.at, at: now.at }),
        }
    }
    rises.retain(|rise| rise.times > 0);
    rises
}

fn looks<'a>(input: &Input<'a>) -> Option<(&'a NodeFacts, &'a NodeFacts)> {
    let checking: Checking<'a> = input.checks?;
    let before = checking.before.filter(|before| before.boot == input.boot)?;
    (checking.facts.at > before.at).then_some((checking.facts, before))
}

fn said(facts: &NodeFacts) -> Option<&NicFacts> {
    facts.nic.as_ref()?.said.as_ref()
}

/// Interfaces first: it is them that the log names.
fn all<'a>(now: &'a NicFacts, old: &'a NicFacts) -> impl Iterator<Item = (Resource, u64)> + 'a {
    let interfaces = now.interfaces.iter().filter_map(|interface| {
        let then = old.interface(&interface.name)?;
        Some((Resource::Nic(interface.name.clone()), of_interface(interface, then)?))
    });
    let ports = now.ports.iter().filter_map(|port| {
        let then = old.port(&port.device, port.port)?;
        Some((port.resource(), of_port(port, then)?))
    });
    interfaces.chain(ports)
}

/// `None` where a counter is not told, or stands lower than before: it was reset.
fn of_interface(now: &NetInterface, then: &NetInterface) -> Option<u64> {
    now.carrier_down?.checked_sub(then.carrier_down?)
}

fn of_port(now: &RdmaPort, then: &RdmaPort) -> Option<u64> {
    now.counter("link_downed")?.checked_sub(then.counter("link_downed")?)
}

/// Whether the counters have told of this line already: it was written before the last look at them, and read only now.
pub(super) fn has_told(input: &Input<'_>, line: &Event) -> bool {
    let last = input.checks.iter().flat_map(|checking| checking.last).find(|state| state.name == CHECK);
    last.is_some_and(|last| {
        !matches!(last.state, CheckWord::Disabled | CheckWord::Blind)
            && last.boot == input.boot
            && line.boot == input.boot
            && line.at <= last.at
    })
}

impl Bench<'_, '_> {
    /// What the counters of a link tell beyond what the log told of the time between the two looks.
    pub(super) fn count_link(&mut self, rule: &Rule, threshold: &Threshold, rise: &Rise) {
        let names = Names::new(self.input);
        let its = |engine: &&Engine| {
            engine.rule == rule.name
                && !engine.identity.starts_with(DRILL)
                && names.are_one(&engine.resource, &rise.place)
        };
        let of_link: Vec<&Engine> = self.engines.values().filter(its).collect();
        let place = of_link.first().map_or_else(|| rise.place.clone(), |engine| engine.resource.clone());
        let told =
            of_link.iter().flat_map(|engine| &engine.occurrences).filter(|known| known.at > rise.since);
        let told = told.fold(0_u64, |sum, known| sum.saturating_add(known.times));
        let untold = rise.times.saturating_sub(told);
        // What was lost before a repair, or after it, in one look nobody can tell: the repair has the benefit of the doubt.
        let begun = Occurrence::at(rise.since);
        if untold > 0 && !self.was_before_a_repair(rule, &place, &begun) {
            self.count(rule, threshold, place, Occurrence { times: untold, ..Occurrence::at(rise.at) }, None);
        }
    }
}
