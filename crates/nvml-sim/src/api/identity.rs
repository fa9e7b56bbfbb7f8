//! Which GPU it is, and how it is set up.
use std::ffi::{c_char, c_uint};

use nvml_wrapper_sys::bindings::{
    nvmlEnableState_enum_NVML_FEATURE_DISABLED as DISABLED,
    nvmlEnableState_enum_NVML_FEATURE_ENABLED as ENABLED, nvmlEnableState_t, nvmlPciInfo_t,
};

use crate::call::Answer;
use crate::ffi::{Out, device_functions, fill};
use crate::scenario::{Code, MigMode, PciAddress};

/// Device and vendor id of an H100 SXM5 with 80 GB, as `lspci -n` has them: 10de:2330.
const PCI_DEVICE_ID: c_uint = 0x2330_10de;

/// Its subsystem: 10de:16c1.
const PCI_SUBSYSTEM_ID: c_uint = 0x16c1_10de;

device_functions! { FUNCTIONS;
    /// Product name.
    fn nvmlDeviceGetName(gpu, name: Out<c_char>, length: c_uint) { name.set_text(&gpu.name, length) }

    /// UUID.
    fn nvmlDeviceGetUUID(gpu, uuid: Out<c_char>, length: c_uint) { uuid.set_text(&gpu.uuid, length) }

    /// Board serial number.
    fn nvmlDeviceGetSerial(gpu, serial: Out<c_char>, length: c_uint) { serial.set_text(&gpu.serial, length) }

    /// NVML's index.
    fn nvmlDeviceGetIndex(gpu, index: Out<c_uint>) { index.set(gpu.index) }

    /// N of `/dev/nvidiaN`.
    fn nvmlDeviceGetMinorNumber(gpu, minor: Out<c_uint>) { minor.set(gpu.minor) }

    /// PCI address and ids.
    fn nvmlDeviceGetPciInfo_v3(gpu, pci: Out<nvmlPciInfo_t>) { pci.set(pci_info(gpu.pci)) }

    /// VBIOS version.
    fn nvmlDeviceGetVbiosVersion(gpu, version: Out<c_char>, length: c_uint) { version.set_text(&gpu.vbios, length) }

    /// InfoROM image version.
    fn nvmlDeviceGetInforomImageVersion(gpu, version: Out<c_char>, length: c_uint) {
        version.set_text(&gpu.inforom, length)
    }

    /// Persistence mode.
    fn nvmlDeviceGetPersistenceMode(gpu, mode: Out<nvmlEnableState_t>) { mode.set(switch(gpu.persistence)) }

    /// ECC mode; a change would wait for a reset, but nothing changes here.
    fn nvmlDeviceGetEccMode(gpu, current: Out<nvmlEnableState_t>, pending: Out<nvmlEnableState_t>) {
        current.set(switch(gpu.ecc))?;
        pending.set(switch(gpu.ecc))
    }

    /// MIG mode, now and after the next reset.
    fn nvmlDeviceGetMigMode(gpu, current: Out<c_uint>, pending: Out<c_uint>) {
        set_mig(current, gpu.mig)?;
        set_mig(pending, gpu.mig_pending.unwrap_or(gpu.mig))
    }
}

/// NVML's word for on and off.
pub(super) fn switch(on: bool) -> nvmlEnableState_t {
    if on { ENABLED } else { DISABLED }
}

fn set_mig(target: Out<c_uint>, mode: MigMode) -> Answer {
    match mode {
        MigMode::Disabled => target.set(0),
        MigMode::Enabled => target.set(1),
        MigMode::NotSupported => Err(Code::NOT_SUPPORTED),
    }
}

fn pci_info(address: PciAddress) -> nvmlPciInfo_t {
    nvmlPciInfo_t {
        busIdLegacy: fill(&address.legacy()),
        domain: address.domain,
        bus: address.bus.into(),
        device: address.device.into(),
        pciDeviceId: PCI_DEVICE_ID,
        pciSubSystemId: PCI_SUBSYSTEM_ID,
        busId: fill(&address.long()),
    }
}
