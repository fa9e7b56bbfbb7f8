//! plugstack.conf: `optional|required PLUGIN ARGUMENT...` and `include PATTERN`, see spank(8).
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::slurm::hooks_matching;

/// Largest file that is read, bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// How deep includes may lie in includes, and how many files are read in all.
const DEEPEST: u32 = 8;
const MOST_FILES: usize = 100;

/// A line that names our plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The file it is in.
    pub(super) file: PathBuf,
    /// Its line, from 1.
    pub(super) line: usize,
    /// `required` rather than `optional`.
    pub(super) required: bool,
    /// The plugin as it is named.
    pub(super) plugin: String,
    /// The folder it is told to write task records to.
    pub(super) spool: Option<String>,
}

/// The lines of `file`, and of what it includes, that name a plugin with this file name.
pub(super) fn entries(file: &Path, plugin: &str) -> io::Result<Vec<Entry>> {
    let mut found = Found { plugin, entries: Vec::new(), files: 0 };
    found.read(file, 0)?;
    Ok(found.entries)
}

struct Found<'a> {
    plugin: &'a str,
    entries: Vec<Entry>,
    files: usize,
}

impl Found<'_> {
    fn read(&mut self, file: &Path, depth: u32) -> io::Result<()> {
        self.files += 1;
        if depth > DEEPEST || self.files > MOST_FILES {
            return Ok(());
        }
        let text = text(file)?;
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            match (words.next(), words.next()) {
                (Some("include"), Some(pattern)) => self.include(file, pattern, depth),
                (Some(kind @ ("optional" | "required")), Some(plugin)) if self.is_it(plugin) => {
                    self.entries.push(Entry {
                        file: file.to_owned(),
                        line: index + 1,
                        required: kind == "required",
                        plugin: plugin.to_owned(),
                        spool: words.find_map(|word| word.strip_prefix("spool=")).map(str::to_owned),
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What cannot be included is skipped, as Slurm does.
    fn include(&mut self, from: &Path, pattern: &str, depth: u32) {
        let pattern = from.parent().unwrap_or(Path::new("/")).join(pattern);
        for file in hooks_matching(&pattern).unwrap_or_default() {
            let _ = self.read(&file, depth + 1);
        }
    }

    fn is_it(&self, plugin: &str) -> bool {
        Path::new(plugin).file_name().is_some_and(|name| name == self.plugin)
    }
}

fn text(path: &Path) -> io::Result<String> {
    // Non-blocking: a FIFO in its place must not hold us.
    let file = File::options().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_plugin_is_found_through_includes_and_not_in_comments() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("plugstack.conf"), "# optional /x/p.so\ninclude d/*.conf\ninclude /none/*\n").unwrap();
        fs::write(at("d/a.conf"), "\nrequired  /x/p.so spool=/y # why\noptional other.so\n").unwrap();
        fs::write(at("d/b.off"), "optional p.so\n").unwrap();
        let found = entries(&at("plugstack.conf"), "p.so").unwrap();
        let entry = Entry {
            file: at("d/a.conf"),
            line: 2,
            required: true,
            plugin: "/x/p.so".to_owned(),
            spool: Some("/y".to_owned()),
        };
        assert_eq!(found, [entry]);
    }

    #[test]
    fn a_file_that_includes_itself_ends() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plugstack.conf");
        fs::write(&file, "include *.conf\ninclude *.conf\noptional p.so\n").unwrap();
        assert!(!entries(&file, "p.so").unwrap().is_empty());
    }

    #[test]
    fn a_missing_file_is_an_error_and_a_folder_too() {
        let dir = tempfile::tempdir().unwrap();
        assert!(entries(&dir.path().join("none"), "p.so").is_err());
        assert!(entries(dir.path(), "p.so").is_err());
    }
}
