//! One thing under two names. The kernel names a filesystem by its device, a state check by where it is mounted; an Ethernet
//! port of an RDMA adapter is an interface to the one and a port to the other. What this pass or the look before it read of
//! the node says which two names are of one thing, so that one fault is one case.
use crate::Resource;
use crate::checks::Checking;
use crate::facts::host::Mount;
use crate::facts::nic::NicFacts;
use crate::facts::{NodeFacts, Sheet};
use crate::pipeline::Input;

/// Tells whether two names are of one thing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    now: Option<&'a NodeFacts>,
    before: Option<&'a NodeFacts>,
}

impl<'a> Names<'a> {
    /// By what is known in this pass. Nothing is looked up before it is asked for.
    pub(crate) fn new(input: &Input<'a>) -> Self {
        let checking: Option<Checking<'a>> = input.checks;
        let before = checking.and_then(|checking| checking.before);
        Self {
            now: checking.map(|checking| checking.facts),
            before: before.filter(|before| before.boot == input.boot),
        }
    }

    /// By facts that were read of the node.
    pub(crate) const fn of(facts: Option<&'a NodeFacts>) -> Self {
        Self { now: facts, before: None }
    }

    /// Whether `a` and `b` are one thing.
    pub(crate) fn are_one(&self, a: &Resource, b: &Resource) -> bool {
        if a == b {
            return true;
        }
        match (a, b) {
            (Resource::Fs(a), Resource::Fs(b)) => self
                .said(|facts| facts.mounts.as_ref())
                .is_some_and(|mounts| mounts.mounted.iter().any(|m| is_at(m, a, b) || is_at(m, b, a))),
            (Resource::Nic(a), Resource::Nic(b)) => self
                .said(|facts| facts.nic.as_ref())
                .is_some_and(|nics| is_port_of(nics, a, b) || is_port_of(nics, b, a)),
            _ => false,
        }
    }

    fn said<T>(&self, part: impl Fn(&'a NodeFacts) -> Option<&'a Sheet<T>>) -> Option<&'a T> {
        let of = |facts: Option<&'a NodeFacts>| part(facts?)?.said.as_ref();
        of(self.now).or_else(|| of(self.before))
    }
}

fn is_at(mount: &Mount, path: &str, kernels: &str) -> bool {
    mount.path == path && is_device(mount, kernels)
}

/// Whether the mount is of the device that the kernel calls so: `nvme0n1p1`; of `/dev/mapper/vg-scratch` it says `dm-3`, and
/// of a named array `md127`, where the number is the device's minor one.
fn is_device(mount: &Mount, kernels: &str) -> bool {
    let Some(name) = mount.source.strip_prefix("/dev/") else { return false };
    let Some((major, minor)) = mount.device.split_once(':') else { return name == kernels };
    // The block major of md is 9 (Documentation/admin-guide/devices.txt); device mapper's is given out at boot.
    let mapped = name.contains('/') && kernels.strip_prefix("dm-") == Some(minor);
    let array = major == "9" && kernels.strip_prefix("md") == Some(minor);
    name == kernels || mapped || array
}

/// Whether the RDMA device and the interface are one PCI function with one of each.
fn is_port_of(nics: &NicFacts, device: &str, interface: &str) -> bool {
    let Some(pci) = nics.interface(interface).and_then(|interface| interface.pci) else { return false };
    let mut ports = nics.ports.iter().filter(|port| port.pci == Some(pci));
    let only_port = ports.next().is_some_and(|port| port.device == device) && ports.next().is_none();
    only_port && nics.interfaces.iter().filter(|interface| interface.pci == Some(pci)).count() == 1
}
