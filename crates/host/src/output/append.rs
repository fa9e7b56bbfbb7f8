//! One line at the end of a job's output, written with its owner's rights into a file that is the owner's already.
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::OutputRequest;
use super::pattern::Pattern;

/// What `append` answers where the line stands already.
pub const STANDS: &str = "the line stands in its output already";

/// Longest answer, bytes.
pub(super) const CAP: usize = 8 << 10;

/// How far back from the end the line is looked for, bytes.
const LOOK_BACK: u64 = 1 << 20;

/// Appends the line, on a line of its own.
///
/// # Errors
/// Why nothing was written, in words.
pub(super) fn append(request: &OutputRequest, line: &str) -> Result<String, String> {
    if matches!(request.stdout.as_str(), "" | "(null)") {
        return Err("the job has no output file".to_owned());
    }
    let pattern = Pattern::new(&request.stdout, &request.work_dir, &request.names())
        .map_err(|why| format!("output {}: {why}", request.stdout))?;
    let path =
        pattern.only().ok_or_else(|| format!("output {}: the name means several files", request.stdout))?;
    write(&path, line).map_err(|why| format!("output {}: {why}", path.display()))
}

fn write(path: &Path, line: &str) -> Result<String, String> {
    // Opening a FIFO or a device may already do something. What is opened is looked at again: the path may change.
    ours(&fs::symlink_metadata(path).map_err(|error| error.to_string())?)?;
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NOFOLLOW;
    let opened = File::options().read(true).append(true).custom_flags(flags).open(path);
    let mut file = opened.map_err(|error| error.to_string())?;
    let meta = file.metadata().map_err(|error| error.to_string())?;
    ours(&meta)?;
    let end = end_of(&mut file, meta.len()).map_err(|error| format!("it cannot be read: {error}"))?;
    if end.windows(line.len().max(1)).any(|w| w == line.as_bytes()) {
        return Ok(STANDS.to_owned());
    }
    // A progress bar leaves its line open.
    let begin = if end.last().is_none_or(|b| *b == b'\n') { "" } else { "\n" };
    let whole = format!("{begin}{line}\n");
    match file.write(whole.as_bytes()) {
        Ok(written) if written == whole.len() => Ok(format!("appended to {}", path.display())),
        Ok(written) => Err(format!("only {written} of {} bytes could be appended", whole.len())),
        Err(error) if error.kind() == ErrorKind::StorageFull => Err("the disk is full".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Nothing but a regular file that belongs to whose rights we have.
fn ours(meta: &Metadata) -> Result<(), String> {
    if meta.file_type().is_symlink() {
        return Err("it is a link".to_owned());
    }
    if !meta.is_file() {
        return Err("it is no regular file".to_owned());
    }
    if meta.uid() != nix::unistd::geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    Ok(())
}

fn end_of(file: &mut File, length: u64) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(length.saturating_sub(LOOK_BACK)))?;
    let mut end = Vec::new();
    file.take(LOOK_BACK).read_to_end(&mut end)?;
    Ok(end)
}

pub(super) fn encode(answer: &Result<String, String>) -> Vec<u8> {
    serde_json::to_vec(answer).unwrap_or_default()
}

/// # Errors
/// The child's own, or that its answer is none.
pub(super) fn decode(answer: &[u8]) -> Result<String, String> {
    let said: Result<String, String> = triage_core::json::from_bytes(answer)
        .map_err(|error| format!("what was to append to the job's output gave no answer: {error}"))?;
    // The child had the rights of the owner, who may have spoken in its place.
    let plain = |text: String| text.chars().filter(|c| !c.is_control()).take(400).collect();
    said.map(plain).map_err(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const LINE: &str = "slurm-triage: xid.79 on n1: this job was requeued";

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_line_is_appended_once_and_on_a_line_of_its_own() {
        let folder = folder();
        let path = folder.path().join("o");
        for (before, after) in [("", ""), ("step 1\n", "step 1\n"), ("50%|# |", "50%|# |\n")] {
            fs::write(&path, before).unwrap();
            assert!(write(&path, LINE).unwrap().starts_with("appended"));
            assert_eq!(write(&path, LINE).unwrap(), STANDS);
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{after}{LINE}\n"));
        }
    }

    #[test]
    fn nothing_but_a_regular_file_that_exists_is_written_to() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        assert!(write(&at("none"), LINE).is_err() && !at("none").exists(), "it is never made");
        fs::write(at("real"), "x\n").unwrap();
        symlink(at("real"), at("link")).unwrap();
        assert!(write(&at("link"), LINE).unwrap_err().contains("link"));
        nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        assert!(write(&at("fifo"), LINE).unwrap_err().contains("no regular file"));
        assert!(write(Path::new("/dev/null"), LINE).is_err());
        assert!(write(folder.path(), LINE).is_err());
        assert_eq!(fs::read_to_string(at("real")).unwrap(), "x\n");
    }

    #[test]
    fn any_answer_is_words() {
        let long = encode(&Err(format!("\u{1b}[2J{}", "x".repeat(5_000))));
        let said = decode(&long).unwrap_err();
        assert!(said.len() <= 400 && !said.contains('\u{1b}'));
        assert!(decode(b"").is_err() && decode(b"{}").is_err());
        assert_eq!(decode(&encode(&Ok("a".to_owned()))), Ok("a".to_owned()));
    }
}
