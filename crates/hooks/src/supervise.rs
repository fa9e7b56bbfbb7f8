//! A hook is two processes: the one slurmd waits for, and a worker that may get stuck.
//!
//! slurmd reads the hook's output pipe until end of file and counts the time. Anything that hangs in the kernel (a
//! dead disk, a sick GPU) would take the hook, the job and in the end the node with it. So the process slurmd started
//! only forks a worker, waits no longer than the deadline, and never holds the worker to slurmd's pipe: the worker
//! writes into a pipe of ours, and what it said is passed on afterwards.
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, fork, pipe2};

/// Most bytes of the worker's messages that are passed on to slurmd's log.
const MESSAGE_CAP: usize = 16 * 1024;

/// How the worker ended, as far as the supervisor knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It finished and said this code.
    Said(u8),
    /// It died without a word: a panic, a signal.
    Died,
    /// It was still busy at the deadline and was left behind.
    Overdue,
    /// It could not be started.
    NotStarted,
}

/// Runs `worker` in a process of its own for at most `deadline` and passes its messages on to standard error.
///
/// Must be called while the process has one thread. The worker never returns from its process.
pub fn supervise(deadline: Duration, worker: impl FnOnce() -> u8) -> Ended {
    let until = Instant::now() + deadline;
    let (Ok((said_read, said_write)), Ok((message_read, message_write))) =
        (pipe2(OFlag::O_CLOEXEC), pipe2(OFlag::O_CLOEXEC))
    else {
        return Ended::NotStarted;
    };
    // SAFETY: the process has one thread (the caller's duty), so the child may run any code.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            drop((said_read, message_read));
            work(worker, said_write, message_write)
        }
        Ok(ForkResult::Parent { child }) => {
            drop((said_write, message_write));
            let ended = wait(child, until, &said_read, message_read);
            if ended == Ended::Overdue {
                // Not waited for: a process that sleeps in the kernel does not even die.
                let _ = kill(child, Signal::SIGKILL);
            }
            let _ = waitpid(child, Some(WaitPidFlag::WNOHANG));
            ended
        }
        Err(_) => Ended::NotStarted,
    }
}

/// The worker's side. Leaves by `_exit`: the parent's buffers and handlers are not ours to run.
fn work(worker: impl FnOnce() -> u8, said: OwnedFd, messages: OwnedFd) -> ! {
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
    }
    let _ = dup2_stderr(&messages);
    drop(messages);
    let code = catch_unwind(AssertUnwindSafe(worker)).ok();
    if let Some(code) = code {
        let _ = nix::unistd::write(&said, &[code]);
    }
    // SAFETY: `_exit` takes no part in Rust's state; nothing of this process runs after it.
    unsafe { libc::_exit(i32::from(code.unwrap_or(0))) }
}

fn wait(_child: Pid, until: Instant, said: &OwnedFd, messages: OwnedFd) -> Ended {
    set_nonblocking(said);
    set_nonblocking(&messages);
    let mut text = Vec::new();
    let mut messages = std::fs::File::from(messages);
    let ended = loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break Ended::Overdue;
        }
        let mut fds = [PollFd::new(std::os::fd::AsFd::as_fd(said), PollFlags::POLLIN)];
        // Half of a long wait at most, so that a worker with much to say never fills its pipe and blocks on it.
        let slice = left.min(Duration::from_millis(50));
        let millis = u16::try_from(slice.as_millis()).unwrap_or(50).max(1);
        match poll(&mut fds, PollTimeout::from(millis)) {
            Ok(0) | Err(Errno::EINTR) => collect(&mut messages, &mut text),
            Ok(_) => break said_what(said),
            Err(_) => break Ended::Died,
        }
    };
    collect(&mut messages, &mut text);
    let _ = std::io::stderr().write_all(&text);
    ended
}

fn said_what(said: &OwnedFd) -> Ended {
    let mut code = [0_u8];
    match nix::unistd::read(said, &mut code) {
        Ok(1) => Ended::Said(code[0]),
        _ => Ended::Died,
    }
}

/// Reads what is there without waiting; keeps the first [`MESSAGE_CAP`] bytes.
fn collect(messages: &mut std::fs::File, text: &mut Vec<u8>) {
    let mut chunk = [0_u8; 4096];
    while let Ok(n @ 1..) = messages.read(&mut chunk) {
        let room = MESSAGE_CAP.saturating_sub(text.len());
        text.extend_from_slice(&chunk[..n.min(room)]);
    }
}

fn set_nonblocking(fd: &OwnedFd) {
    debug_assert!(fd.as_raw_fd() >= 0);
    let _ = fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
}
