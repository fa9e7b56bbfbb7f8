//! One command, from start to end or deadline.
use std::fs;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{self, Child, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use triage_core::ExitStatus;

use super::{Command, Finished, RunError, Runner, Started, Stuck, check, plumbing, start_error};
use crate::proc::Root;

/// How often a child is looked at where the kernel has no pidfd (before 5.3).
const WITHOUT_PIDFD: Duration = Duration::from_millis(5);

/// How long a killed child is given to go before it counts as left behind. One that is not in the kernel goes at once.
const DYING: Duration = Duration::from_millis(100);

/// Runs commands on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRunner;

impl Runner for SystemRunner {
    fn run(&self, command: &Command) -> Result<Finished, RunError> {
        start(command)?.wait(command)
    }

    fn start(&self, command: Command) -> Started<'_> {
        let running = start(&command);
        Box::new(move || running?.wait(&command))
    }
}

fn start(command: &Command) -> Result<Running, RunError> {
    check(command)?;
    let until = Instant::now() + command.deadline;
    let mut child = spawn(command)?;
    let running = Running::new(&mut child, command, until);
    if let Some(path) = &command.pid_file {
        running.note_pid(path, &command.program);
    }
    Ok(running)
}

fn spawn(command: &Command) -> Result<Child, RunError> {
    let mut child = process::Command::new(&command.program);
    child.args(&command.args).env_clear().envs(&command.env).current_dir("/");
    child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    plumbing::bound_to_us(&mut child);
    child.spawn().map_err(|error| start_error(&command.program, &error))
}

/// A child and the ends of its pipes. Dropping a [`Child`] neither kills nor waits for it.
struct Running {
    pid: Pid,
    pidfd: Option<OwnedFd>,
    stdout: Drain,
    stderr: Drain,
    until: Instant,
}

