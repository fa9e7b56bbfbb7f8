//! Are the links up, at their rate, with one firmware.
use std::collections::BTreeMap;

use super::super::expect::said;
use super::super::{Check, CheckInput, Findings};
use super::{NIC, nics, nics_before, resource};
use crate::facts::nic::{NicFacts, RdmaPort};
use crate::{CauseClass, Resource};

/// A port that should pass data and does not.
pub(in super::super) const PORT: Check = Check {
    name: "nic_port",
    finds: "an InfiniBand or RoCE port that is not active and should be",
    fault: "nic.link",
    bad_for_s: 60,
    evaluate: port,
    ..NIC
};

fn port(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(nics) = nics(input, findings) else { return };
    let up = nics.ports.iter().filter(|port| port.is_up()).count();
    findings.value(format!("{up} of {} ports up", nics.ports.len()));
    for port in nics.ports.iter().filter(|port| !port.is_up()) {
        if let Some(source) = wanted_up(input, port) {
            findings.likely(
                resource(port),
                format!("{} port {}: {} ({}), {source}", port.device, port.port, port.state, port.phys_state),
            );
        }
    }
    for (name, source) in wanted_ports(input) {
        if nics.ports.iter().all(|port| port.device != name) && nics.interface(&name).is_none() {
            let gone = Resource::Nic(name.clone());
            // That it is gone is the finding here, from the second look on too.
            findings.blind.retain(|(on, _)| on.as_ref() != Some(&gone));
            findings.likely(gone, format!("{name}: not there, {source}"));
        }
    }
}

