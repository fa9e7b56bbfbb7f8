//! What a node had when it was admitted: who took it, which one holds, how many are kept.
use triage_core::baseline::{BaseGpu, Baseline, Learned};
use triage_ledger::{Batch, Filter, TrailFacts, Word};

use crate::support::*;

fn learned(serial: &str, why: &str) -> Learned {
    let gpu = BaseGpu { serial: Some(serial.to_owned()), ..BaseGpu::default() };
    let baseline = Baseline { at: T0, boot: boot(), gpus: vec![gpu], ..Baseline::default() };
    Learned { baseline, by: "ada".to_owned(), why: why.to_owned() }
}

#[test]
fn the_last_baseline_holds_and_each_is_on_the_trail() {
    let place = Place::new();
    let mut ledger = place.open();
    assert_eq!(ledger.baseline().unwrap(), None);
    let person = TrailFacts::default();
    for number in 0..40 {
        let learned = learned(&format!("S{number}"), "a reason");
        let now = T0.plus_secs(number);
        let word = Word { now, program: "slurm-triage", actor: "ada", reason: "a reason", person: &person };
        ledger.learn(&learned, &word).unwrap();
        assert_eq!(ledger.baseline().unwrap(), Some(learned));
    }
    let trail = ledger.audit(&Filter::default()).unwrap();
    let rows: Vec<_> = trail.iter().filter(|row| row.note.kind == "baseline.learned").collect();
    assert_eq!(rows.len(), 40);
    assert!(rows.iter().all(|row| row.note.actor == "ada" && row.note.text.contains("a reason")));
    drop(ledger);
    assert_eq!(ask::<i64>(&place.path(), "SELECT count(*) FROM baselines"), 32);
}

#[test]
fn what_the_health_check_learned_is_in_its_own_batch() {
    let place = Place::new();
    let mut ledger = place.open();
    let (node, boot) = (node(), boot());
    let mine = Learned { by: String::new(), ..learned("S1", "the first health check") };
    let batch = Batch { baseline: Some(&mine), ..Batch::new(T0, &node, &boot, "triage-healthcheck") };
    assert!(!batch.is_empty());
    let _ = ledger.record(&batch).unwrap();
    assert_eq!(ledger.baseline().unwrap(), Some(mine));
}
