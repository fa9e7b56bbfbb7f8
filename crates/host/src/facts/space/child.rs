//! The child's side: asks every filesystem and disk at once, each in a thread of its own, and tells what came of it line by line.
//! A thread that hangs in the kernel cannot be waited for and not always be killed; the process ends without it.
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use triage_core::facts::host::Answer;

use super::{How, Line, smart};

/// What one thread needs: statvfs or an ioctl, and two short lines of code.
const STACK: usize = 128 * 1024;

/// Asks each of `paths`, writing where `write` says so, and prints one line of JSON an answer. Returns once all have
/// answered or `deadline` has passed; threads may still hang then, and the caller must end the process at once.
///
/// # Errors
/// When standard output cannot be written.
pub fn ask(paths: &[(String, How)], deadline: Duration, out: &mut dyn Write) -> io::Result<()> {
    let until = Instant::now() + deadline;
    let (tell, told) = mpsc::channel();
    let mut waiting: Vec<Waiting> = Vec::new();
    for (number, (path, how)) in paths.iter().enumerate() {
        let (path, how, tell) = (path.clone(), *how, tell.clone());
        let shown = path.clone();
        let begun = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            // SAFETY: asks for a number.
            let thread = unsafe { libc::gettid() };
            let _ = tell.send((number, Said::Begun(thread)));
            let _ = tell.send((number, Said::Answer(Box::new(answer(&path, how)))));
        });
        if let Err(error) = begun {
            let answer = Answer { error: Some(format!("not asked: {error}")), ..Answer::default() };
            line(out, &shown, answer)?;
        } else {
            waiting.push(Waiting { number, path: shown, thread: None });
        }
    }
    while !waiting.is_empty() {
        match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok((number, said)) => {
                let Some(at) = waiting.iter().position(|w| w.number == number) else { continue };
                match said {
                    Said::Begun(thread) => {
                        if let Some(waiting) = waiting.get_mut(at) {
                            waiting.thread = Some(thread);
                        }
                    }
                    Said::Answer(answer) => line(out, &waiting.swap_remove(at).path, *answer)?,
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    for Waiting { path, thread, .. } in waiting {
        let wchan = thread.and_then(wchan);
        line(out, &path, Answer { hung: true, wchan, ..Answer::default() })?;
    }
    out.flush()
}

struct Waiting {
    number: usize,
    path: String,
    thread: Option<i32>,
}

enum Said {
    Begun(i32),
    Answer(Box<Answer>),
}

fn line(out: &mut dyn Write, path: &str, answer: Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Line { path: path.to_owned(), answer }).map_err(io::Error::other)?;
    line.push(b'\n');
    // At once: what is told before a hang is told.
    out.write_all(&line)?;
    out.flush()
}

fn answer(path: &str, how: How) -> Answer {
    let told = match how {
        How::Health => smart::ask(path).map(|health| Answer { health: Some(health), ..Answer::default() }),
        How::Room | How::Write => statvfs(path),
    };
    let mut answer =
        told.unwrap_or_else(|error| Answer { error: Some(error.to_string()), ..Answer::default() });
    if how == How::Write && answer.error.is_none() {
        answer.write_error = try_write(Path::new(path)).err().map(|error| error.to_string());
    }
    answer
}

fn statvfs(path: &str) -> io::Result<Answer> {
    let path = CString::new(path)?;
    // SAFETY: a structure of numbers.
    let mut room: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to memory that lives through the call.
    if unsafe { libc::statvfs(path.as_ptr(), &raw mut room) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes = |blocks: u64| blocks.saturating_mul(room.f_frsize);
    Ok(Answer {
        bytes: bytes(room.f_blocks),
        bytes_free: bytes(room.f_bavail),
        inodes: room.f_files,
        inodes_free: room.f_favail,
        ..Answer::default()
    })
}

/// Writes a page to a file without a name, which nobody sees and nothing has to clean up. Where the filesystem cannot do
/// that (NFS, Lustre), to one that is removed before it is written to.
fn try_write(folder: &Path) -> io::Result<()> {
    let unnamed = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC)
        .mode(0o600)
        .open(folder);
    let mut file = match unnamed {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => named(folder)?,
        opened => opened?,
    };
    file.write_all(&[0; 4096])?;
    file.sync_all()
}

fn named(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!(".slurm-triage-{}", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// The kernel function one of our own threads sleeps in.
fn wchan(thread: i32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/wchan")).ok()?;
    let name = text.trim();
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
    (!matches!(name, "" | "0") && plain).then(|| name.to_owned())
}
