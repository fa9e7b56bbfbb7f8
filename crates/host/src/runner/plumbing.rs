//! What a child does between fork and exec. Only system calls that are safe there: no allocation, no lock.
use std::io;
use std::os::unix::process::CommandExt;
use std::process;

use nix::errno::Errno;

/// Descriptors that are closed one by one where the kernel lacks `close_range` (before 5.11). slurmd starts its
/// hooks with none above 2, and ours are close-on-exec, so this is only a second line.
const HIGHEST_DESCRIPTOR: i32 = 1024;

/// Prepares a child that ends when this process does.
pub(super) fn bound_to_us(command: &mut process::Command) {
    let parent = nix::unistd::getpid();
    let set_up = move || {
        nix::unistd::setsid()?;
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        // We may have died before the line above.
        if nix::unistd::getppid() != parent {
            return Err(io::Error::from(Errno::ESRCH));
        }
        close_on_exec();
        Ok(())
    };
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(set_up) };
}

/// Prepares a child whose own child becomes the program: init adopts it at once, and nobody of ours waits for it.
pub(super) fn on_its_own(command: &mut process::Command) {
    let set_up = || {
        nix::unistd::setsid()?;
        // SAFETY: the process has one thread, being fresh from fork; it only goes on to exec or exit.
        match unsafe { nix::unistd::fork() }? {
            // SAFETY: `_exit` takes no part in Rust's state.
            nix::unistd::ForkResult::Parent { .. } => unsafe { libc::_exit(0) },
            nix::unistd::ForkResult::Child => {}
        }
        close_on_exec();
        Ok(())
    };
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(set_up) };
}

/// Marks every descriptor but the first three; closing them here would cut the pipe on which the standard library
/// learns that exec failed.
fn close_on_exec() {
    let first: libc::c_uint = 3;
    // SAFETY: takes numbers, touches the descriptor table only.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 {
        return;
    }
    for fd in 3..HIGHEST_DESCRIPTOR {
        // SAFETY: as above; a descriptor that is not open answers EBADF.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