impl Running {
    fn new(child: &mut Child, command: &Command, until: Instant) -> Self {
        // A pid always fits: the kernel's limit is 2^22.
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0));
        Self {
            pid,
            pidfd: pidfd_open(pid),
            stdout: Drain::new(child.stdout.take().map(OwnedFd::from), command.output_cap),
            stderr: Drain::new(child.stderr.take().map(OwnedFd::from), command.output_cap),
            until,
        }
    }

    /// Waits for the end, or for the deadline.
    fn wait(mut self, command: &Command) -> Result<Finished, RunError> {
        let pid_file = command.pid_file.as_deref();
        if self.wait_until(self.until) {
            let status = self.reap();
            forget_pid(pid_file);
            return Ok(self.finished(status));
        }
        let stuck = self.kill();
        if !stuck.left_behind {
            forget_pid(pid_file);
        }
        Err(RunError::Deadline {
            program: command.program.clone(),
            deadline: command.deadline,
            stuck: Box::new(stuck),
            stdout: std::mem::take(&mut self.stdout.kept),
        })
    }

    /// Reads the pipes until the child has ended (true) or the moment has come (false).
    fn wait_until(&mut self, until: Instant) -> bool {
        loop {
            self.stdout.read();
            self.stderr.read();
            if self.has_ended() {
                // What it wrote last may have come after the reads above.
                self.stdout.read();
                self.stderr.read();
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.poll(left);
        }
    }

    /// Waits for output or the end, whichever is first, no longer than `left`.
    fn poll(&self, left: Duration) {
        let slice = if self.pidfd.is_some() { left } else { left.min(WITHOUT_PIDFD) };
        // Rounded up: a wait of 0 ms would spin.
        let millis = u16::try_from(slice.as_millis() + 1).unwrap_or(u16::MAX);
        let fds = [self.stdout.pipe.as_ref(), self.stderr.pipe.as_ref(), self.pidfd.as_ref()];
        let mut fds: Vec<PollFd<'_>> =
            fds.into_iter().flatten().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)).collect();
        let _ = poll(&mut fds, PollTimeout::from(millis));
    }

    /// Whether the child has ended. It is not reaped yet, so that its process group cannot become another's.
    fn has_ended(&self) -> bool {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        !matches!(
            waitid(Id::Pid(self.pid), flags),
            Ok(WaitStatus::StillAlive) | Err(nix::errno::Errno::EINTR)
        )
    }

    /// Ends what the child left in its process group and takes its status.
    fn reap(&self) -> ExitStatus {
        let _ = killpg(self.pid, Signal::SIGKILL);
        match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Signaled(_, signal, _)) => ExitStatus::Signal(signal as i32),
            Ok(WaitStatus::Exited(_, code)) => ExitStatus::Exit(code),
            // Somebody else reaped it: how it ended is lost, and that is not success.
            _ => ExitStatus::Exit(255),
        }
    }

    /// Notes where the child is stuck, kills its process group, and leaves it unless it goes at once.
    fn kill(&mut self) -> Stuck {
        let root = Root::default();
        let pid = self.pid.as_raw().unsigned_abs();
        let state = root.process(pid).map(|stat| stat.state);
        let wchan = root.wchan(pid);
        let comm = root.comm(pid);
        let _ = killpg(self.pid, Signal::SIGKILL);
        let left_behind = !self.wait_until(Instant::now() + DYING);
        let _ = waitpid(self.pid, Some(WaitPidFlag::WNOHANG));
        Stuck { pid, state, wchan, comm, left_behind }
    }

    /// `pid start-ticks`, by rename, so that a reader never sees half of it.
    fn note_pid(&self, path: &Path, program: &Path) {
        let pid = self.pid.as_raw().unsigned_abs();
        let Some(stat) = Root::default().process(pid) else { return };
        let new = path.with_extension("new");
        let written =
            fs::write(&new, format!("{pid} {}\n", stat.start_ticks)).and_then(|()| fs::rename(&new, path));
        if let Err(error) = written {
            log::warn!("{}: pid of {} not kept: {error}", path.display(), program.display());
        }
    }

    fn finished(&mut self, status: ExitStatus) -> Finished {
        Finished {
            status,
            stdout: std::mem::take(&mut self.stdout.kept),
            stderr: std::mem::take(&mut self.stderr.kept),
            truncated: self.stdout.dropped || self.stderr.dropped,
        }
    }
}

fn forget_pid(path: Option<&Path>) {
    if let Some(path) = path {
        let _ = fs::remove_file(path);
    }
}

/// The reading end of a pipe: keeps up to a cap, drops the rest, never waits.
struct Drain {
    pipe: Option<OwnedFd>,
    cap: usize,
    kept: Vec<u8>,
    dropped: bool,
}

impl Drain {
    fn new(pipe: Option<OwnedFd>, cap: usize) -> Self {
        if let Some(pipe) = &pipe {
            let _ = nix::fcntl::fcntl(pipe, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK));
        }
        Self { pipe, cap, kept: Vec::new(), dropped: false }
    }

    /// Takes what is there; at most a few pipefuls, so that a child that writes without end does not hold us here.
    fn read(&mut self) {
        const ROUNDS: usize = 64;
        let mut chunk = [0_u8; 16 * 1024];
        for _ in 0..ROUNDS {
            let Some(pipe) = &self.pipe else { return };
            match nix::unistd::read(pipe, &mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(n) => self.keep(chunk.get(..n).unwrap_or_default()),
                Err(nix::errno::Errno::EINTR) => {}
                Err(nix::errno::Errno::EAGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.cap.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.dropped |= bytes.len() > room;
    }
}

/// A descriptor that becomes readable when the process ends; `None` before Linux 5.3.
fn pidfd_open(pid: Pid) -> Option<OwnedFd> {
    // SAFETY: takes numbers, returns a new descriptor or -1.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: the kernel made the descriptor just now for us; it is close-on-exec by itself.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}
