//! Errors on the wire and links that come and go, from the growth of the kernel's counters since the look before.
use super::super::gpu::rate;
use super::super::{Check, CheckInput, Findings, Threshold};
use super::{NIC, nics, nics_before, resource};
use crate::Resource;
use crate::facts::nic::RdmaPort;

/// Counters of damage on the wire, with what each is called.
const WIRE: &[(&str, &str)] = &[
    ("symbol_error", "symbol errors"),
    ("port_rcv_errors", "damaged packets"),
    ("local_link_integrity_errors", "link integrity errors"),
    ("excessive_buffer_overrun_errors", "buffer overruns"),
    ("rx_icrc_encapsulated", "packets with a wrong checksum"),
];

/// More of them than a good cable has.
pub(in super::super) const ERRORS: Check = Check {
    name: "nic_errors",
    finds: "errors on the wire of a port at a high rate",
    threshold: Some(Threshold {
        value: 120.0,
        unit: "errors of one kind an hour, at least",
        source: "the bit error rate of 1e-12 that InfiniBand allows, at its first speed: about two errors a minute",
    }),
    fault: "nic.errors",
    good_for_s: 3_600,
    evaluate: errors,
    ..NIC
};

fn errors(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some((now, before)) = nics(input, findings).zip(nics_before(input)) else { return };
    for port in &now.ports {
        if port.counters_refused {
            findings.blind_on(
                resource(port),
                format!("{}: the firmware refuses its error counters", port.device),
            );
            continue;
        }
        let Some(old) = before.port(&port.device, port.port) else { continue };
        for (name, words) in WIRE {
            let Some(grown) = grown(port, old, name).filter(|grown| *grown > 0) else { continue };
            if rate(input, grown, 3_600.0).is_some_and(|hourly| hourly >= input.setting.threshold) {
                findings.likely(
                    resource(port),
                    format!("{} port {}: {grown} {words} since the last look", port.device, port.port),
                );
            }
        }
    }
}

/// A counter that stands lower than before was reset: nothing is known of the time between.
fn grown(now: &RdmaPort, old: &RdmaPort, name: &str) -> Option<u64> {
    now.counter(name)?.checked_sub(old.counter(name)?)
}

/// A link that went down and came back between two looks may show in its counters alone. How often the kernel told of it over
/// a day is the rate `link_flaps`.
pub(in super::super) const FLAPS: Check = Check {
    name: "nic_flaps",
    finds: "a link that went down and came back since the last look",
    threshold: Some(Threshold {
        value: 2.0,
        unit: "times between two looks, at least",
        source: "ours; others allow three in three hours, or five in a day",
    }),
    fault: "nic.flapping",
    good_for_s: 3_600,
    evaluate: flaps,
    ..NIC
};

#[expect(clippy::cast_precision_loss, reason = "a count of flaps")]
fn flaps(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some((now, before)) = nics(input, findings).zip(nics_before(input)) else { return };
    for port in now.ports.iter().filter(|port| !port.counters_refused) {
        let Some(old) = before.port(&port.device, port.port) else { continue };
        let downs = grown(port, old, "link_downed").unwrap_or(0);
        let recoveries = grown(port, old, "link_error_recovery").unwrap_or(0);
        if downs.saturating_add(recoveries) as f64 >= input.setting.threshold {
            findings.likely(
                resource(port),
                format!(
                    "{} port {}: {downs} times down and {recoveries} recoveries since the last look",
                    port.device, port.port
                ),
            );
        }
    }
    for interface in &now.interfaces {
        let old = before.interface(&interface.name).and_then(|old| old.carrier_down);
        let Some(downs) = interface.carrier_down.zip(old).and_then(|(now, old)| now.checked_sub(old)) else {
            continue;
        };
        if downs as f64 >= input.setting.threshold {
            findings.likely(
                Resource::Nic(interface.name.clone()),
                format!("{}: carrier lost {downs} times since the last look", interface.name),
            );
        }
    }
}
