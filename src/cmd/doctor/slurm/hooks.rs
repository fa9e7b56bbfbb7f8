//! Whether what slurm.conf names runs our program: it is it, links to it, or is a script that mentions it.
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use triage_core::policy::Glob;

/// Most of a script that is looked at, bytes.
const MAX_SCRIPT: u64 = 256 * 1024;
/// Most files of a folder that a pattern is tried on.
const MAX_FILES: usize = 1_000;

/// How a value of slurm.conf runs a program; a later one is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Runs {
    /// It does not.
    No,
    /// It cannot be read.
    CannotTell,
    /// By way of a script.
    Through,
    /// It is the program.
    Directly,
}

/// How `value` (a path or a pattern, relative to `folder`) runs `program`.
pub(super) fn runs(value: &str, folder: &Path, program: &str) -> Runs {
    let path = folder.join(value);
    if !value.contains(['*', '?', '[']) {
        return file(&path, program);
    }
    match matching(&path) {
        Ok(files) => files.iter().map(|path| file(path, program)).max().unwrap_or(Runs::No),
        Err(_) => Runs::CannotTell,
    }
}

fn file(path: &Path, program: &str) -> Runs {
    let is_it = |path: &Path| path.file_name().is_some_and(|name| name == program);
    if is_it(path) || path.canonicalize().is_ok_and(|target| is_it(&target)) {
        return Runs::Directly;
    }
    match script(path) {
        Ok(text) if text.windows(program.len()).any(|part| part == program.as_bytes()) => Runs::Through,
        Ok(_) => Runs::No,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Runs::No,
        Err(_) => Runs::CannotTell,
    }
}

fn script(path: &Path) -> io::Result<Vec<u8>> {
    // Non-blocking: a FIFO in its place must not hold us.
    let file = File::options().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = Vec::new();
    file.take(MAX_SCRIPT).read_to_end(&mut text)?;
    Ok(text)
}

/// The files of the last folder that fit a pattern; `?` is taken for any text, which is enough to look further.
pub(in super::super) fn matching(pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy().replace('?', "*");
    let glob = Glob::new(name);
    let folder = pattern.parent().unwrap_or(Path::new("/"));
    let files = fs::read_dir(folder)?.flatten().take(MAX_FILES).map(|entry| entry.path());
    Ok(files
        .filter(|path| path.file_name().is_some_and(|name| glob.matches(&name.to_string_lossy())))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_program_is_found_by_name_by_link_by_script_and_by_pattern() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("triage-prolog"), "").unwrap();
        fs::write(at("wrapper"), "#!/bin/sh\nexec /x/triage-prolog --config /y\n").unwrap();
        fs::write(at("other"), "#!/bin/sh\nexec /x/triage-epilog\n").unwrap();
        symlink(at("triage-prolog"), at("link")).unwrap();
        let run = |value: &str| runs(value, dir.path(), "triage-prolog");
        assert_eq!(run("triage-prolog"), Runs::Directly);
        assert_eq!(run("link"), Runs::Directly);
        assert_eq!(run("wrapper"), Runs::Through);
        assert_eq!(run("other"), Runs::No);
        assert_eq!(run("missing"), Runs::No);
        assert_eq!(run("*"), Runs::Directly);
        assert_eq!(run("wrap*"), Runs::Through);
        assert_eq!(run("none*"), Runs::No);
        assert_eq!(run("no-such-folder/*"), Runs::CannotTell);
        assert_eq!(run("."), Runs::CannotTell);
    }
}
