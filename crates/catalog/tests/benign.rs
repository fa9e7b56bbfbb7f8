//! A healthy node's log says nothing that would take the node out. The generator writes what such nodes write: boot,
//! containers, services, USB consoles, audit, network cards coming up, and the rare errors that hardware corrects.
mod healthy;

use healthy::{BOOT, log};
use triage_catalog::embedded;
use triage_core::catalog::Origin;
use triage_core::{Advice, CauseClass, Role};

#[test]
fn a_healthy_log_takes_no_node_out_and_blames_no_hardware_beyond_watching() {
    let catalog = embedded();
    let text = log(20_000, 7);
    let mut seen = 0;
    catalog.for_each_hit(Origin::Kernel, text.as_bytes(), |hit| {
        seen += 1;
        let line = String::from_utf8_lossy(&text.as_bytes()[hit.line.clone()]).into_owned();
        let m = &hit.meaning;
        assert!(!m.action.wants_node_out(), "{} suggests {} for {line}", m.code, m.action);
        assert!(
            matches!(m.action, Advice::None | Advice::Watch),
            "{} suggests {} for {line}",
            m.code,
            m.action
        );
        let blames = m.class == CauseClass::Hardware && m.confidence >= triage_core::Confidence::Probable;
        assert!(!blames || m.role < Role::Either, "{} blames hardware for {line}", m.code);
    });
    assert!(seen > 500, "the generator wrote nothing that is recognised: it tests nothing");
}

#[test]
fn most_boot_lines_have_no_meaning_at_all() {
    let catalog = embedded();
    let meant: Vec<&&str> = BOOT
        .iter()
        .filter(|line| {
            catalog.read(Origin::Kernel, line.as_bytes()).is_some_and(|m| m.class != CauseClass::None)
        })
        .collect();
    // What is left is watched: links that go down at boot, an unused cage, slot power.
    assert!(meant.len() <= 5, "{meant:#?}");
}

#[test]
fn other_seeds_make_no_difference() {
    let catalog = embedded();
    for seed in 0..20 {
        let text = log(500, seed);
        catalog.for_each_hit(Origin::Kernel, text.as_bytes(), |hit| {
            assert!(!hit.meaning.action.wants_node_out())
        });
    }
}
