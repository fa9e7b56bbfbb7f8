//! What stands before a kernel line: time, host, sender.
//!
//! Known are raw `/dev/kmsg` records (with the release in front, as netconsole sends them), `dmesg` (plain, `-r`, `-x`, `-T`,
//! `-e`, `-d`, `--time-format iso`, with the caller of `CONFIG_PRINTK_CALLER`, and Talos's, and in other languages), `journalctl` (short,
//! short-precise, short-iso, short-iso-precise, short-full, short-unix, short-monotonic, short-delta), and syslog files (RFC
//! 3164, RFC 3339 stamps, RFC 5424, months in other languages, the day before the month, `11/29/2026`, facility and level
//! spelled out as OpenWrt and busybox do). A line in another form is all text.
//!
//! The name of a sender other than the kernel stays in the text: no family of the kernel recognises
//! `python[123]: NVRM: Xid ...`, because families are anchored to the beginning of the text.
mod cursor;
mod facility;
mod service;
mod time;

pub use service::names_a_service;
pub use time::{Clock, LineTime, Local};

use cursor::Cursor;

/// Who wrote a line, as far as the line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The kernel says so itself (facility 0), or the log daemon put its name there.
    Kernel,
    /// Some process.
    Process,
    /// Nothing is said. In the output of `dmesg` that is the kernel, or root through `/dev/kmsg`.
    Unsaid,
}

/// A line and what stood before its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peeled<'a> {
    /// When it was written.
    pub time: Option<LineTime>,
    /// The host's name.
    pub host: Option<&'a [u8]>,
    /// Who wrote it.
    pub sender: Sender,
    /// Sequence number of a `/dev/kmsg` record.
    pub sequence: Option<u64>,
    /// The text, beginning with the sender's name where that is not the kernel.
    pub text: &'a [u8],
}

impl<'a> Peeled<'a> {
    /// A line that has no prefix.
    pub const fn bare(text: &'a [u8]) -> Self {
        Self { time: None, host: None, sender: Sender::Unsaid, sequence: None, text }
    }
}

/// Takes the prefix off a line, of which it looks at no more than the first [`LINE_CAP`](super::LINE_CAP) bytes.
pub fn peel(line: &[u8]) -> Peeled<'_> {
    let line = super::capped(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line).trim_ascii_start();
    let forms = [kmsg, netconsole, syslog, cut, talos, shortened];
    let peeled = forms.into_iter().find_map(|form| form(line)).unwrap_or_else(|| dmesg(line));
    // The second and further lines of one message are indented.
    Peeled { text: repeated(peeled.text).trim_ascii_start(), ..peeled }
}

/// `message repeated 9 times: [ text]`, as rsyslog writes it; the closing bracket stays.
fn repeated(text: &[u8]) -> &[u8] {
    let inner = || {
        let mut c = Cursor(text);
        c.text(b"message repeated ")?;
        c.number(9)?;
        c.text(b" times: [")?;
        c.spaces();
        Some(c.0)
    };
    inner().unwrap_or(text)
}

/// `[...] text`, as NVIDIA's manuals shorten a time.
fn shortened(line: &[u8]) -> Option<Peeled<'_>> {
    line.strip_prefix(b"[...] ").map(Peeled::bare)
}

/// What people paste: `kernel: text`, `13:05:23 text`, `01:05:23 PM text` and `123.456789] text`, and what syslog daemons
/// write to terminals: `kernel:[  1.2] text` and `kernel:text`.
fn cut(line: &[u8]) -> Option<Peeled<'_>> {
    let mut c = Cursor(line);
    if let Some(micros) = time::seconds(&mut c).filter(|_| c.text(b"] ").is_some()) {
        return Some(Peeled { time: Some(LineTime::SinceBoot(micros)), ..Peeled::bare(c.0) });
    }
    c = Cursor(line);
    let timed = time::time_of_day(&mut c).is_some();
    if timed {
        time::half_of_day(&mut c);
        c.byte(b' ')?;
        c.spaces();
    }
    let named = c.text(b"kernel:").map(|()| c.byte(b' ').unwrap_or_default());
    match (named, timed) {
        (Some(()), _) => Some(Peeled { sender: Sender::Kernel, ..dmesg(c.0) }),
        (None, true) => Some(dmesg(c.0)),
        (None, false) => None,
    }
}

/// `kern: warning: [2026-11-29T12:05:23.123456789Z]: text`, as Talos prints its kernel's log.
fn talos(line: &[u8]) -> Option<Peeled<'_>> {
    let mut c = Cursor(line);
    let sender = facility::named(&mut c)?;
    c.byte(b':')?;
    c.spaces();
    facility::level(&mut c)?;
    c.text(b": ")?;
    let time = time::bracketed(&mut c)?;
    c.text(b": ")?;
    Some(Peeled { time, sender, ..Peeled::bare(c.0) })
}

