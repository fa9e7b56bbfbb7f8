//! The health log of an NVMe controller, asked for by the child: the one command that is sent to a disk, and it only reads.
//! Laid out as in the NVM Express Base Specification 1.4, section 5.14.1.2, and Linux's `<linux/nvme_ioctl.h>`.
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use triage_core::facts::host::Health;

/// Size of the log, bytes.
const SIZE: usize = 512;

/// `NVME_IOCTL_ADMIN_CMD`: `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const ADMIN_COMMAND: libc::Ioctl = 0xC048_4E41_u32 as libc::Ioctl;

/// The opcode of Get Log Page.
const GET_LOG_PAGE: u8 = 0x02;

/// All namespaces: the controller's own log.
const CONTROLLER: u32 = 0xffff_ffff;

/// Log identifier 02h, and in the upper half the log's length in words of four bytes, less one. Without the bit that would
/// retain an event for somebody else: the kernel's own `nvme_hwmon` asks likewise, and older controllers do not know it.
#[expect(clippy::cast_possible_truncation, reason = "127")]
const HEALTH_LOG: u32 = 0x02 | ((SIZE as u32 / 4 - 1) << 16);

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11_to_15: [u32; 5],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<Command>() == 72);

/// Asks the controller of this character device (`/dev/nvme0`).
///
/// # Errors
/// When the device cannot be opened or takes no such command, or with the controller's own word when it refuses.
pub(super) fn ask(path: &str) -> io::Result<Health> {
    // One that is being reset refuses to be opened instead of keeping us.
    let device = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)?;
    let mut log = [0_u8; SIZE];
    let mut command = Command {
        opcode: GET_LOG_PAGE,
        nsid: CONTROLLER,
        addr: log.as_mut_ptr() as u64,
        #[expect(clippy::cast_possible_truncation, reason = "512")]
        data_len: SIZE as u32,
        cdw10: HEALTH_LOG,
        // None of our own: the kernel resets a controller whose admin command runs out of time (`nvme_timeout`), and to read must
        // change nothing. Its own limit, a minute, holds; who waits for us has a shorter one and goes on without this answer.
        timeout_ms: 0,
        ..Command::default()
    };
    // SAFETY: the command and the buffer it names, of the length it names, live through the call.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), ADMIN_COMMAND, &raw mut command) };
    match status {
        0 => parse(&log).ok_or_else(|| io::Error::other("the answer is no health log")),
        1.. => Err(io::Error::other(format!("NVMe status {status:#x}"))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the log says. `None` for nothing but ones, which is what a device that has left the bus reads as.
fn parse(log: &[u8; SIZE]) -> Option<Health> {
    let [warnings, low, high, spare, spare_min, used, ..] = *log;
    if log.iter().all(|byte| *byte == 0xff) {
        return None;
    }
    // Bytes 175:160. A count beyond 64 bits is as good as the largest.
    let errors = log.get(160..176)?.try_into().map(u128::from_le_bytes).ok()?;
    Some(Health {
        warnings: warnings.into(),
        kelvin: u16::from_le_bytes([low, high]).into(),
        spare: spare.into(),
        spare_min: spare_min.into(),
        used: used.into(),
        media_errors: u64::try_from(errors).unwrap_or(u64::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A log as the specification lays it out.
    fn log(warnings: u8, kelvin: u16, media_errors: u128) -> [u8; SIZE] {
        let mut log = [0; SIZE];
        log[0] = warnings;
        log[1..3].copy_from_slice(&kelvin.to_le_bytes());
        log[3..6].copy_from_slice(&[98, 10, 101]);
        // What lies around the field that is read: unsafe shutdowns, entries of the error log.
        log[144..160].fill(0xaa);
        log[160..176].copy_from_slice(&media_errors.to_le_bytes());
        log[176..192].fill(0xbb);
        log
    }

    #[test]
    fn the_log_is_read_where_the_specification_has_each_field() {
        let told = parse(&log(0b10_1101, 0x0141, 0x0102_0304)).unwrap();
        let wanted = Health {
            warnings: 0b10_1101,
            kelvin: 321,
            spare: 98,
            spare_min: 10,
            used: 101,
            media_errors: 0x0102_0304,
        };
        assert_eq!(told, wanted);
        assert_eq!(parse(&log(0, 300, u128::MAX)).unwrap().media_errors, u64::MAX);
    }

    #[test]
    fn a_device_off_the_bus_has_no_critical_warnings() {
        assert_eq!(parse(&[0xff; SIZE]), None);
    }

    #[test]
    fn what_is_no_controller_is_an_error_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nvme0");
        std::fs::write(&file, [0; SIZE]).unwrap();
        for path in [file.to_str().unwrap(), "/dev/null"] {
            assert_eq!(ask(path).unwrap_err().raw_os_error(), Some(libc::ENOTTY), "{path}");
        }
        let absent = folder.path().join("nvme1");
        assert_eq!(ask(absent.to_str().unwrap()).unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }

    proptest! {
        #[test]
        fn any_log_is_read_and_what_is_written_into_it_comes_out(
            mut bytes in proptest::collection::vec(any::<u8>(), SIZE),
            warnings in 0_u8..64,
            errors in any::<u64>(),
        ) {
            bytes[0] = warnings;
            bytes[160..176].copy_from_slice(&u128::from(errors).to_le_bytes());
            let told = parse(&bytes.try_into().unwrap()).unwrap();
            prop_assert_eq!((told.warnings, told.media_errors), (warnings.into(), errors));
        }
    }
}
