//! Lines of the kernel's that something else carries: the journal's exports, JSON and CSV of log stores, containers' logs,
//! consoles, and what `pdsh` and `grep` put before a line.
//!
//! All of this is for reading logs afterwards. The live sources know where their lines come from and need none of it.
mod csv;
mod json;
mod record;

use std::borrow::Cow;

use triage_core::Stamp;
use triage_core::catalog::{Catalog, Origin};
use triage_core::classify::Meaning;
use triage_core::classify::prefix::{Clock, Sender, names_a_service, peel};

/// How often one thing may carry another: a node's name, a container's log, JSON, a syslog line.
const DEEPEST: usize = 5;

/// Longest name of a node or file that stands before a line, bytes.
const LONGEST_NAME: usize = 160;

/// A text and what its carrier says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Carried<'a> {
    text: Cow<'a, [u8]>,
    sender: Sender,
    time: Option<Stamp>,
}

impl<'a> Carried<'a> {
    /// A text of which nothing is said.
    fn bare(text: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { text: text.into(), sender: Sender::Unsaid, time: None }
    }

    /// What the sender `name` wrote; the name goes before the text, as a log daemon would put it.
    fn of_process(name: &str, pid: &str, text: &[u8], time: Option<Stamp>) -> Self {
        let mut named = format!("{name}[{pid}]: ").into_bytes();
        named.extend_from_slice(text);
        Self { text: named.into(), sender: Sender::Process, time }
    }
}

/// A line with a meaning, without what stood before it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) meaning: Meaning,
    pub(super) time: Option<Stamp>,
    pub(super) text: Vec<u8>,
}

/// What the line at `line` of `buffer` means, whatever carries it.
pub(super) fn read(
    catalog: &Catalog,
    clock: &Clock,
    buffer: &[u8],
    line: std::ops::Range<usize>,
) -> Option<Found> {
    let raw = buffer.get(line.clone())?;
    match record::field(buffer, line) {
        Some(carried) => deeper(catalog, clock, &carried, DEEPEST),
        None => deeper(catalog, clock, &Carried::bare(raw), DEEPEST),
    }
}

fn deeper(catalog: &Catalog, clock: &Clock, carried: &Carried<'_>, left: usize) -> Option<Found> {
    let peeled = peel(&carried.text);
    let time = peeled.time.and_then(|time| time.resolve(clock)).or(carried.time);
    let process = carried.sender == Sender::Process || peeled.sender == Sender::Process;
    // What a process wrote into the same log is no word of the kernel's; a service's name was put there by systemd or the
    // log daemon.
    let text = if carried.sender == Sender::Process { carried.text.as_ref() } else { peeled.text };
    if process && !names_a_service(text) {
        return None;
    }
    if let Some(meaning) = catalog.read(Origin::Kernel, text) {
        return Some(Found { meaning, time, text: text.to_vec() });
    }
    // Nothing but the kernel's own text is behind its name or its clock.
    let is_plain =
        peeled.sender == Sender::Kernel || (peeled.time.is_some() && carried.text.starts_with(b"["));
    if process || is_plain || left == 0 {
        return None;
    }
    unwrapped(&carried.text).into_iter().find_map(|inner| {
        let inner = Carried {
            sender: if inner.sender == Sender::Unsaid { carried.sender } else { inner.sender },
            time: inner.time.or(time),
            text: inner.text,
        };
        deeper(catalog, clock, &inner, left - 1)
    })
}

/// What a line tells of whose log it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origins {
    /// Nothing.
    Unsaid,
    /// It begins as dmesg's lines do.
    LikeKernel,
    /// It, or what it carries, is the kernel's by its own words.
    Kernel,
}

/// Whose log a line seems to be in.
pub(super) fn origins(line: &[u8]) -> Origins {
    told(line, 2)
}

