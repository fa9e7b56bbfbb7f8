//! `/sys/class/infiniband` and `/sys/class/net`. Files alone: no tool is asked, and a counter that the firmware refuses once
//! is not asked for again in this boot, because each refusal is a line in the kernel's log.
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use triage_core::PciAddress;
use triage_core::facts::Sheet;
use triage_core::facts::nic::{HW_COUNTERS, NetInterface, NicFacts, PORT_COUNTERS, RdmaPort};

use super::attr;
use crate::proc::Root;

const RDMA: &str = "/sys/class/infiniband";
const NET: &str = "/sys/class/net";

const MLX5: &str = "/sys/module/mlx5_core/version";

/// Most ports and most interfaces that are kept.
const MAX_PORTS: usize = 128;

/// `IFF_UP` of `<linux/if.h>`.
const IFF_UP: u32 = 1;

/// Reads all ports and interfaces below `root`. `before`: what was read earlier in this boot, if anything was.
pub fn read(root: &Root, before: Option<&NicFacts>) -> Sheet<NicFacts> {
    let (ports, no_ports) = listed(&root.at(RDMA), |at, device| ports(at, device, before));
    let (interfaces, no_interfaces) =
        listed(&root.at(NET), |at, name| interface(at, name).into_iter().collect());
    let blind = no_ports.into_iter().chain(no_interfaces).collect();
    let mlx5 = attr::text(&root.at(MLX5));
    Sheet { said: Some(NicFacts { ports, interfaces, mlx5 }), blind, cost_us: 0 }
}

/// What `each` makes of every name in a folder. A folder that is not there holds nothing; one that cannot be read is said.
fn listed<T>(folder: &Path, each: impl Fn(&Path, &str) -> Vec<T>) -> (Vec<T>, Option<String>) {
    match attr::names(folder) {
        Ok(names) => {
            let all = names.iter().flat_map(|name| each(&folder.join(name), name));
            (all.take(MAX_PORTS).collect(), None)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
        Err(error) => (Vec::new(), Some(format!("{}: {error}", folder.display()))),
    }
}

fn ports(at: &Path, device: &str, before: Option<&NicFacts>) -> Vec<RdmaPort> {
    // A virtual function, and a device without hardware behind it (rxe, siw), is no port of this node.
    if at.join("device/physfn").exists() || !at.join("device").exists() {
        return Vec::new();
    }
    let numbers = attr::names(&at.join("ports")).unwrap_or_default();
    let firmware = attr::text(&at.join("fw_ver"));
    let board = attr::text(&at.join("board_id"));
    let pci = pci_of(&at.join("device"));
    let numbers = numbers.iter().filter_map(|number| number.parse::<u32>().ok());
    let port = |port| {
        let refused = before.and_then(|before| before.port(device, port)).is_some_and(|p| p.counters_refused);
        let folder = at.join("ports").join(port.to_string());
        let (counters, counters_refused) = if refused { (BTreeMap::new(), true) } else { counters(&folder) };
        RdmaPort {
            device: device.to_owned(),
            port,
            state: word(&folder.join("state")),
            phys_state: word(&folder.join("phys_state")),
            rate_mbps: attr::text(&folder.join("rate")).and_then(|text| rate(&text)),
            link_layer: attr::text(&folder.join("link_layer")).unwrap_or_default().to_ascii_lowercase(),
            firmware: firmware.clone(),
            board: board.clone(),
            pci,
            counters,
            counters_refused,
        }
    };
    numbers.map(port).collect()
}

/// `4: ACTIVE` as `active`, `5: LinkUp` as `linkup`.
fn word(path: &Path) -> String {
    let text = attr::text(path).unwrap_or_default();
    text.split_once(':').map_or(text.as_str(), |(_, word)| word).trim().to_ascii_lowercase()
}

/// `400 Gb/sec (4X NDR)` and `2.5 Gb/sec (1X SDR)`, in Mbit/s.
pub(super) fn rate(text: &str) -> Option<u64> {
    let number = text.split_once(" Gb/sec")?.0;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().ok()?;
    if !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{part:0<3}");
    whole.checked_mul(1000)?.checked_add(thousandths.get(..3)?.parse().ok()?)
}

/// The counters that are there, and whether the first refusal ended the reading.
fn counters(port: &Path) -> (BTreeMap<String, u64>, bool) {
    let mut values = BTreeMap::new();
    let all = PORT_COUNTERS
        .iter()
        .map(|name| ("counters", *name))
        .chain(HW_COUNTERS.iter().map(|name| ("hw_counters", *name)));
    for (folder, name) in all {
        match attr::bytes(&port.join(folder).join(name)) {
            Ok(bytes) => {
                let value = attr::clean(&bytes).and_then(|text| text.parse().ok());
                values.extend(value.map(|value| (name.to_owned(), value)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return (values, true),
        }
    }
    (values, false)
}

fn interface(at: &Path, name: &str) -> Option<NetInterface> {
    let device = at.join("device");
    // Bridges, bonds, tunnels, veth: nothing of theirs is hardware. A virtual function's link is its physical one's.
    if !device.exists() || device.join("physfn").exists() {
        return None;
    }
    let flags = attr::hex(&at.join("flags"));
    Some(NetInterface {
        name: name.to_owned(),
        operstate: attr::text(&at.join("operstate")).unwrap_or_default(),
        wanted: flags.is_some_and(|flags| flags & IFF_UP != 0),
        carrier: attr::number::<u8>(&at.join("carrier")).map(|carrier| carrier != 0),
        // -1: unknown.
        speed_mbps: attr::number::<i64>(&at.join("speed")).and_then(|speed| u64::try_from(speed).ok()),
        carrier_down: attr::number(&at.join("carrier_down_count")),
        driver: attr::link_name(&device.join("driver")),
        pci: pci_of(&device),
    })
}

/// The PCI function a `device` link points to.
fn pci_of(device: &Path) -> Option<PciAddress> {
    fs::read_link(device).ok()?.file_name()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests;
