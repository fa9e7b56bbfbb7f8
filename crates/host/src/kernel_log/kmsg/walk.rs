//! From the oldest record to the newest, past those that were seen.
use nix::errno::Errno;
use triage_core::{BootId, Stamp};

use super::device::Records;
use super::record::Record;
use crate::clock::Clock;
use crate::kernel_log::read::{Entry, Origin};
use crate::kernel_log::{Cursor, KernelRead, KmsgCursor, Limits, Lost, plausible};

/// Longest record the kernel hands out is 8192 bytes (`CONSOLE_EXT_LOG_MAX`), 2048 since 6.6 (`PRINTK_MESSAGE_MAX`).
const RECORD_MAX: usize = 16 * 1024;

/// After how many records the deadline is looked at.
const CLOCK_EVERY: u64 = 256;

/// Most records one pass looks at: beyond what any ring holds, so only a log that grows as fast as it is read meets it.
const RECORDS_MAX: u64 = 1 << 20;

/// One pass over the ring.
pub(super) struct Walk<'a> {
    pub(super) boot: &'a BootId,
    pub(super) admit_user: bool,
    pub(super) cursor: Option<&'a KmsgCursor>,
    pub(super) limits: Limits,
    pub(super) clock: &'a dyn Clock,
}

/// What has been found so far.
#[derive(Default)]
struct Found {
    buffer: Vec<u8>,
    lines: Vec<Entry>,
    lost: Vec<Lost>,
    dropped_user_lines: u64,
    /// One more than the number of the last new record.
    next: Option<u64>,
    /// One more than the number of the last record that had been seen before.
    skipped: Option<u64>,
    /// A bound was met before the newest record was.
    more: bool,
}

/// The moments a record's own clock is held against.
struct Times {
    booted: Stamp,
    since: Option<Stamp>,
    now: Stamp,
}

impl Walk<'_> {
    /// Reads what came since the cursor.
    pub(super) fn run(&self, records: &mut impl Records) -> Result<KernelRead, Errno> {
        let here = self.cursor.filter(|cursor| cursor.boot == *self.boot);
        let now = self.clock.now();
        let up = i64::try_from(self.clock.monotonic().as_micros()).unwrap_or(i64::MAX);
        let mut times = Times { booted: now.plus_micros(-up), since: here.map(|cursor| cursor.read_at), now };
        // A first pass over a machine that has long been up promises nothing about what was there before it; the first
        // pass of a boot does.
        let wanted = here.map(|cursor| cursor.next).or(self.cursor.map(|_| 0));
        let mut found = self.walk(records, wanted, &times)?;
        if let Some(seen) = here.map(|cursor| cursor.next).filter(|seen| found.ends_before(*seen)) {
            // The machine went back in time: a snapshot of it was restored. Reading a record again is harmless.
            records.rewind()?;
            times.since = None;
            found = self.walk(records, None, &times)?;
            found.lost.push(Lost::Unknown(format!(
                "the kernel log ends before record {seen}, which was read earlier"
            )));
        }
        let next = found.next.or(if found.more { wanted } else { found.skipped }).unwrap_or(0);
        let read_at = if found.more { times.since.unwrap_or(times.booted) } else { now };
        Ok(KernelRead {
            origin: Origin::Kmsg,
            boot: self.boot.clone(),
            buffer: found.buffer,
            lines: found.lines,
            read_at: now,
            cursor: Cursor::Kmsg(KmsgCursor { boot: self.boot.clone(), next, read_at }),
            lost: found.lost,
            dropped_user_lines: found.dropped_user_lines,
            more: found.more,
        })
    }

    fn walk(&self, records: &mut impl Records, wanted: Option<u64>, times: &Times) -> Result<Found, Errno> {
        let mut found = Found::default();
        let mut bytes = [0_u8; RECORD_MAX];
        for count in 1..=RECORDS_MAX {
            if found.buffer.len() >= self.limits.max_bytes || self.is_late(count) {
                break;
            }
            let record = match records.next(&mut bytes) {
                Ok(0) | Err(Errno::EAGAIN) => return Ok(found),
                Ok(n) => Record::parse(bytes.get(..n).unwrap_or_default()),
                // Overwritten while we read: the next record's number tells how many. Longer than a record can be:
                // it is passed over, and is missed in the same way.
                Err(Errno::EPIPE | Errno::EINVAL | Errno::EINTR) => None,
                Err(error) => return Err(error),
            };
            if let Some(record) = record {
                self.take(&record, wanted, times, &mut found);
            }
        }
        found.more = true;
        Ok(found)
    }

    fn take(&self, record: &Record<'_>, wanted: Option<u64>, times: &Times, found: &mut Found) {
        let expected = found.next.or(wanted).unwrap_or(record.sequence);
        if record.sequence < expected {
            found.skipped = Some(record.sequence.saturating_add(1));
            return;
        }
        if record.sequence > expected {
            found.lost.push(Lost::Records { from: expected, to: record.sequence - 1 });
        }
        found.next = Some(record.sequence.saturating_add(1));
        let synthetic = !record.is_kernels();
        if synthetic && !self.admit_user {
            found.dropped_user_lines += 1;
            return;
        }
        let start = found.buffer.len();
        record.unescape_into(&mut found.buffer);
        let range = start..found.buffer.len();
        found.buffer.push(b'\n');
        let at = plausible(times.booted.plus_micros(record.micros), times.since, times.now);
        found.lines.push(Entry { range, cursor: record.sequence, at, generation: 0, synthetic });
    }

    fn is_late(&self, count: u64) -> bool {
        count.is_multiple_of(CLOCK_EVERY)
            && self.limits.until.is_some_and(|until| until.has_passed(self.clock))
    }
}

impl Found {
    /// Whether the newest record is older than one that had been read already.
    fn ends_before(&self, seen: u64) -> bool {
        !self.more && self.next.is_none() && self.skipped.unwrap_or(0) < seen
    }
}
