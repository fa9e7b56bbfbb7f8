//! What stands before the text of a line in a job's output, in any order and number: srun's label, mpirun's tag,
//! torchrun's and PyTorch's rank, NCCL's `host:pid:tid [gpu]`, times of several kinds, glog's head.
use super::stamp::{self, Bytes, Calendar, Reading};
use crate::Stamp;

/// A line and what stood before its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peeled<'a> {
    /// The text.
    pub text: &'a [u8],
    /// srun's label: the number of the task that wrote it.
    pub task: Option<u32>,
    /// The rank that says it wrote the line.
    pub rank: Option<u32>,
    /// The rank within a process group that says it wrote the line; the global rank for the default group.
    pub group_rank: Option<u32>,
    /// The host that says it wrote the line.
    pub host: Option<&'a [u8]>,
    /// Its process.
    pub pid: Option<u32>,
    /// Its GPU's number on the host.
    pub gpu: Option<u32>,
    /// When it was written.
    pub(super) reading: Option<Reading>,
}

impl Peeled<'_> {
    /// When the line was written, by its own stamp.
    pub fn at(&self, calendar: &Calendar) -> Option<Stamp> {
        self.reading?.at(calendar)
    }
}

/// Most prefixes taken off one line. Nobody writes more; a hostile line of nothing else ends here.
const MOST: usize = 8;

/// Takes the prefixes off a line.
pub fn peel(line: &[u8]) -> Peeled<'_> {
    let mut peeled = Peeled { text: line, ..Peeled::default() };
    for _ in 0..MOST {
        if !one(&mut peeled) {
            break;
        }
    }
    in_brackets(&mut peeled);
    peeled
}

/// The rank that a bracket at the beginning of the text names: `[PG ID 0 PG GUID 0(default_pg) Rank 3]`, `[Rank 3]`. The
/// text keeps it.
fn in_brackets(peeled: &mut Peeled<'_>) {
    peeled.group_rank = rank_in_brackets(Bytes(peeled.text));
}

fn rank_in_brackets(mut c: Bytes<'_>) -> Option<u32> {
    c.byte(b'[')?;
    let inside = c.until(b"]", 120)?;
    let at = inside.windows(5).rposition(|window| window == b"Rank ")?;
    let mut number = Bytes(inside.get(at + 5..)?);
    let rank = u32::try_from(number.number(7)?).ok()?;
    number.0.is_empty().then_some(rank)
}

/// Takes one prefix off; `false` when none is there.
fn one(peeled: &mut Peeled<'_>) -> bool {
    let before = peeled.text;
    let taken = label(peeled)
        .or_else(|| rank(peeled))
        .or_else(|| mpirun(peeled))
        .or_else(|| process(peeled))
        .or_else(|| glog(peeled))
        .or_else(|| time(peeled))
        .or_else(|| address(peeled));
    taken.is_some() && peeled.text.len() < before.len()
}

/// `  3: `: srun's label, the first thing on a line.
fn label(peeled: &mut Peeled<'_>) -> Option<()> {
    if peeled.task.is_some() || peeled.rank.is_some() || peeled.host.is_some() || peeled.reading.is_some() {
        return None;
    }
    let mut c = Bytes(peeled.text);
    c.spaces();
    let task = u32::try_from(c.number(7)?).ok()?;
    c.byte(b':')?;
    // An empty line of a task is its label alone.
    c.byte(b' ').or_else(|| c.0.is_empty().then_some(()))?;
    peeled.task = Some(task);
    peeled.text = c.0;
    Some(())
}

/// `[rank3]:` and `[rank3]: ` of PyTorch, `[default0]:` and `[trainer0|0]:` of torchrun.
fn rank(peeled: &mut Peeled<'_>) -> Option<()> {
    let mut c = Bytes(peeled.text);
    c.byte(b'[')?;
    let name = c.until(b"]|0123456789", 24)?;
    if !name.iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let number = u32::try_from(c.number(7)?).ok()?;
    let after_bar = c.byte(b'|').and_then(|()| c.number(7)).and_then(|n| u32::try_from(n).ok());
    c.byte(b']')?;
    c.byte(b':')?;
    let _ = c.byte(b' ');
    if name == b"rank" {
        peeled.rank = Some(number);
    } else if let Some(number) = after_bar {
        peeled.rank = peeled.rank.or(Some(number));
    }
    peeled.text = c.0;
    Some(())
}

/// `[1,12]<stdout>:`: mpirun's tag, job and rank.
fn mpirun(peeled: &mut Peeled<'_>) -> Option<()> {
    let mut c = Bytes(peeled.text);
    c.byte(b'[')?;
    c.number(7)?;
    c.byte(b',')?;
    let number = u32::try_from(c.number(7)?).ok()?;
    c.byte(b']')?;
    c.text(b"<stdout>:").or_else(|| c.text(b"<stderr>:"))?;
    peeled.rank = Some(number);
    peeled.text = c.0;
    Some(())
}

