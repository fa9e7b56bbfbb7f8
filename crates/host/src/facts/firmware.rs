//! What the BIOS told the kernel of the machine (SMBIOS), and the CPU's microcode. Readable by everybody, unlike the serial numbers
//! beside it, which are not read; no dmidecode.
use triage_core::facts::Sheet;
use triage_core::facts::host::Firmware;

use super::attr;
use crate::proc::Root;

const DMI: &str = "/sys/class/dmi/id";
const MICROCODE: &str = "/sys/devices/system/cpu/cpu0/microcode/version";

/// Longest value that is kept, characters.
const MAX_TEXT: usize = 128;

/// Reads what there is below `root`. `before`: what was read earlier in this boot, in which all but the microcode stays as it is.
/// Machines without SMBIOS (many ARM boards, some virtual ones) tell nothing.
pub(super) fn read(root: &Root, before: Option<&Firmware>) -> Sheet<Firmware> {
    let text = |path: String| Some(attr::text(&root.at(path))?.chars().take(MAX_TEXT).collect::<String>());
    let dmi = |name: &str| text(format!("{DMI}/{name}"));
    let stays = match before {
        Some(before) => before.clone(),
        None => Firmware {
            product: dmi("product_name"),
            board: dmi("board_name"),
            bios: dmi("bios_version"),
            bios_date: dmi("bios_date"),
            controller: dmi("ec_firmware_release"),
            microcode: None,
        },
    };
    Sheet::read(Firmware { microcode: text(MICROCODE.to_owned()), ..stays })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Machine;

    fn server(machine: &Machine) {
        for (name, text) in [
            ("sys/class/dmi/id/product_name", "DGXH100\n"),
            ("sys/class/dmi/id/board_name", "DGXH100\n"),
            ("sys/class/dmi/id/bios_version", "1.05.03\n"),
            ("sys/class/dmi/id/bios_date", "06/15/2024\n"),
            ("sys/class/dmi/id/board_serial", "secret\n"),
            ("sys/devices/system/cpu/cpu0/microcode/version", "0x2b0005c0\n"),
        ] {
            machine.file(name, text).unwrap();
        }
    }

    #[test]
    fn a_server_tells_its_bios_and_no_serial_number() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::new(folder.path());
        server(&machine);
        let firmware = read(&machine.root(), None).said.unwrap();
        let told: Vec<_> =
            firmware.parts().into_iter().filter_map(|(part, value)| Some((part, value?))).collect();
        assert_eq!(
            told,
            [
                ("product", "DGXH100"),
                ("board", "DGXH100"),
                ("BIOS", "1.05.03"),
                ("BIOS date", "06/15/2024"),
                ("microcode", "0x2b0005c0"),
            ]
        );
    }

    #[test]
    fn within_a_boot_only_the_microcode_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::new(folder.path());
        server(&machine);
        let before = read(&machine.root(), None).said.unwrap();
        machine.file("sys/class/dmi/id/bios_version", "9\n").unwrap();
        machine.file("sys/devices/system/cpu/cpu0/microcode/version", "0x2b000600\n").unwrap();
        let now = read(&machine.root(), Some(&before)).said.unwrap();
        assert_eq!((now.bios.as_deref(), now.microcode.as_deref()), (Some("1.05.03"), Some("0x2b000600")));
    }

    #[test]
    fn a_machine_that_tells_nothing_or_nonsense_is_unknown_and_not_blind() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::new(folder.path());
        assert_eq!(read(&machine.root(), None), Sheet::read(Firmware::default()));
        machine.file("sys/class/dmi/id/board_name", "a\tb\n").unwrap();
        machine.file("sys/class/dmi/id/product_name", &"x".repeat(3_000)).unwrap();
        let firmware = read(&machine.root(), None).said.unwrap();
        assert_eq!((firmware.board, firmware.product.map(|name| name.len())), (None, Some(128)));
    }
}