/// Who says that the port should be up; `None`: nobody does.
fn wanted_up(input: &CheckInput<'_>, port: &RdmaPort) -> Option<&'static str> {
    let told = input.expect.nics.iter().find(|nic| nic.name == port.device);
    if let Some(told) = told {
        return told.wants_up().then_some("expected up by [expect]");
    }
    if let Some(then) = input.baseline.and_then(|baseline| baseline.port(&port.device, port.port)) {
        return then.up.then_some("up when the baseline was learned");
    }
    let was_up = nics_before(input)
        .and_then(|before| before.port(&port.device, port.port))
        .is_some_and(RdmaPort::is_up);
    // The look before this one may have seen it down already: that it was called bad then is remembered.
    (was_up || input.was_bad(&resource(port))).then_some("up earlier in this boot")
}

/// Adapters that should be there at all.
fn wanted_ports(input: &CheckInput<'_>) -> Vec<(String, &'static str)> {
    let told = input.expect.nics.iter().map(|nic| (nic.name.clone(), "expected by [expect]"));
    let learned = input.baseline.into_iter().flat_map(|baseline| &baseline.ports);
    let learned = learned.map(|port| (port.device.clone(), "there when the baseline was learned"));
    let mut all: Vec<_> = told.chain(learned).collect();
    all.dedup_by(|a, b| a.0 == b.0);
    all
}

/// A cable or transceiver that came up with fewer lanes or at an older speed.
pub(in super::super) const RATE: Check = Check {
    name: "nic_rate",
    finds: "an active port slower than expected",
    fault: "nic.rate",
    bad_for_s: 60,
    evaluate: rate,
    ..NIC
};

fn rate(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(nics) = nics(input, findings) else { return };
    for port in nics.ports.iter().filter(|port| port.is_up()) {
        let Some(now) = port.rate_mbps else { continue };
        let told = input.expect.nics.iter().find(|nic| nic.name == port.device);
        let told = told.and_then(|nic| nic.rate_gbps).map(|gbps| (u64::from(gbps) * 1_000, "by [expect]"));
        let learned = || {
            let then = input.baseline?.port(&port.device, port.port)?.rate_mbps?;
            Some((then, "when the baseline was learned"))
        };
        let Some((wanted, source)) = told.or_else(learned) else { continue };
        if now < wanted {
            findings.likely(
                resource(port),
                format!("{} port {}: {} Gb/s, {} {source}", port.device, port.port, gbps(now), gbps(wanted)),
            );
        }
    }
}

/// `400`, `2.5`.
pub(in super::super) fn gbps(mbps: u64) -> String {
    match mbps % 1_000 {
        0 => (mbps / 1_000).to_string(),
        rest => format!("{}.{}", mbps / 1_000, format!("{rest:03}").trim_end_matches('0')),
    }
}

/// Ethernet, and IP over InfiniBand.
pub(in super::super) const INTERFACE: Check = Check {
    name: "nic_interface",
    finds: "a network interface without carrier that had one, or slower than it was",
    fault: "nic.link",
    bad_for_s: 60,
    evaluate: interface,
    ..NIC
};

fn interface(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(nics) = nics(input, findings) else { return };
    for interface in &nics.interfaces {
        let resource = Resource::Nic(interface.name.clone());
        let told = input.expect.nics.iter().find(|nic| nic.name == interface.name);
        let then = input.baseline.and_then(|baseline| baseline.interface(&interface.name));
        if interface.is_down() {
            let earlier = nics_before(input).and_then(|before| before.interface(&interface.name));
            let source = match (told, then) {
                (Some(told), _) if told.wants_up() => "expected up by [expect]",
                (None, Some(then)) if then.up => "up when the baseline was learned",
                (None, None)
                    if earlier.is_some_and(|old| old.carrier == Some(true)) || input.was_bad(&resource) =>
                {
                    "up earlier in this boot"
                }
                _ => continue,
            };
            findings.likely(resource, format!("{}: no carrier, {source}", interface.name));
            continue;
        }
        let wanted = told
            .and_then(|told| told.rate_gbps)
            .map(|gbps| u64::from(gbps) * 1_000)
            .or(then.and_then(|then| then.rate_mbps));
        if let Some((now, wanted)) = interface.speed_mbps.zip(wanted).filter(|(now, wanted)| now < wanted) {
            findings.likely(
                resource,
                format!("{}: {} Gb/s, {} expected", interface.name, gbps(now), gbps(wanted)),
            );
        }
    }
}

/// The same board with two firmwares is what an interrupted update leaves behind.
pub(in super::super) const FIRMWARE: Check = Check {
    name: "nic_firmware",
    finds: "adapters of one kind with different firmware, or another firmware or OFED than expected",
    class: CauseClass::System,
    good_for_s: 0,
    evaluate: firmware,
    ..NIC
};

fn firmware(input: &CheckInput<'_>, findings: &mut Findings) {
    let Some(nics) = nics(input, findings) else { return };
    let mut of_board: BTreeMap<&str, BTreeMap<&str, Vec<&RdmaPort>>> = BTreeMap::new();
    for port in &nics.ports {
        if let Some((board, firmware)) = port.board.as_deref().zip(port.firmware.as_deref()) {
            of_board.entry(board).or_default().entry(firmware).or_default().push(port);
        }
    }
    for versions in of_board.values().filter(|versions| versions.len() > 1) {
        let Some(common) = versions.iter().max_by_key(|(_, ports)| ports.len()).map(|(version, _)| *version)
        else {
            continue;
        };
        for (version, ports) in versions.iter().filter(|(version, _)| **version != common) {
            for port in ports {
                findings.certain(
                    resource(port),
                    format!("{}: firmware {version}, {common} on others of the same board", port.device),
                );
            }
        }
    }
    for port in &nics.ports {
        let told = input.expect.nics.iter().find(|nic| nic.name == port.device);
        let wanted = told.and_then(|nic| nic.firmware.as_deref());
        if let Some((now, wanted)) =
            port.firmware.as_deref().zip(wanted).filter(|(now, wanted)| now != wanted)
        {
            findings.certain(resource(port), format!("{}: firmware {now}, {wanted} expected", port.device));
        }
    }
    ofed(input, nics, findings);
}

/// The driver package of the adapters, which a kernel update may have replaced by the kernel's own driver.
fn ofed(input: &CheckInput<'_>, nics: &NicFacts, findings: &mut Findings) {
    let told = said(&input.expect.ofed).map(|wanted| (wanted, "expected by [expect]"));
    let learned = || Some((input.baseline?.mlx5.as_deref()?, "when the baseline was learned"));
    let Some((wanted, source)) = told.or_else(learned) else { return };
    // Without such an adapter nothing is loaded; that one is missing is another check's finding.
    if nics.ports.is_empty() || nics.mlx5.as_deref() == Some(wanted) {
        return;
    }
    let now = nics.mlx5.as_deref().unwrap_or("the kernel's own");
    findings.certain(
        Resource::Service("mlx5_core".to_owned()),
        format!("driver mlx5_core: {now}, {wanted} {source}"),
    );
}