/// `host:pid:tid [gpu] ` of NCCL, `[host:pid:0:pid] ` of UCX.
fn process(peeled: &mut Peeled<'_>) -> Option<()> {
    let mut c = Bytes(peeled.text);
    let bracketed = c.byte(b'[').is_some();
    let host = c.until(b": []<>()\"'", 120)?;
    if host.iter().all(u8::is_ascii_digit) || !host.iter().all(|b| is_host(*b)) {
        return None;
    }
    c.byte(b':')?;
    let pid = u32::try_from(c.number(10)?).ok()?;
    c.spaces();
    c.byte(b':')?;
    c.number(10)?;
    if bracketed {
        while c.byte(b':').is_some() {
            c.number(10)?;
        }
        c.byte(b']')?;
    } else {
        c.byte(b' ')?;
        c.byte(b'[')?;
        peeled.gpu = Some(u32::try_from(c.number(4)?).ok()?);
        c.byte(b']')?;
    }
    c.byte(b' ')?;
    c.spaces();
    peeled.host = Some(host);
    peeled.pid = Some(pid);
    peeled.text = c.0;
    Some(())
}

const fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

/// `[E1206 18:44:12.715 ProcessGroupNCCL.cpp:607] ` and the same without brackets, up to its `] `.
fn glog(peeled: &mut Peeled<'_>) -> Option<()> {
    let mut c = Bytes(peeled.text);
    let _ = c.byte(b'[');
    let reading = stamp::glog(&mut c)?;
    // What follows names the place: perhaps a thread, then `file:line]`.
    let place = c.until(b"]", 200)?;
    let names_a_line = place.iter().rposition(|b| *b == b':').is_some_and(|at| {
        place.get(at + 1..).is_some_and(|line| !line.is_empty() && line.iter().all(u8::is_ascii_digit))
    });
    (names_a_line && !place.contains(&b'[')).then_some(())?;
    c.byte(b']')?;
    c.spaces();
    peeled.reading = peeled.reading.or(reading);
    peeled.text = c.0;
    Some(())
}

/// A time, in brackets or not. After a time without brackets comes a space, a colon or another prefix.
fn time(peeled: &mut Peeled<'_>) -> Option<()> {
    let mut c = Bytes(peeled.text);
    let bracketed = c.byte(b'[').is_some();
    let reading = stamp::iso(&mut c).or_else(|| stamp::ctime(&mut c)).or_else(|| stamp::syslog(&mut c))?;
    if bracketed {
        c.byte(b']')?;
    }
    let _ = c.byte(b':');
    c.spaces();
    // Of two stamps the one that knows its zone is the better one.
    if peeled.reading.is_none_or(|old| old.offset.is_none() && reading.offset.is_some()) {
        peeled.reading = Some(reading);
    }
    peeled.text = c.0;
    Some(())
}

/// `10.0.23.10: `: pdsh's prefix.
fn address(peeled: &mut Peeled<'_>) -> Option<()> {
    let mut c = Bytes(peeled.text);
    let word = c.until(b": ", 45)?;
    let parts = word.split(|b| *b == b'.');
    let is_address = parts.clone().count() == 4
        && parts
            .clone()
            .all(|part| !part.is_empty() && part.len() <= 3 && part.iter().all(u8::is_ascii_digit));
    is_address.then_some(())?;
    c.text(b": ")?;
    peeled.host = peeled.host.or(Some(word));
    peeled.text = c.0;
    Some(())
}

/// A line without terminal escapes: colours, cursor movements, titles.
pub fn without_escapes(line: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    const ESCAPE: u8 = 0x1b;
    if !line.contains(&ESCAPE) {
        return std::borrow::Cow::Borrowed(line);
    }
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.iter().position(|b| *b == ESCAPE) {
        out.extend_from_slice(&rest[..at]);
        rest = after_escape(&rest[at + 1..]);
    }
    out.extend_from_slice(rest);
    std::borrow::Cow::Owned(out)
}

/// What follows an escape sequence whose first byte was taken already.
fn after_escape(rest: &[u8]) -> &[u8] {
    match rest.first() {
        // CSI: parameters, then one final byte.
        Some(b'[') => {
            let end = rest.iter().skip(1).position(|b| (0x40..=0x7e).contains(b)).map(|at| at + 2);
            end.and_then(|end| rest.get(end..)).unwrap_or_default()
        }
        // OSC: up to BEL or ST.
        Some(b']') => {
            let end = rest.iter().position(|b| *b == 0x07).map(|at| at + 1);
            end.and_then(|end| rest.get(end..)).unwrap_or_default()
        }
        Some(_) => rest.get(1..).unwrap_or_default(),
        None => rest,
    }
}
