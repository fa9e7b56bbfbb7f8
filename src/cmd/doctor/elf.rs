//! A number out of a shared library, without loading it: loading runs its code.
//!
//! Only what is needed of 64-bit little-endian ELF (System V gABI, chapters 4 and 5): the dynamic symbol table finds
//! the symbol's address, the program headers tell where in the file that is.

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const SHT_DYNSYM: u32 = 11;
const PT_LOAD: u32 = 1;
const SYMBOL_SIZE: u64 = 24;
/// Most symbols and sections looked at. A plugin exports a dozen.
const MOST: u64 = 65_536;

/// The 32-bit number that the exported object `symbol` of `file` holds.
///
/// `None` when the file is no such library, is damaged, or has no such object.
pub(super) fn number(file: &[u8], symbol: &str) -> Option<u32> {
    let elf = Elf(file);
    if !file.starts_with(MAGIC) {
        return None;
    }
    let address = elf
        .sections()
        .filter(|section| section.kind == SHT_DYNSYM)
        .find_map(|table| elf.address(&table, symbol))?;
    elf.u32(elf.offset(address)?)
}

struct Elf<'a>(&'a [u8]);

struct Section {
    kind: u32,
    offset: u64,
    size: u64,
    link: u64,
}

impl Elf<'_> {
    fn bytes<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let at = usize::try_from(at).ok()?;
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn u16(&self, at: u64) -> Option<u16> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: u64) -> Option<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: u64) -> Option<u64> {
        self.bytes(at).map(u64::from_le_bytes)
    }

    fn sections(&self) -> impl Iterator<Item = Section> + '_ {
        let count = self.u16(60).map_or(0, u64::from).min(MOST);
        (0..count).filter_map(|index| self.section(index))
    }

    fn section(&self, index: u64) -> Option<Section> {
        let at = self.u64(40)?.checked_add(u64::from(self.u16(58)?).checked_mul(index)?)?;
        Some(Section {
            kind: self.u32(at.checked_add(4)?)?,
            offset: self.u64(at.checked_add(24)?)?,
            size: self.u64(at.checked_add(32)?)?,
            link: self.u32(at.checked_add(40)?).map(u64::from)?,
        })
    }

    /// The address of a defined symbol of at least four bytes.
    fn address(&self, table: &Section, name: &str) -> Option<u64> {
        let strings = self.section(table.link)?;
        (0..(table.size / SYMBOL_SIZE).min(MOST)).find_map(|index| {
            let at = table.offset.checked_add(index * SYMBOL_SIZE)?;
            let defined = self.u16(at.checked_add(6)?)? != 0 && self.u64(at.checked_add(16)?)? >= 4;
            let text = strings.offset.checked_add(u64::from(self.u32(at)?))?;
            (defined && self.is_text(text, name)).then(|| self.u64(at.checked_add(8)?)).flatten()
        })
    }

    fn is_text(&self, at: u64, text: &str) -> bool {
        let found = usize::try_from(at).ok().and_then(|at| self.0.get(at..));
        found.and_then(|rest| rest.strip_prefix(text.as_bytes())).is_some_and(|rest| rest.first() == Some(&0))
    }

    /// Where in the file the byte at this address is.
    fn offset(&self, address: u64) -> Option<u64> {
        let (headers, size) = (self.u64(32)?, u64::from(self.u16(54)?));
        let count = self.u16(56).map_or(0, u64::from);
        (0..count).find_map(|index| {
            let at = headers.checked_add(size.checked_mul(index)?)?;
            let within = address.checked_sub(self.u64(at.checked_add(16)?)?)?;
            let loaded = self.u32(at)? == PT_LOAD && within < self.u64(at.checked_add(32)?)?;
            loaded.then(|| self.u64(at.checked_add(8)?)?.checked_add(within)).flatten()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A library with one load segment, one exported object `plugin_version` of this value, at address 0x1000 + 64.
    fn library(value: u32) -> Vec<u8> {
        let mut file = vec![0_u8; 0x200];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, MAGIC);
        put(32, &0x40_u64.to_le_bytes()); // program headers
        put(40, &0x100_u64.to_le_bytes()); // section headers
        put(54, &56_u16.to_le_bytes());
        put(56, &1_u16.to_le_bytes());
        put(58, &64_u16.to_le_bytes());
        put(60, &3_u16.to_le_bytes());
        put(0x40, &PT_LOAD.to_le_bytes());
        put(0x40 + 8, &0x80_u64.to_le_bytes()); // offset
        put(0x40 + 16, &0x1000_u64.to_le_bytes()); // address
        put(0x40 + 32, &0x80_u64.to_le_bytes()); // size
        put(0x80, b"\0plugin_version\0");
        put(0xa0 + 24, &1_u32.to_le_bytes()); // the second symbol
        put(0xa0 + 24 + 6, &1_u16.to_le_bytes());
        put(0xa0 + 24 + 8, &(0x1000_u64 + 0x70).to_le_bytes());
        put(0xa0 + 24 + 16, &4_u64.to_le_bytes());
        put(0xf0, &value.to_le_bytes());
        put(0x140 + 4, &SHT_DYNSYM.to_le_bytes());
        put(0x140 + 24, &0xa0_u64.to_le_bytes());
        put(0x140 + 32, &(2 * SYMBOL_SIZE).to_le_bytes());
        put(0x140 + 40, &2_u32.to_le_bytes());
        put(0x180 + 24, &0x80_u64.to_le_bytes());
        put(0x180 + 32, &0x10_u64.to_le_bytes());
        file
    }

    #[test]
    fn the_number_is_found_through_symbol_and_segment() {
        assert_eq!(number(&library(0x16_05_08), "plugin_version"), Some(0x16_05_08));
    }

    #[test]
    fn the_beginning_of_a_name_is_not_the_name() {
        let file = library(1);
        assert_eq!(number(&file, "plugin_versio"), None);
        assert_eq!(number(&file, "plugin_version2"), None);
        assert_eq!(number(&file, ""), None);
    }

    #[test]
    fn what_is_no_library_has_no_number() {
        for file in [&b""[..], b"\x7fELF", b"#!/bin/sh\n", &[0xff; 4096]] {
            assert_eq!(number(file, "plugin_version"), None);
        }
    }

    #[test]
    fn a_real_library_is_read_where_there_is_one() {
        // libc exports `_IO_stdin_used`-like objects under changing names; its own test is that nothing is found.
        if let Ok(file) = std::fs::read("/proc/self/exe") {
            assert_eq!(number(&file, "no_such_symbol_anywhere"), None);
        }
    }

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(at in 0_usize..0x200, byte: u8, cut in 0_usize..0x201) {
            let mut file = library(7);
            file[at] = byte;
            file.truncate(cut);
            let _ = number(&file, "plugin_version");
        }

        #[test]
        fn no_file_makes_it_panic(rest in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = number(&[MAGIC, &rest].concat(), "plugin_version");
        }
    }
}
