//! CRC-32 (IEEE 802.3), bit by bit: a record is a few hundred bytes, a table would weigh more than it saves.

/// The checksum of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 },
        )
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_of_the_standard() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