fn told(line: &[u8], left: usize) -> Origins {
    let peeled = peel(line);
    if peeled.sender == Sender::Kernel && peeled.time.is_some() {
        return Origins::Kernel;
    }
    if peeled.sender == Sender::Unsaid && peeled.host.is_none() && begins_like_dmesg(line) {
        return Origins::LikeKernel;
    }
    if peeled.sender == Sender::Process || left == 0 {
        return Origins::Unsaid;
    }
    let of = |inner: &Carried<'_>| match inner.sender {
        Sender::Kernel => Origins::Kernel,
        Sender::Process => Origins::Unsaid,
        Sender::Unsaid => told(&inner.text, left - 1),
    };
    unwrapped(line).iter().map(of).max().unwrap_or(Origins::Unsaid)
}

/// `[  123.456789] ` and `[Sun Nov 29 13:05:23 2026] `. Frameworks write brackets too, with a date in figures, and UCX with the
/// seconds since 1970: longer than any machine runs.
fn begins_like_dmesg(line: &[u8]) -> bool {
    const LONGEST_UPTIME: usize = 8;
    const DAYS: [&[u8]; 7] = [b"Mon ", b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun "];
    let Some(rest) = line.strip_prefix(b"[") else { return false };
    let content = rest.split(|b| *b == b']').next().unwrap_or_default().trim_ascii();
    let mut parts = content.split(|b| *b == b'.');
    let (whole, fraction) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let since_boot =
        digits(whole) && digits(fraction) && whole.len() <= LONGEST_UPTIME && fraction.len() == 6;
    let named_day = DAYS.iter().any(|day| content.starts_with(day)) && !content.contains(&b'.');
    rest.len() > content.len() && (since_boot || named_day)
}

/// What a line may carry.
fn unwrapped(line: &[u8]) -> Vec<Carried<'_>> {
    if let Some(plain) = without_colours(line) {
        return vec![Carried::bare(plain)];
    }
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.first() == Some(&b'{') {
        return json::texts(line);
    }
    let forms = [container, labelled, record_over_syslog, quoted, console, hosted, named];
    if let Some(text) = forms.into_iter().find_map(|form| form(line)) {
        return vec![Carried::bare(text)];
    }
    csv::texts(line)
}