/// `6.8.0-60-generic,6,1234,5678,-;text`: extended netconsole puts the kernel's release before the record.
fn netconsole(line: &[u8]) -> Option<Peeled<'_>> {
    const LONGEST_RELEASE: usize = 64;
    let end = line.iter().take(LONGEST_RELEASE).position(|b| *b == b',')?;
    let (release, record) = line.split_at_checked(end)?;
    let is_release = release.first()?.is_ascii_digit()
        && release.contains(&b'.')
        && release.iter().all(|b| b.is_ascii_alphanumeric() || b"._+-~".contains(b));
    if is_release { kmsg(record.get(1..)?) } else { None }
}

/// `6,1234,5678,-;text`: priority, sequence number, microseconds since boot, flags.
fn kmsg(line: &[u8]) -> Option<Peeled<'_>> {
    let mut c = Cursor(line);
    let priority = c.number(4)?;
    c.byte(b',')?;
    let sequence = c.number(20)?;
    c.byte(b',')?;
    let micros = i64::try_from(c.number(19)?).ok()?;
    // What repeats a record may leave the flags out.
    c.byte(b',').or_else(|| c.0.starts_with(b";").then_some(()))?;
    let flags = c.0.iter().position(|b| *b == b';')?;
    let text = c.0.get(flags + 1..)?;
    Some(Peeled {
        time: Some(LineTime::SinceBoot(micros)),
        host: None,
        sender: of_facility(priority >> 3),
        sequence: Some(sequence),
        text: caller(text),
    })
}

const fn of_facility(facility: u64) -> Sender {
    if facility == 0 { Sender::Kernel } else { Sender::Process }
}

/// A time, a host, a sender: journalctl and the files of syslog daemons.
fn syslog(line: &[u8]) -> Option<Peeled<'_>> {
    let mut c = Cursor(line);
    let priority = priority(&mut c);
    // rsyslog writes files in RFC 5424's form with the version and without the priority.
    let rfc5424 = c.text(b"1 ").is_some();
    // `Sun Nov 29 13:05:23 2026`, weekday and year: too much to be part of a text.
    let dated = time::asctime(&mut { c }).is_some();
    let time = syslog_time(&mut c)?;
    c.byte(b' ')?;
    let mut peeled = Peeled { time, ..Peeled::bare(c.0) };
    // Without a sender this is `dmesg --time-format iso`, and what looks like a host is the text's first word.
    let Some(text) = sent(&mut c, &mut peeled, rfc5424) else {
        peeled.text = caller(peeled.text);
        return (dated || matches!(line.first(), Some(b'0'..=b'9'))).then_some(peeled);
    };
    if let Some(priority) = priority.filter(|p| p >> 3 != 0) {
        peeled.sender = of_facility(priority >> 3);
    }
    peeled.text = text;
    if peeled.sender == Sender::Kernel {
        let inner = dmesg(text.trim_ascii_start());
        peeled.text = inner.text;
        peeled.time = peeled.time.or(inner.time);
    }
    Some(peeled)
}

/// `<3>`: facility and level, as on the wire and in `dmesg -r`.
fn priority(cursor: &mut Cursor<'_>) -> Option<u64> {
    let mut c = *cursor;
    c.byte(b'<')?;
    let value = c.number(3)?;
    c.byte(b'>')?;
    *cursor = c;
    Some(value)
}

fn syslog_time(c: &mut Cursor<'_>) -> Option<Option<LineTime>> {
    if let Some(local) = time::month_day_time(c) {
        return Some(Some(LineTime::Local(local)));
    }
    if let Some(time) = time::iso(c) {
        return Some(Some(time));
    }
    let mut full = *c;
    if time::weekday(&mut full).is_some()
        && full.byte(b' ').is_some()
        && let Some(time) = time::iso(&mut full)
    {
        // The abbreviation of a zone tells no offset: the reading stays a local one.
        time::zone_name(&mut full);
        *c = full;
        return Some(Some(time));
    }
    if let Some(time) = time::bracketed(c) {
        return Some(time);
    }
    if let Some(time) = time::asctime(c).or_else(|| time::dated(c)) {
        return Some(Some(time));
    }
    if let Some(local) = time::day_month_time(c) {
        return Some(Some(LineTime::Local(local)));
    }
    if time::foreign_month_day_time(c).or_else(|| time::slashed(c)).is_some() {
        return Some(None);
    }
    let micros = time::seconds(c)?;
    Some(Some(LineTime::At(crate::Stamp::from_micros(micros))))
}

