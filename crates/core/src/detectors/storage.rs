//! Disks, arrays and local filesystems. What a user can mount or plug in - loop devices, images, virtual media - is no
//! fault of the node.
use super::open::{evidence, is, trusted};
use super::{CaseBook, Detector};
use crate::pipeline::Input;
use crate::{Confidence, Event, Resource};

pub(super) const DETECTOR: Detector = Detector { name: "storage", detect };

/// Surely the disk or the filesystem.
const CERTAIN: &[&str] = &[
    "disk.medium_error",
    "raid.disk_failed",
    "raid.degraded",
    "raid.failed",
    "fs.shutdown",
    "fs.read_only",
    "fs.journal_aborted",
    "fs.error",
    "disk.capacity_warning",
    "disk.controller_fault",
    "disk.controller_lost",
];

/// The driver says so of its own, and less surely: what came of it is not in the line.
const LIKELY: &[&str] = &["disk.given_up", "disk.controller_event", "dm.no_space", "dm.failed"];

/// A request failed, for whatever reason.
const REQUEST: &[&str] = &["disk.io_error", "fs.io_error", "disk.path_down"];

fn detect(input: &Input<'_>, events: &[Event], book: &mut CaseBook<'_>) {
    for event in trusted(events).filter(|event| belongs_to_the_node(&event.resource)) {
        if is(event, CERTAIN) {
            evidence(input, event, Confidence::Confirmed, book);
        } else if is(event, LIKELY) {
            evidence(input, event, Confidence::Probable, book);
        } else if is(event, &["disk.lost"]) {
            evidence(input, event, lost_at_most(&event.resource), book);
        } else if is(event, REQUEST) && !has_path_again(events, event) {
            evidence(input, event, Confidence::Suspected, book);
        }
    }
}

/// Removable and made-up devices.
const NOT_OURS: &[&str] = &["loop", "sr", "fd", "ram", "zram", "nbd", "mmcblk", "rbd"];

fn belongs_to_the_node(resource: &Resource) -> bool {
    let (Resource::Disk(name) | Resource::Fs(name)) = resource else { return true };
    let name = name.strip_prefix("/dev/").unwrap_or(name);
    !NOT_OURS.iter().any(|kind| {
        name.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// An NVMe controller that is gone is a fault; a SCSI disk that is gone may be a stick somebody pulled.
fn lost_at_most(resource: &Resource) -> Confidence {
    match resource {
        Resource::Disk(name) if name.starts_with("nvme") => Confidence::Confirmed,
        _ => Confidence::Probable,
    }
}

fn has_path_again(events: &[Event], down: &Event) -> bool {
    is(down, &["disk.path_down"])
        && trusted(events)
            .filter(|event| is(event, &["disk.path_up"]))
            .any(|up| up.resource == down.resource && up.at >= down.at)
}
