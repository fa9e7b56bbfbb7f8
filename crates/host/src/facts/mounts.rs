//! What is mounted, and what `/etc/fstab` says should be. Reads two files and asks no filesystem anything, so it cannot
//! hang over one.
use triage_core::facts::Sheet;
use triage_core::facts::host::{Mount, Mounts};

use super::attr;
use crate::proc::Root;

/// Largest table that is read, bytes: some ten thousand mounts.
const MAX_TABLE: u64 = 4 * 1024 * 1024;

/// Most mounts that are kept. A compute node has some dozen; what has more is a container host.
const MAX_MOUNTS: usize = 512;

/// Filesystems without anything of a site's in them.
const PSEUDO: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];

/// Reads what there is below `root`.
pub(super) fn read(root: &Root) -> Sheet<Mounts> {
    let mounted = match attr::long_text(&root.at("/proc/self/mountinfo"), MAX_TABLE) {
        Ok(text) => mountinfo(&text),
        Err(error) => return Sheet::blind(format!("/proc/self/mountinfo: {error}")),
    };
    // A node need not have an fstab.
    let fstab =
        attr::long_text(&root.at("/etc/fstab"), MAX_TABLE).map(|text| fstab(&text)).unwrap_or_default();
    Sheet::read(Mounts { mounted, fstab })
}

/// The lines of `/proc/self/mountinfo` (proc(5)): `36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw`.
pub(super) fn mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(mountinfo_line).take(MAX_MOUNTS).collect()
}

fn mountinfo_line(line: &str) -> Option<Mount> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let (device, _root, path, options) = (mount.next()?, mount.next()?, mount.next()?, mount.next()?);
    let mut filesystem = filesystem.split(' ');
    let (kind, source, super_options) =
        (filesystem.next()?, filesystem.next()?, filesystem.next().unwrap_or(""));
    let read_only = has(options, "ro") || has(super_options, "ro");
    (!PSEUDO.contains(&kind) && !is_one_users_own(kind, super_options)).then(|| Mount {
        path: unescape(path),
        kind: kind.to_owned(),
        source: unescape(source),
        device: device.to_owned(),
        read_only,
    })
}

/// A FUSE filesystem that a user mounted for themselves (`sshfs`): nobody else may enter it, not even root, so it is none
/// of the node's; and users must not be able to fill the table with theirs.
fn is_one_users_own(kind: &str, super_options: &str) -> bool {
    let is_fuse = matches!(kind, "fuse" | "fuseblk") || kind.starts_with("fuse.");
    let of_a_user = super_options
        .split(',')
        .any(|option| option.strip_prefix("user_id=").is_some_and(|user| user != "0"));
    is_fuse && of_a_user && !has(super_options, "allow_other")
}

/// The lines of `/etc/fstab` (fstab(5)) that are mounted at boot.
pub(super) fn fstab(text: &str) -> Vec<Mount> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.filter_map(fstab_line).take(MAX_MOUNTS).collect()
}

fn fstab_line(line: &str) -> Option<Mount> {
    let mut fields = line.split_whitespace();
    let (source, path, kind) = (fields.next()?, fields.next()?, fields.next()?);
    let options = fields.next().unwrap_or("defaults");
    let wanted = path.starts_with('/') && kind != "swap" && !PSEUDO.contains(&kind);
    // What is mounted when somebody looks, or when a device turns up, may rightly not be there.
    let at_boot = !["noauto", "x-systemd.automount", "comment=systemd.automount", "nofail", "bind"]
        .iter()
        .any(|option| has(options, option));
    let trimmed = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    (wanted && at_boot).then(|| Mount {
        path: unescape(trimmed),
        kind: kind.to_owned(),
        source: unescape(source),
        device: String::new(),
        read_only: has(options, "ro"),
    })
}

fn has(options: &str, option: &str) -> bool {
    options.split(',').any(|o| o == option)
}

