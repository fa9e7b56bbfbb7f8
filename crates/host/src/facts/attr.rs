//! Attributes of `/sys` and `/proc`: small files of one value, read so that nothing in their place can hold or fill us.
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::str::FromStr;

/// Largest attribute, bytes: one page, as sysfs gives at most.
const MAX_ATTR: u64 = 4096;

/// Most names of one folder that are looked at. A large server has some hundred PCI functions.
const MAX_NAMES: usize = 8192;

/// The attribute's bytes, at most [`MAX_ATTR`] of them.
///
/// # Errors
/// When there is none, it is no regular file, or the kernel refuses to read it.
pub(super) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    read(path, MAX_ATTR)
}

fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut read = Vec::new();
    file.take(limit).read_to_end(&mut read)?;
    Ok(read)
}

/// A longer file of `/proc`, at most `limit` bytes of it; what is no UTF-8 is replaced.
///
/// # Errors
/// As [`bytes`].
pub(super) fn long_text(path: &Path, limit: u64) -> io::Result<String> {
    read(path, limit).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The attribute's text without the space around it; `None` when it cannot be read, is empty, or is no printable text.
pub(super) fn text(path: &Path) -> Option<String> {
    clean(&bytes(path).ok()?).map(str::to_owned)
}

/// A value of one line, or `None` for what is none.
pub(super) fn clean(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?.trim();
    (!text.is_empty() && !text.chars().any(char::is_control)).then_some(text)
}

/// Four bytes of a binary attribute, and no more: each byte of configuration space that is read is a question to the device.
pub(super) fn word(file: &File, offset: u64) -> Option<u32> {
    let mut word = [0; 4];
    file.read_exact_at(&mut word, offset).ok()?;
    Some(u32::from_le_bytes(word))
}

/// Opens a binary attribute.
pub(super) fn open(path: &Path) -> Option<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// The attribute as a number.
pub(super) fn number<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// A number in hex with `0x` before it.
pub(super) fn hex(path: &Path) -> Option<u32> {
    u32::from_str_radix(text(path)?.strip_prefix("0x")?, 16).ok()
}

/// The names in a folder, sorted. Names that are no printable ASCII are none of the kernel's.
///
/// # Errors
/// When the folder is not there or cannot be read.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let plain = |name: &String| !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic());
    let entries = fs::read_dir(folder)?.take(MAX_NAMES).filter_map(Result::ok);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(plain).collect();
    names.sort_unstable();
    Ok(names)
}

/// The last part of what a link points to: the driver a device is bound to, for instance.
pub(super) fn link_name(path: &Path) -> Option<String> {
    let target = fs::read_link(path).ok()?;
    target.file_name()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_attribute_is_none_and_holds_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::write(at("nul"), b"1\x002\n").unwrap();
        fs::write(at("latin"), b"caf\xe9\n").unwrap();
        fs::write(at("blank"), " \n").unwrap();
        fs::write(at("big"), vec![b'7'; 1 << 20]).unwrap();
        fs::write(at("good"), "0x10de\n").unwrap();
        for name in ["fifo", "nul", "latin", "blank", "none", "."] {
            assert_eq!(text(&at(name)), None, "{name}");
        }
        assert_eq!(text(&at("big")).unwrap().len(), 4096);
        assert_eq!(number::<u64>(&at("big")), None);
        assert_eq!((hex(&at("good")), hex(&at("big"))), (Some(0x10de), None));
    }
}
