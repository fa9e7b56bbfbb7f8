//! `/sys/bus/pci/devices`. Only the functions of interest are read beyond their class, and of their configuration space only
//! the vendor number: it is what a function that has left the bus cannot answer.
use std::io;
use std::path::Path;

use triage_core::PciAddress;
use triage_core::facts::Sheet;
use triage_core::facts::pci::{AerCounts, PciDevice, PciFacts, PciKind, PcieLink};

use super::attr;
use crate::proc::Root;

const FOLDER: &str = "/sys/bus/pci/devices";
const NVIDIA: u32 = 0x10de;

/// Most extended capabilities of one function that are looked through; bridges have about ten.
const MAX_CAPABILITIES: u32 = 64;

/// Most functions that are kept: twice what any server holds.
const MAX_DEVICES: usize = 256;

/// Reads the bus below `root`. A machine without one has no devices, and that is no blindness.
pub fn read(root: &Root) -> Sheet<PciFacts> {
    let folder = root.at(FOLDER);
    match attr::names(&folder) {
        Ok(names) => Sheet::read(PciFacts {
            devices: names.iter().filter_map(|name| device(&folder, name)).take(MAX_DEVICES).collect(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Sheet::read(PciFacts::default()),
        Err(error) => Sheet::blind(format!("{}: {error}", folder.display())),
    }
}

fn device(bus: &Path, name: &str) -> Option<PciDevice> {
    let at = bus.join(name);
    let address: PciAddress = name.parse().ok()?;
    let vendor = attr::hex(&at.join("vendor"))?;
    let kind = kind(vendor, attr::hex(&at.join("class"))?);
    // A virtual function has its physical one, which is looked at.
    if kind == PciKind::Other || at.join("physfn").exists() {
        return None;
    }
    let model = attr::hex(&at.join("device")).unwrap_or(0);
    let (root_port, port) = bridges(&at, address);
    let above = port.map(|port| bus.join(port.to_string()));
    let of_port = |name: &str| above.as_ref().map(|at| at.join(name));
    Some(PciDevice {
        address,
        kind,
        id: format!("{vendor:04x}:{model:04x}"),
        driver: attr::link_name(&at.join("driver")),
        answers: answers(&at),
        link: PcieLink {
            speed: attr::text(&at.join("current_link_speed")).and_then(|text| speed(&text)),
            speed_max: attr::text(&at.join("max_link_speed")).and_then(|text| speed(&text)),
            width: width(&at.join("current_link_width")),
            width_max: width(&at.join("max_link_width")),
        },
        port,
        root_port,
        port_width_max: of_port("max_link_width").and_then(|path| width(&path)),
        port_speed_max: of_port("max_link_speed").and_then(|path| speed(&attr::text(&path)?)),
        aer: aer(&at),
        port_aer: above.as_ref().and_then(|at| aer(at)),
        port_redirects: above.as_ref().and_then(|at| {
            let config = attr::open(&at.join("config"))?;
            redirects(|at| attr::word(&config, at))
        }),
        iommu_group: attr::link_name(&at.join("iommu_group")).and_then(|group| group.parse().ok()),
        // -1: the firmware does not tell.
        numa: attr::number::<i32>(&at.join("numa_node")).and_then(|node| u32::try_from(node).ok()),
    })
}

/// By class code (PCI Code and ID Assignment Specification) and vendor.
fn kind(vendor: u32, class: u32) -> PciKind {
    match (vendor, class >> 8) {
        (NVIDIA, 0x0300 | 0x0302) => PciKind::Gpu,
        (NVIDIA, 0x0680) => PciKind::NvSwitch,
        (_, 0x0200 | 0x0207) => PciKind::Nic,
        _ => PciKind::Other,
    }
}

/// Whether the vendor number comes back from the function itself; the attribute `vendor` is the kernel's memory of it.
/// A function in D3cold is not woken for that.
fn answers(at: &Path) -> Option<bool> {
    if attr::text(&at.join("power_state")).is_some_and(|state| state == "D3cold") {
        return None;
    }
    let config = attr::open(&at.join("config"))?;
    attr::word(&config, 0).map(|vendor_and_device| vendor_and_device != u32::MAX)
}

/// `16.0 GT/s PCIe` of today's kernels and `8 GT/s` of older ones, in hundredths; `Unknown` is none.
pub(super) fn speed(text: &str) -> Option<u32> {
    let number = text.split_once(" GT/s")?.0;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u32 = whole.parse().ok()?;
    let tenth = part.bytes().next().filter(u8::is_ascii_digit)?;
    whole.checked_mul(100)?.checked_add(u32::from(tenth - b'0') * 10)
}

/// Lanes. A link that is down reads as 0, one that does not answer as 63 or 255.
fn width(path: &Path) -> Option<u32> {
    attr::number(path).filter(|lanes| (1..=32).contains(lanes))
}

/// Root port and the bridge right above, from where the device hangs in the tree:
/// `../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0`.
fn bridges(at: &Path, own: PciAddress) -> (Option<PciAddress>, Option<PciAddress>) {
    let Ok(target) = std::fs::read_link(at) else { return (None, None) };
    upstream(&target, own)
}

pub(super) fn upstream(target: &Path, own: PciAddress) -> (Option<PciAddress>, Option<PciAddress>) {
    let parts = target.iter().filter_map(|part| part.to_str());
    let mut addresses = parts.filter(|part| part.contains('.')).filter_map(|part| part.parse().ok());
    let mut above = addresses.by_ref().take_while(|address| *address != own);
    let first: Option<PciAddress> = above.next();
    (first, above.last().or(first))
}

/// Walks the extended capabilities, which begin at byte 256 and are only given to root, for Access Control Services (id 13,
/// PCI Express Base Specification), and looks at "P2P request redirect" (bit 2) of its control register.
pub(super) fn redirects(word: impl Fn(u64) -> Option<u32>) -> Option<bool> {
    const ACS: u32 = 13;
    let mut at = 0x100;
    // A ring of capabilities ends here as well: no bridge has more of them.
    for _ in 0..MAX_CAPABILITIES {
        let header = word(at)?;
        if header == 0 || header == u32::MAX {
            return None;
        }
        if header & 0xffff == ACS {
            return word(at + 4).map(|registers| registers >> 16 & 0b100 != 0);
        }
        at = Some(u64::from(header >> 20)).filter(|next| *next >= 0x100)?;
    }
    None
}

fn aer(at: &Path) -> Option<AerCounts> {
    let total = |name: &str| total(&attr::bytes(&at.join(name)).ok()?);
    Some(AerCounts {
        correctable: total("aer_dev_correctable")?,
        nonfatal: total("aer_dev_nonfatal")?,
        fatal: total("aer_dev_fatal")?,
    })
}

/// The line `TOTAL_ERR_COR 12`.
pub(super) fn total(bytes: &[u8]) -> Option<u64> {
    let text = str::from_utf8(bytes).ok()?;
    let line = text.lines().find(|line| line.starts_with("TOTAL_ERR_"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The device files of the GPUs, `/dev/nvidiaN`: their numbers.
pub(super) fn device_files(root: &Root) -> Vec<u32> {
    let names = attr::names(&root.at("/dev")).unwrap_or_default();
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix("nvidia")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests;
