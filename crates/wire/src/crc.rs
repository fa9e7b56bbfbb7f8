//! CRC-32 (IEEE 802.3), as zlib, gzip and PNG have it. Four bits a step: its table is 64 bytes of the plugin, and a
//! record takes less than a microsecond.

const POLYNOMIAL: u32 = 0xedb8_8320;

const TABLE: [u32; 16] = table();

const fn table() -> [u32; 16] {
    let mut table = [0; 16];
    let mut nibble: usize = 0;
    while nibble < 16 {
        let mut crc = nibble as u32;
        let mut bit = 0;
        while bit < 4 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[nibble] = crc;
        nibble += 1;
    }
    table
}

/// The checksum of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| TABLE[(crc & 0xf) as usize] ^ (crc >> 4);
    !bytes.iter().fold(!0, |crc, byte| step(step(crc ^ u32::from(*byte))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn the_check_value_of_the_standard() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(super::crc32(b""), 0);
    }

    proptest! {
        #[test]
        fn it_is_the_remainder_bit_by_bit(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let bit = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ super::POLYNOMIAL } else { crc >> 1 };
            let slow = !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit));
            prop_assert_eq!(super::crc32(&bytes), slow);
        }
    }
}
