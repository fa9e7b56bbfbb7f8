//! A GPU's address on the PCI bus. NVML knows no functions: a GPU is always function 0.
use std::str::FromStr;

use serde::Deserialize;

/// Domain, bus and device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct PciAddress {
    pub(crate) domain: u32,
    pub(crate) bus: u8,
    pub(crate) device: u8,
}

impl PciAddress {
    /// As NVML prints it today: `00000000:61:00.0`.
    pub(crate) fn long(self) -> String {
        format!("{:08X}:{:02X}:{:02X}.0", self.domain, self.bus, self.device)
    }

    /// As NVML printed it before version 9: `0000:61:00.0`.
    pub(crate) fn legacy(self) -> String {
        format!("{:04X}:{:02X}:{:02X}.0", self.domain, self.bus, self.device)
    }
}

impl FromStr for PciAddress {
    type Err = String;

    /// Reads `[domain:]bus:device[.0]` in hex, either case.
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!("\"{text}\" is no PCI address of a GPU: expected domain:bus:device.0, as in 0000:61:00.0")
        };
        let parts: Vec<&str> = text.strip_suffix(".0").unwrap_or(text).split(':').collect();
        let (domain, bus, device) = match parts[..] {
            [domain, bus, device] => (hex(domain, 8), hex(bus, 2), hex(device, 2)),
            [bus, device] => (Some(0), hex(bus, 2), hex(device, 2)),
            _ => return Err(bad()),
        };
        let narrow = |part: Option<u32>| part.and_then(|part| u8::try_from(part).ok());
        match (domain, narrow(bus), narrow(device)) {
            (Some(domain), Some(bus), Some(device)) if device < 32 => Ok(Self { domain, bus, device }),
            _ => Err(bad()),
        }
    }
}

impl TryFrom<String> for PciAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// One to `digits` hexadecimal digits; no sign, which `from_str_radix` would take.
fn hex(text: &str, digits: usize) -> Option<u32> {
    let plain = (1..=digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_an_address_is_read() {
        let address = PciAddress { domain: 0, bus: 0x9d, device: 0 };
        for text in ["0000:9d:00.0", "00000000:9D:00.0", "9d:00.0", "0000:9d:00"] {
            assert_eq!(text.parse(), Ok(address), "{text}");
        }
        assert_eq!("00010000:01:1f.0".parse(), Ok(PciAddress { domain: 0x1_0000, bus: 1, device: 31 }));
    }

    #[test]
    fn what_is_no_gpu_address_is_refused() {
        for text in [
            "",
            ":",
            "0000:9d:00.1",
            "0000:9d:20.0",
            "000000000:9d:00.0",
            "+1:9d:00.0",
            "0000:9d:0g.0",
            "a:b:c:d",
        ] {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
    }
}
