//! A machine's `/sys`, `/proc` and `/dev` as a tree of files: what the collectors read, written the way the kernel prints it.
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::proc::Root;

/// Buses of the GPUs of an eight-GPU server, as the simulated NVML has them.
pub const GPU_BUSES: [u8; 8] = [0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf];

/// A tree that stands for a machine.
#[derive(Debug)]
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// An empty machine below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// An eight-GPU server with eight 400 Gb/s adapters, everything up.
    ///
    /// # Errors
    /// When the tree cannot be written.
    pub fn eight_gpus(root: impl Into<PathBuf>) -> io::Result<Self> {
        let machine = Self::new(root);
        for (index, bus) in (0_u8..).zip(GPU_BUSES) {
            machine.gpu(bus)?;
            machine.file(&format!("dev/nvidia{index}"), "")?;
            machine.adapter(index, bus + 1)?;
        }
        machine.file("dev/nvidiactl", "")?;
        machine.file(
            "proc/modules",
            "nvidia_peermem 16384 0 - Live 0x0\nnvidia 9 2 - Live 0x0\nmlx5_core 1 0 - Live 0x0\n",
        )?;
        let version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Release Build\n";
        machine.file("proc/driver/nvidia/version", version)?;
        machine.file("proc/sys/kernel/random/boot_id", "boot-1\n")?;
        Ok(machine)
    }

    /// The tree.
    pub fn root(&self) -> Root {
        Root::new(&self.root)
    }

    /// Writes a file with the folders above it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn file(&self, path: &str, content: &str) -> io::Result<()> {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        fs::write(path, content)
    }

    /// Where a path of the machine is.
    pub fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Where the attributes of the function on `bus` are.
    pub fn function(&self, bus: u8) -> PathBuf {
        let above = bus.saturating_sub(1);
        self.at(&format!("sys/devices/pci0000:{above:02x}/0000:{above:02x}:01.0/0000:{bus:02x}:00.0"))
    }

    /// A healthy GPU on `bus`, sixteen lanes of 32 GT/s.
    ///
    /// # Errors
    /// When the tree cannot be written.
    pub fn gpu(&self, bus: u8) -> io::Result<()> {
        self.pci(bus, "0x10de", "0x2330", "0x030200", "nvidia")
    }

    /// Takes the function on `bus` off the bus altogether.
    ///
    /// # Errors
    /// When it is not there.
    pub fn remove(&self, bus: u8) -> io::Result<()> {
        fs::remove_file(self.at(&format!("sys/bus/pci/devices/0000:{bus:02x}:00.0")))?;
        fs::remove_dir_all(self.function(bus))
    }

    /// An RDMA adapter `mlx5_N` on `bus` with one active port of 400 Gb/s, and its interface `ibN`.
    ///
    /// # Errors
    /// When the tree cannot be written.
    pub fn adapter(&self, number: u8, bus: u8) -> io::Result<()> {
        self.pci(bus, "0x15b3", "0x1021", "0x020700", "mlx5_core")?;
        let device = format!("sys/class/infiniband/mlx5_{number}");
        for (name, content) in [
            ("fw_ver", "28.39.1002\n"),
            ("board_id", "MT_0000000838\n"),
            ("ports/1/state", "4: ACTIVE\n"),
            ("ports/1/phys_state", "5: LinkUp\n"),
            ("ports/1/rate", "400 Gb/sec (4X NDR)\n"),
            ("ports/1/link_layer", "InfiniBand\n"),
            ("ports/1/counters/link_downed", "0\n"),
            ("ports/1/counters/symbol_error", "0\n"),
            ("ports/1/counters/link_error_recovery", "0\n"),
            ("ports/1/hw_counters/packet_seq_err", "0\n"),
        ] {
            self.file(&format!("{device}/{name}"), content)?;
        }
        symlink(self.function(bus), self.at(&device).join("device"))?;
        let interface = format!("sys/class/net/ib{number}");
        for (name, content) in [
            ("operstate", "up\n"),
            ("flags", "0x1003\n"),
            ("carrier", "1\n"),
            ("speed", "400000\n"),
            ("carrier_down_count", "1\n"),
        ] {
            self.file(&format!("{interface}/{name}"), content)?;
        }
        symlink(self.function(bus), self.at(&interface).join("device"))
    }

    fn pci(&self, bus: u8, vendor: &str, device: &str, class: &str, driver: &str) -> io::Result<()> {
        let folder = self.function(bus);
        let port = folder.parent().map(Path::to_owned).unwrap_or_default();
        let counts = "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0\n";
        for at in [&folder, &port] {
            fs::create_dir_all(at)?;
            for (name, content) in [
                ("current_link_speed", "32.0 GT/s PCIe\n"),
                ("max_link_speed", "32.0 GT/s PCIe\n"),
                ("current_link_width", "16\n"),
                ("max_link_width", "16\n"),
                ("aer_dev_correctable", counts),
                ("aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 0\n"),
                ("aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 0\n"),
            ] {
                fs::write(at.join(name), content)?;
            }
        }
        for (name, content) in [
            ("vendor", vendor),
            ("device", device),
            ("class", class),
            ("numa_node", "0"),
            ("power_state", "D0"),
        ] {
            fs::write(folder.join(name), format!("{content}\n"))?;
        }
        fs::write(port.join("class"), "0x060400\n")?;
        fs::write(port.join("vendor"), "0x8086\n")?;
        fs::write(folder.join("config"), [0xde, 0x10, 0x30, 0x23])?;
        symlink(format!("../../../../bus/pci/drivers/{driver}"), folder.join("driver"))?;
        let list = self.at("sys/bus/pci/devices");
        fs::create_dir_all(&list)?;
        for at in [&folder, &port] {
            let name = at.file_name().unwrap_or_default();
            symlink(
                Path::new("../../../devices").join(at.strip_prefix(self.at("sys/devices")).unwrap_or(at)),
                list.join(name),
            )?;
        }
        Ok(())
    }
}
