//! What a fault is about. GPU names come in many spellings; they are parsed once, here.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A PCI function, canonical as `dddd:bb:dd.f`, lower case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// Domain (segment). NVML prints eight digits, the kernel four.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device (slot), 0 to 31.
    pub device: u8,
    /// Function, 0 to 7.
    pub function: u8,
}

/// The text is no PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no PCI address: expected domain:bus:device[.function] in hex, such as 0000:61:00.0")]
pub struct BadPciAddress(String);

impl FromStr for PciAddress {
    type Err = BadPciAddress;

    /// Reads `0000:61:00`, `0000:61:00.0`, `00000000:61:00.0`, `61:00.0` and a leading `PCI:`, in either case.
    fn from_str(text: &str) -> Result<Self, BadPciAddress> {
        parse_pci(text).ok_or_else(|| BadPciAddress(text.chars().take(40).collect()))
    }
}

fn parse_pci(text: &str) -> Option<PciAddress> {
    let text = text.trim();
    let text = text.strip_prefix("PCI:").unwrap_or(text);
    let (rest, function) = match text.split_once('.') {
        Some((rest, function)) => (rest, hex(function, 1)?),
        None => (text, 0),
    };
    let mut parts = rest.rsplit(':');
    let device = hex(parts.next()?, 2)?;
    let bus = hex(parts.next()?, 2)?;
    let domain = parts.next().map_or(Some(0), |d| hex(d, 8))?;
    if parts.next().is_some() || device > 31 || function > 7 {
        return None;
    }
    Some(PciAddress {
        domain,
        bus: u8::try_from(bus).ok()?,
        device: u8::try_from(device).ok()?,
        function: u8::try_from(function).ok()?,
    })
}

fn hex(text: &str, max_digits: usize) -> Option<u32> {
    let ok = !text.is_empty() && text.len() <= max_digits && text.bytes().all(|b| b.is_ascii_hexdigit());
    ok.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

/// What an event, a case or a culprit is about. Written `kind:name`; `host` stands alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// A GPU by PCI address: `gpu:0000:61:00.0`.
    Gpu(PciAddress),
    /// A GPU known only by its index on the node: `gpu:3`. Weaker than an address: indices move.
    GpuIndex(u32),
    /// An NVSwitch: `nvswitch:0000:05:00.0`.
    NvSwitch(PciAddress),
    /// Any other PCI function: `pci:0000:00:01.1`.
    Pci(PciAddress),
    /// A network device: `nic:mlx5_0`, `nic:eth0`.
    Nic(String),
    /// A filesystem or its server: `fs:/scratch`, `fs:scratch-OST0007`.
    Fs(String),
    /// A block device or array: `disk:nvme0n1`.
    Disk(String),
    /// Host memory, down to the DIMM label where known: `dimm:CPU0_C1`.
    Dimm(String),
    /// A CPU or socket: `cpu:12`.
    Cpu(String),
    /// A service or kernel module of the node: `service:nvidia-fabricmanager`.
    Service(String),
    /// A process: `process:4711`.
    Process(u32),
    /// A rank of a job: `rank:19`.
    Rank(u32),
    /// The job itself.
    Job,
    /// The node as a whole.
    Host,
    /// One of our own sources: `source:nvml`.
    Source(String),
    /// A kind this version does not know, kept as written.
    Other(String),
}

impl Resource {
    /// The GPU or switch address, where the resource is one.
    pub const fn pci(&self) -> Option<PciAddress> {
        match self {
            Self::Gpu(a) | Self::NvSwitch(a) | Self::Pci(a) => Some(*a),
            _ => None,
        }
    }

    fn parse(text: &str) -> Self {
        let other = || Self::Other(text.to_owned());
        if text == "host" {
            return Self::Host;
        }
        if text == "job" {
            return Self::Job;
        }
        let Some((kind, name)) = text.split_once(':') else { return other() };
        let pci = || name.parse::<PciAddress>().ok();
        match kind {
            "gpu" => match (pci(), name.parse()) {
                (_, Ok(index)) => Self::GpuIndex(index),
                (Some(address), _) => Self::Gpu(address),
                _ => other(),
            },
            "nvswitch" => pci().map_or_else(other, Self::NvSwitch),
            "pci" => pci().map_or_else(other, Self::Pci),
            "nic" => Self::Nic(name.to_owned()),
            "fs" => Self::Fs(name.to_owned()),
            "disk" => Self::Disk(name.to_owned()),
            "dimm" => Self::Dimm(name.to_owned()),
            "cpu" => Self::Cpu(name.to_owned()),
            "service" => Self::Service(name.to_owned()),
            "process" => name.parse().map_or_else(|_| other(), Self::Process),
            "rank" => name.parse().map_or_else(|_| other(), Self::Rank),
            "source" => Self::Source(name.to_owned()),
            _ => other(),
        }
    }
}

impl From<&str> for Resource {
    /// Never fails: what is not understood is kept as [`Resource::Other`].
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpu(a) => write!(f, "gpu:{a}"),
            Self::GpuIndex(i) => write!(f, "gpu:{i}"),
            Self::NvSwitch(a) => write!(f, "nvswitch:{a}"),
            Self::Pci(a) => write!(f, "pci:{a}"),
            Self::Nic(n) => write!(f, "nic:{n}"),
            Self::Fs(n) => write!(f, "fs:{n}"),
            Self::Disk(n) => write!(f, "disk:{n}"),
            Self::Dimm(n) => write!(f, "dimm:{n}"),
            Self::Cpu(n) => write!(f, "cpu:{n}"),
            Self::Service(n) => write!(f, "service:{n}"),
            Self::Process(p) => write!(f, "process:{p}"),
            Self::Rank(r) => write!(f, "rank:{r}"),
            Self::Job => f.write_str("job"),
            Self::Host => f.write_str("host"),
            Self::Source(n) => write!(f, "source:{n}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Serialize for Resource {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Resource {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d).map(|text| Self::parse(&text))
    }
}

impl Serialize for PciAddress {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PciAddress {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_gpu_are_one_address() {
        for text in
            ["0000:61:00.0", "00000000:61:00.0", "0000:61:00", "PCI:0000:61:00", "61:00.0", "0000:61:00.0 "]
        {
            assert_eq!(text.parse::<PciAddress>().unwrap().to_string(), "0000:61:00.0", "{text}");
        }
        assert_eq!("0002:C1:1F.7".parse::<PciAddress>().unwrap().to_string(), "0002:c1:1f.7");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            ":",
            "0000:61",
            "0000:61:20.0",
            "0000:61:00.8",
            "g:61:00.0",
            "1:2:3:4",
            "0000:61:00.0.0",
            "+1:00.0",
        ] {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn gpu_by_index_and_by_address_are_told_apart() {
        assert_eq!(Resource::from("gpu:3"), Resource::GpuIndex(3));
        assert!(matches!(Resource::from("gpu:0000:03:00"), Resource::Gpu(_)));
        assert!(matches!(Resource::from("gpu:GPU-abc"), Resource::Other(_)));
    }

    proptest! {
        #[test]
        fn any_text_is_a_resource_that_reads_back(text in ".*") {
            let resource = Resource::from(text.as_str());
            prop_assert_eq!(Resource::from(resource.to_string().as_str()), resource);
        }
    }
}