/// `\040` is a space: the kernel writes space, tab, newline and backslash in octal.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\').and_then(octal);
        match octal {
            Some(byte) => {
                out.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    // A path is shown and compared, never opened by this form alone where it held a control character.
    String::from_utf8_lossy(&out).chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0_u8, |value, digit| {
        let digit = digit.checked_sub(b'0').filter(|d| *d < 8)?;
        value.checked_mul(8)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: &str = "21 26 0:20 / /proc rw,nosuid shared:5 - proc proc rw\n\
        26 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro\n\
        30 26 8:3 / /var/spool\\040dir rw,relatime shared:2 - xfs /dev/sda3 ro,attr2\n\
        31 26 0:44 / /scratch ro,flock shared:3 - lustre 10.0.0.1@o2ib:/scratch rw,flock\n\
        32 26 0:45 /a /home rw master:1 propagate_from:2 - nfs4 srv:/home rw,vers=4.2\n";

    #[test]
    fn either_half_of_a_line_makes_a_mount_read_only() {
        let mounts = mountinfo(TABLE);
        let told: Vec<(&str, &str, bool)> =
            mounts.iter().map(|m| (m.path.as_str(), m.kind.as_str(), m.read_only)).collect();
        assert_eq!(
            told,
            [
                ("/", "ext4", false),
                ("/var/spool dir", "xfs", true),
                ("/scratch", "lustre", true),
                ("/home", "nfs4", false)
            ]
        );
    }

    #[test]
    fn what_users_mount_for_themselves_is_none_of_the_nodes_and_takes_no_room() {
        let line = |path: &str, kind: &str, options: &str| {
            format!("40 26 0:50 / {path} rw,nosuid - {kind} ann@x:/ rw,{options}\n")
        };
        let mut text: String = (0..2 * MAX_MOUNTS)
            .map(|n| line(&format!("/home/u/{n}"), "fuse.sshfs", "user_id=1000,group_id=1000"))
            .collect();
        text += &line("/a", "fuse.cvmfs2", "user_id=0,group_id=0,allow_other");
        text += &line("/b", "fuse", "user_id=990,group_id=990,default_permissions,allow_other");
        text += &line("/c", "nfs4", "user_id=1000");
        let paths: Vec<String> = mountinfo(&text).into_iter().map(|mount| mount.path).collect();
        assert_eq!(paths, ["/a", "/b", "/c"]);
    }

    #[test]
    fn only_what_boot_mounts_is_expected() {
        let text = "# comment\n\nUUID=1 / ext4 errors=remount-ro 0 1\nsrv:/a /a/ nfs ro 0 0\nUUID=2 none swap sw 0 0\n\
            srv:/b /b nfs noauto 0 0\nsrv:/c /c nfs x-systemd.automount 0 0\n/dev/sdz1 /usb vfat nofail 0 0\nbroken\n";
        let mounts = fstab(text);
        let told: Vec<(&str, bool)> = mounts.iter().map(|m| (m.path.as_str(), m.read_only)).collect();
        assert_eq!(told, [("/", false), ("/a", true)]);
    }

    #[test]
    fn this_machine_has_a_root() {
        let sheet = read(&Root::default());
        assert!(sheet.said.is_some_and(|mounts| mounts.mounted.iter().any(|mount| mount.path == "/")));
    }

    #[test]
    fn a_table_that_is_not_there_is_blindness_and_not_an_empty_table() {
        let folder = tempfile::tempdir().unwrap();
        let sheet = read(&Root::new(folder.path()));
        assert!(sheet.said.is_none() && sheet.blind[0].contains("mountinfo"));
    }

    proptest! {
        #[test]
        fn any_table_is_answered(text in "([0-9a-z/ \\\\\\-\n]|\\PC){0,300}") {
            let _ = (mountinfo(&text), fstab(&text));
        }

        #[test]
        fn an_escaped_path_is_read_back(path in "/[a-z \\t\\\\]{0,20}") {
            let escaped: String = path.bytes().map(|b| match b {
                b' ' | b'\t' | b'\\' => format!("\\{b:03o}"),
                _ => char::from(b).to_string(),
            }).collect();
            prop_assert_eq!(unescape(&escaped), path.replace('\t', "\u{fffd}"));
        }
    }
}
