//! Checks of network adapters: InfiniBand and RoCE ports, interfaces, their firmware. What nobody ever saw up is not down by
//! fault: a port counts as wanted when the site, the baseline or an earlier look in this boot says so.
mod errors;
mod link;
mod modules;

pub(super) use errors::{ERRORS, FLAPS};
pub(super) use link::{FIRMWARE, INTERFACE, PORT, RATE};
pub(super) use modules::MODULES;

use super::{Check, CheckInput, Findings};
use crate::facts::Area;
use crate::facts::nic::{NicFacts, RdmaPort};
use crate::{CauseClass, Resource};

/// What checks of adapters are: noted by the health check.
const NIC: Check = Check { reads: &[Area::Nic], class: CauseClass::Network, ..Check::HOST };

/// What was read of the adapters. One that this check held for bad and that is not there any more is not good again.
fn nics<'a>(input: &CheckInput<'a>, findings: &mut Findings) -> Option<&'a NicFacts> {
    let nics = input.facts.nic.as_ref()?.said.as_ref()?;
    input.blind_on_gone(findings, |known| {
        nics.ports.iter().any(|port| resource(port) == *known)
            || matches!(known, Resource::Service(_))
            || nics.interfaces.iter().any(|interface| Resource::Nic(interface.name.clone()) == *known)
    });
    Some(nics)
}

fn nics_before<'a>(input: &CheckInput<'a>) -> Option<&'a NicFacts> {
    input.before?.nic.as_ref()?.said.as_ref()
}

fn resource(port: &RdmaPort) -> Resource {
    port.resource()
}

#[cfg(test)]
mod tests;
