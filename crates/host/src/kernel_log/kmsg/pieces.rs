//! Records from memory instead of from the device, for the fuzz target `kmsg`.
use nix::errno::Errno;
use triage_core::BootId;

use super::device::Records;
use super::walk::Walk;
use crate::clock::Clock;
use crate::kernel_log::{KernelRead, KmsgCursor, Limits};

struct Pieces<'a> {
    all: &'a [&'a [u8]],
    at: usize,
}

impl Records for Pieces<'_> {
    fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let piece = *self.all.get(self.at).ok_or(Errno::EAGAIN)?;
        self.at += 1;
        if piece.is_empty() {
            return Err(Errno::EPIPE);
        }
        let room = buffer.get_mut(..piece.len()).ok_or(Errno::EINVAL)?;
        room.copy_from_slice(piece);
        Ok(piece.len())
    }

    fn rewind(&mut self) -> Result<(), Errno> {
        self.at = 0;
        Ok(())
    }
}

/// One pass over a ring that gives these answers, one a read; an empty one says that records were overwritten. `None`: the ring
/// could not be read.
pub fn read_pieces(
    all: &[&[u8]],
    admit_user: bool,
    cursor: Option<&KmsgCursor>,
    limits: Limits,
    clock: &dyn Clock,
) -> Option<KernelRead> {
    let boot = BootId::new("b");
    Walk { boot: &boot, admit_user, cursor, limits, clock }.run(&mut Pieces { all, at: 0 }).ok()
}
