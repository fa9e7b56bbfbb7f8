//! What tells GPUs apart, made up so that it is the same in every process and differs between nodes and GPUs.
use super::pci::PciAddress;
use super::values::Values;

/// Buses of the eight GPUs of a common eight-GPU server. A ninth GPU begins a second PCI domain.
const BUSES: [u8; 8] = [0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf];

/// A healthy GPU with an identity of its own.
pub(crate) fn of(node: &str, index: u32) -> Values {
    let high = hash(&format!("{node}/{index}/high"));
    let low = hash(&format!("{node}/{index}/low"));
    Values {
        uuid: format!(
            "GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        ),
        serial: format!("165{:010}", (high ^ low) % 10_000_000_000),
        pci: PciAddress { domain: index / 8, bus: BUSES[index as usize % 8], device: 0 },
        minor: index,
        ..Values::default()
    }
}

/// FNV-1a, 64 bits: spreads short texts well enough for made-up numbers and never changes.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