/// Without the escapes that colour a terminal's text, as they are or as rsyslog writes them; `None` if there are none.
fn without_colours(line: &[u8]) -> Option<Vec<u8>> {
    const STARTS: [&[u8]; 3] = [b"\x1b[", b"#033[", b"^[["];
    memchr::memchr3(b'\x1b', b'#', b'^', line)?;
    let start = |rest: &[u8]| STARTS.iter().find(|start| rest.starts_with(start)).map(|start| start.len());
    let (mut out, mut rest, mut found) = (Vec::new(), line, false);
    while let Some((first, behind)) = rest.split_first() {
        let escape = start(rest).and_then(|length| {
            let codes = rest.get(length..)?;
            let end = codes.iter().take(24).position(u8::is_ascii_alphabetic)?;
            codes.get(end + 1..)
        });
        match escape {
            Some(after) => (rest, found) = (after, true),
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    found.then_some(out)
}

/// `2026-11-29T12:05:23.123456789Z stderr F text`: a container's log as Kubernetes keeps it.
fn container(line: &[u8]) -> Option<&[u8]> {
    let (time, rest) = word(line)?;
    let is_time = time.first()?.is_ascii_digit() && time.contains(&b'T') && time.contains(&b':');
    let (stream, rest) = word(rest)?;
    let (tag, rest) = word(rest)?;
    (is_time && matches!(stream, b"stdout" | b"stderr") && matches!(tag.first()?, b'F' | b'P'))
        .then_some(rest)
}

/// `2026-11-29T12:05:23Z {host="n1", transport="kernel"} text`: Loki's own client.
fn labelled(line: &[u8]) -> Option<&[u8]> {
    let (time, rest) = word(line)?;
    time.first().filter(|b| b.is_ascii_digit())?;
    let rest = rest.trim_ascii_start();
    rest.starts_with(b"{").then_some(())?;
    let end = memchr::memmem::find(rest, b"} ")?;
    let labels = rest.get(..end)?;
    let of_process = memchr::memmem::find(labels, b"transport=\"").is_some()
        && memchr::memmem::find(labels, b"transport=\"kernel\"").is_none();
    if of_process { None } else { rest.get(end + 2..) }
}

/// `Nov 29 13:05:23 n1 4,1234,5678,-;text`: a record of extended netconsole that a syslog daemon received.
fn record_over_syslog(line: &[u8]) -> Option<&[u8]> {
    const WORDS: usize = 6;
    let mut words: Vec<&[u8]> = Vec::new();
    let mut rest = line;
    while words.len() < WORDS {
        let (next, behind) = word(rest)?;
        words.push(next);
        rest = behind.trim_ascii_start();
        // Host and time stand before it: what a program wrote has the program's name between.
        let [.., time, host] = words.as_slice() else { continue };
        let is_time = time.iter().filter(|b| **b == b':').count() >= 2 && time.iter().any(u8::is_ascii_digit);
        if is_time && !host.ends_with(b":") && peel(rest).sequence.is_some() {
            return Some(rest);
        }
    }
    None
}

/// `> text`, as replies quote.
fn quoted(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b">")?;
    Some(rest.trim_ascii_start())
}

/// `n1 login: [  123.456789] text` and `root@n1:~# [  123.456789] text`: what was on a serial console before the kernel wrote.
fn console(line: &[u8]) -> Option<&[u8]> {
    const PROMPTS: [&[u8]; 4] = [b"login: ", b"Password: ", b"# ", b"$ "];
    let at = line.iter().take(LONGEST_NAME).position(|b| *b == b'[')?;
    let (before, rest) = line.split_at_checked(at)?;
    let prompted = PROMPTS.iter().any(|prompt| before.ends_with(prompt));
    // A log daemon's line may end so as well, with whatever a program wrote.
    let dated = before
        .windows(5)
        .any(|w| matches!(w, [a, b, b':', c, d] if [a, b, c, d].iter().all(|b| b.is_ascii_digit())));
    let unsaid = peel(line).time.is_none() && !dated;
    (prompted && unsaid && peel(rest).time.is_some()).then_some(rest)
}

/// `n1 kernel: text`: a syslog line that lost its time.
fn hosted(line: &[u8]) -> Option<&[u8]> {
    let (host, rest) = word(line)?;
    let is_host = host.iter().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(b));
    (is_host && !host.is_empty() && rest.starts_with(b"kernel:")).then_some(rest)
}

/// `n1: line`, `/var/log/messages:line`, `1234:line`: the name of a node or file, or a number, before a line that has a time
/// or the kernel's name of its own.
fn named(line: &[u8]) -> Option<&[u8]> {
    behind_name(line, DEEPEST)
}

/// The same, where no more than so many further names follow: a line may be nothing else.
fn behind_name(line: &[u8], left: usize) -> Option<&[u8]> {
    let plain = peel(line);
    if plain.time.is_some() || plain.sender != Sender::Unsaid || plain.sequence.is_some() {
        return None;
    }
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"._-/@".contains(b);
    let length = line.iter().take(LONGEST_NAME).take_while(|b| is_name(b)).count();
    let rest = line.get(length..)?.strip_prefix(b":")?.trim_ascii_start();
    let says_something = |rest: &[u8]| {
        let inner = peel(rest);
        inner.time.is_some() || inner.sender != Sender::Unsaid || inner.sequence.is_some()
    };
    let deeper =
        || left > 0 && rest.first().is_some_and(u8::is_ascii_digit) && behind_name(rest, left - 1).is_some();
    (length > 0 && (says_something(rest) || deeper())).then_some(rest)
}

/// The first word and what follows its space.
fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|b| *b == b' ')?;
    Some((line.get(..end)?, line.get(end + 1..)?))
}

#[cfg(test)]
mod tests;
