//! Senders that are parts of the system.

/// Senders whose lines in a system log are as good as the kernel's: parts of the system that jobs do not run. The log
/// daemon puts the name there; a process that uses `logger` can claim any, which is why live sources look at more.
const SERVICES: &[&str] = &[
    "systemd",
    "systemd-logind",
    "systemd-shutdown",
    "(udev-worker)",
    "earlyoom",
    "nv-fabricmanager",
    "nvidia-fabricmanager",
    "nvidia-imex",
    "nvidia-persistenced",
    "nvidia-gridd",
    "nvidia-vgpu-mgr",
    "nvidia-vgpud",
    "nv-hostengine",
    "dcgm",
    "slurmd",
    "slurmstepd",
    "mcelog",
    "rasdaemon",
    "smartd",
    "mdadm",
    "chronyd",
    "ntpd",
    "systemd-resolved",
    "rpc.statd",
    "automount",
    "lustre",
    "mmfs",
    "opensm",
    "sssd",
    "nscd",
    "munged",
    "dockerd",
];

/// Whether a text begins with the name of a service: `nv-fabricmanager[2811]: ...`.
#[must_use]
pub fn names_a_service(text: &[u8]) -> bool {
    let end = text.iter().take(64).position(|b| matches!(b, b'[' | b':' | b' ')).unwrap_or_default();
    let name = text.get(..end).unwrap_or_default();
    let name = std::str::from_utf8(name).unwrap_or_default();
    // journalctl's with-unit names the unit.
    let name = name.strip_suffix(".service").unwrap_or(name);
    SERVICES.iter().any(|service| {
        name.strip_prefix(service).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

#[cfg(test)]
mod tests {
    use super::names_a_service;

    #[test]
    fn a_service_is_known_by_its_name_alone() {
        assert!(names_a_service(b"nv-fabricmanager[2811]: x"));
        assert!(names_a_service(b"nvidia-fabricmanager-start.sh[2811]: x"));
        assert!(names_a_service(b"systemd[1]: x"));
        assert!(names_a_service(b"mmfs: [E] x"));
        assert!(names_a_service(b"(udev-worker)[812]: x"));
        assert!(names_a_service(b"nvidia-vgpu-mgr[812]: x"));
        assert!(!names_a_service(b"systemdx[1]: x"));
        assert!(!names_a_service(b"python[4711]: NVRM: Xid"));
        assert!(!names_a_service(b"NVRM: Xid"));
        assert!(!names_a_service(b""));
    }
}