/// `host kernel: text`, `host name[pid]: text`, or RFC 5424's `host app pid msgid data text`.
fn sent<'a>(c: &mut Cursor<'a>, peeled: &mut Peeled<'a>, rfc5424: bool) -> Option<&'a [u8]> {
    c.spaces();
    // Some collectors leave the host out: `2026-11-29 13:05:23 kernel:[  1.2] text`, `... kern.warn kernel: text`.
    if let Some(text) = named(c, peeled) {
        return Some(text);
    }
    let host = c.word()?;
    // Else `systemd[1]:` would be the host of what systemd says of `slurmd.service:`.
    if host.ends_with(b":") {
        return None;
    }
    c.byte(b' ')?;
    peeled.host = Some(host);
    if rfc5424 {
        let app = c.0;
        let text = rfc5424_text(app)?;
        let is_kernel = app.starts_with(b"kernel ");
        peeled.sender = if is_kernel { Sender::Kernel } else { Sender::Process };
        return Some(if is_kernel { text } else { app });
    }
    // SONiC puts the level there.
    let _ = facility::upper_level(c);
    if let Some(text) = named(c, peeled) {
        return Some(text);
    }
    let length = c.0.iter().position(|b| *b == b' ')?;
    if !is_process(c.0.get(..length)?) {
        peeled.host = None;
        return None;
    }
    peeled.sender = Sender::Process;
    Some(c.0)
}

/// `kernel: text`, or a sender behind a facility and level that are spelled out: `kern.warn kernel: text`,
/// `daemon.err systemd[1]: text`. What any facility but the kernel's says stays with its sender's name.
fn named<'a>(c: &mut Cursor<'a>, peeled: &mut Peeled<'a>) -> Option<&'a [u8]> {
    let facility = facility::with_level(c);
    if facility.unwrap_or(Sender::Kernel) == Sender::Kernel && c.text(b"kernel:").is_some() {
        peeled.sender = Sender::Kernel;
        // syslogd of old leaves the level of a line that stands within another.
        let mut leveled = *c;
        leveled.spaces();
        if priority(&mut leveled).is_some() {
            *c = leveled;
        }
        return Some(c.0.strip_prefix(b" ").unwrap_or(c.0));
    }
    facility?;
    peeled.sender = Sender::Process;
    Some(c.0)
}

/// What follows `app pid msgid data`; the data is `-`, or any number of `[id name="value" ...]`.
fn rfc5424_text(name: &[u8]) -> Option<&[u8]> {
    let mut c = Cursor(name);
    for _ in 0..3 {
        c.word()?;
        c.byte(b' ')?;
    }
    if c.byte(b'-').is_none() {
        c.0.starts_with(b"[").then_some(())?;
        while c.byte(b'[').is_some() {
            c.0 = behind_element(c.0)?;
        }
    }
    let _ = c.byte(b' ');
    // UTF-8 may be marked.
    let _ = c.text(b"\xef\xbb\xbf");
    Some(c.0)
}

/// What follows the bracket that closes an element of structured data: one outside of quotes.
fn behind_element(element: &[u8]) -> Option<&[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    let end = element.iter().position(|b| {
        let closes = *b == b']' && !quoted;
        quoted ^= *b == b'"' && !escaped;
        escaped = *b == b'\\' && !escaped;
        closes
    })?;
    element.get(end + 1..)
}

/// `name[pid]:`, as every log daemon writes it. Without a pid a name is not told from a driver's (`nvme nvme0:`), unless
/// it is a service's.
fn is_process(sender: &[u8]) -> bool {
    (sender.ends_with(b"]:") && sender.contains(&b'[')) || (sender.ends_with(b":") && names_a_service(sender))
}

/// `kern  :warn  : [  123.456789][  T123] text`, every part but the text may be missing.
fn dmesg(line: &[u8]) -> Peeled<'_> {
    let mut c = Cursor(line);
    let said = facility::decoded(&mut c).or_else(|| priority(&mut c).map(|p| of_facility(p >> 3)));
    let (mut time, mut timed) = (None, false);
    if let Some(bracketed) = time::bracketed(&mut c) {
        (time, timed) = (bracketed, true);
        // Consoles write their own moment and the kernel's, and `dmesg -d` may write the step apart.
        second_bracket(&mut c);
        let _ = c.byte(b' ');
    } else if let Some(iso) = time::iso(&mut c) {
        (time, timed) = (Some(iso), true);
        let _ = c.byte(b' ');
    }
    let text = if timed { caller(c.0) } else { c.0 };
    Peeled { time, host: None, sender: said.unwrap_or(Sender::Unsaid), sequence: None, text }
}

/// A further `[  123.456789]` behind a time, with a space before it or none.
fn second_bracket(cursor: &mut Cursor<'_>) {
    let mut c = *cursor;
    let _ = c.byte(b' ');
    let before = c.0;
    let has_fraction =
        |rest: &[u8]| before.get(..before.len() - rest.len()).is_some_and(|b| b.contains(&b'.'));
    if time::bracketed(&mut c).is_some() && has_fraction(c.0) {
        *cursor = c;
    }
}

/// `[  T123] ` or `[   C12] `: the thread or CPU that called printk.
fn caller(text: &[u8]) -> &[u8] {
    let taken = || {
        let mut c = Cursor(text);
        c.spaces();
        c.byte(b'[')?;
        c.spaces();
        c.byte(b'T').or_else(|| c.byte(b'C'))?;
        c.number(10)?;
        c.byte(b']')?;
        c.byte(b' ')?;
        Some(c.0)
    };
    taken().unwrap_or(text)
}

#[cfg(test)]
mod tests;
