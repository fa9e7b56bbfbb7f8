//! What failed and says it is well again: a link that came up, a server that answers, an array that was rebuilt.
//!
//! Some of it is believed at once, some only when it has stayed well for a while. The moment of the recovery is kept with
//! the case in the ledger, so that the time also runs across passes and restarts; new evidence voids it. While a state check
//! still finds the same thing bad, no word of recovery is believed.
use super::{CaseBook, Detector, faults};
use crate::pipeline::Input;
use crate::serd::{Engine, Occurrence};
use crate::{Case, CaseState, ClearedBy, Event, Provenance, Role, Stamp, checks};

pub(super) const DETECTOR: Detector = Detector { name: "recovery", detect };

/// The name under which the moment is kept, beside the counts of repeats.
const MARK: &str = "recovered";

/// Faults that a message of their own ends, with the seconds the recovery must hold. A link that came up must stay up: ten
/// minutes are longer than any flapping seen in reports from the field.
const MENDS: &[(&str, i64)] = &[
    ("disk.path", 600),
    ("fs.lustre", 0),
    ("fs.network", 0),
    ("fs.nfs", 0),
    ("nic.firmware", 600),
    ("nic.link", 600),
    ("nic.queue", 600),
    ("nic.thermal", 600),
    ("raid.degraded", 0),
    ("service.failed", 60),
];

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    forget_closed(input, book);
    let open: Vec<Case> = book.open().cloned().collect();
    for case in &open {
        let Some((_, settle_s)) = MENDS.iter().find(|(fault, _)| *fault == case.fault) else { continue };
        let known = mark_of(input, case);
        let new = events.iter().filter(|event| heals(input, event, case, book)).map(|event| event.at).max();
        // The first recovery since the last evidence counts: the link may say several times that it is up.
        let Some(at) = known.filter(|at| *at > case.last_seen).or(new) else {
            if known.is_some() {
                book.mark(mark(case, None));
            }
            continue;
        };
        if input.now.micros_since(at) >= settle_s * 1_000_000 && !checks::holds_bad(input, case) {
            book.mark(mark(case, None));
            book.close(&case.id, CaseState::Resolved, input.now, told(case, at, *settle_s));
        } else if known != Some(at) {
            book.mark(mark(case, Some(at)));
        }
    }
}

fn told(case: &Case, at: Stamp, settle_s: i64) -> String {
    match settle_s {
        0 => format!("{} was reported well again at {at}", case.resource),
        _ => format!("{} was reported well again at {at} and stayed so for {settle_s} s", case.resource),
    }
}

fn heals(input: &Input<'_>, event: &Event, case: &Case, book: &CaseBook<'_>) -> bool {
    event.role == Role::Recovery
        && event.provenance == Provenance::Trusted
        && event.synthetic == case.synthetic
        && book.are_one(&event.resource, &case.resource)
        && event.at > case.last_seen
        && (faults::fault_of(input.catalog, event.code.as_str()) == case.fault
            || (case.clears == ClearedBy::LinkUp && event.code.as_str() == "nic.link_up"))
}

fn mark_of(input: &Input<'_>, case: &Case) -> Option<Stamp> {
    let mine = |engine: &&Engine| engine.rule == MARK && engine.identity == case.id.as_str();
    input.past.engines.iter().find(mine)?.occurrences.last().map(|known| known.at)
}

/// Without a moment the mark is to be forgotten.
fn mark(case: &Case, at: Option<Stamp>) -> Engine {
    let mut engine = Engine::new(MARK.to_owned(), case.id.to_string(), case.resource.clone());
    engine.occurrences.extend(at.map(Occurrence::at));
    engine
}

/// A person or another proof closed the case before its time was up.
fn forget_closed(input: &Input<'_>, book: &mut CaseBook<'_>) {
    let is_open = |engine: &Engine| book.open().any(|case| case.id.as_str() == engine.identity);
    let left: Vec<Engine> =
        input.past.engines.iter().filter(|e| e.rule == MARK && !is_open(e)).cloned().collect();
    for mut engine in left {
        engine.reset();
        book.mark(engine);
    }
}
