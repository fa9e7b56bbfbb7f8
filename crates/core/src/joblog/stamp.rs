//! Times that programs write into their lines.
use crate::Stamp;

/// The days a job ran: what a stamp without a year, or without a zone, is read against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calendar {
    /// No line is older.
    pub start: Stamp,
    /// No line is newer, give or take a clock; now, while the job runs.
    pub end: Stamp,
}

/// A reading of the clock as written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) year: Option<i16>,
    pub(super) month: u8,
    pub(super) day: u8,
    pub(super) second: u32,
    pub(super) micros: u32,
    /// Seconds east of UTC, where written.
    pub(super) offset: Option<i32>,
}

impl Reading {
    /// The moment; a year that is left out is the one that brings it nearest to the job's end.
    pub(super) fn at(&self, calendar: &Calendar) -> Option<Stamp> {
        let in_year = |year: i16| {
            let day =
                jiff::civil::Date::new(year, i8::try_from(self.month).ok()?, i8::try_from(self.day).ok()?)
                    .ok()?;
            let midnight = day.to_zoned_datetime(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second();
            let seconds = midnight + i64::from(self.second) - i64::from(self.offset.unwrap_or_default());
            Some(Stamp::from_secs(seconds).plus_micros(i64::from(self.micros)))
        };
        if let Some(year) = self.year {
            return in_year(year);
        }
        let end = jiff::Timestamp::from_microsecond(calendar.end.micros()).ok()?;
        let year = end.to_zoned_datetime(jiff::tz::TimeZone::UTC).year();
        [year, year.checked_sub(1)?, year.checked_add(1)?]
            .into_iter()
            .filter_map(in_year)
            .min_by_key(|at| at.micros_since(calendar.end).saturating_abs())
    }
}

/// A reader over the bytes of one line.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn byte(&mut self, wanted: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        (*first == wanted).then(|| self.0 = rest)
    }

    pub(super) fn text(&mut self, wanted: &[u8]) -> Option<()> {
        self.0.strip_prefix(wanted).map(|rest| self.0 = rest)
    }

    pub(super) fn spaces(&mut self) {
        while self.byte(b' ').is_some() {}
    }

    /// One to `most` digits, all of those that are there; more are no such number.
    pub(super) fn number(&mut self, most: usize) -> Option<u64> {
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 || digits > most {
            return None;
        }
        let (number, rest) = self.0.split_at(digits);
        let value = std::str::from_utf8(number).ok()?.parse().ok()?;
        self.0 = rest;
        Some(value)
    }

    /// Exactly `digits` digits.
    pub(super) fn digits(&mut self, digits: usize) -> Option<u32> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        if !number.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let value = std::str::from_utf8(number).ok()?.parse().ok()?;
        self.0 = rest;
        Some(value)
    }

    /// The bytes up to one of a set, not empty and at most `most`.
    pub(super) fn until(&mut self, stops: &[u8], most: usize) -> Option<&'a [u8]> {
        let length = self.0.iter().take(most + 1).position(|b| stops.contains(b))?;
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        (length > 0).then_some(word)
    }

    /// `13:05:23` with a fraction.
    fn time_of_day(&mut self) -> Option<(u32, u32)> {
        let hour = self.digits(2)?;
        self.byte(b':')?;
        let minute = self.digits(2)?;
        self.byte(b':')?;
        let second = self.digits(2)?;
        (hour < 24 && minute < 60 && second <= 60).then_some(())?;
        Some((hour * 3600 + minute * 60 + second, self.fraction()))
    }

    fn fraction(&mut self) -> u32 {
        let mut c = *self;
        if c.byte(b'.').is_none() && c.byte(b',').is_none() {
            return 0;
        }
        let digits = c.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let (fraction, rest) = c.0.split_at(digits);
        if digits == 0 {
            return 0;
        }
        self.0 = rest;
        let six = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(6);
        six.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    }
}

/// `2026-03-01T10:00:00.123Z` in its variations; a space for the `T`, `_` as torchrun has it, a comma for the point, a
/// zone or none.
pub(super) fn iso(bytes: &mut Bytes<'_>) -> Option<Reading> {
    let mut c = *bytes;
    let year = i16::try_from(c.digits(4)?).ok().filter(|year| (1990..2200).contains(year))?;
    c.byte(b'-').or_else(|| c.byte(b'/'))?;
    let month = u8::try_from(c.digits(2)?).ok()?;
    c.byte(b'-').or_else(|| c.byte(b'/'))?;
    let day = u8::try_from(c.digits(2)?).ok()?;
    c.byte(b'T').or_else(|| c.byte(b' ')).or_else(|| c.byte(b'_'))?;
    let (second, micros) = c.time_of_day()?;
    let offset = zone(&mut c);
    *bytes = c;
    Some(Reading { year: Some(year), month, day, second, micros, offset })
}

fn zone(c: &mut Bytes<'_>) -> Option<i32> {
    if c.byte(b'Z').is_some() {
        return Some(0);
    }
    let mut z = *c;
    let sign = z.byte(b'+').map(|()| 1).or_else(|| z.byte(b'-').map(|()| -1))?;
    let hours = z.digits(2)?;
    let _ = z.byte(b':');
    let minutes = z.digits(2)?;
    *c = z;
    i32::try_from(hours * 3600 + minutes * 60).ok().map(|seconds| sign * seconds)
}

/// `Feb 16 11:46:12.517`, as syslog writes it.
pub(super) fn syslog(bytes: &mut Bytes<'_>) -> Option<Reading> {
    let mut c = *bytes;
    let month = month(&mut c)?;
    c.spaces();
    let day = u8::try_from(c.number(2)?).ok()?;
    c.byte(b' ')?;
    let (second, micros) = c.time_of_day()?;
    *bytes = c;
    Some(Reading { year: None, month, day, second, micros, offset: None })
}

/// `Fri Aug 11 12:31:45 2023`, as `ctime` writes it.
pub(super) fn ctime(bytes: &mut Bytes<'_>) -> Option<Reading> {
    const DAYS: [&[u8]; 7] = [b"Mon ", b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun "];
    let mut c = *bytes;
    DAYS.iter().find_map(|day| c.text(day))?;
    let mut reading = syslog(&mut c)?;
    c.byte(b' ')?;
    reading.year = i16::try_from(c.digits(4)?).ok();
    *bytes = c;
    Some(reading)
}

fn month(c: &mut Bytes<'_>) -> Option<u8> {
    const MONTHS: [&[u8]; 12] = [
        b"Jan ", b"Feb ", b"Mar ", b"Apr ", b"May ", b"Jun ", b"Jul ", b"Aug ", b"Sep ", b"Oct ", b"Nov ",
        b"Dec ",
    ];
    let found = MONTHS.iter().position(|name| c.text(name).is_some())?;
    u8::try_from(found + 1).ok()
}

/// `E1206 18:44:12.715298746 `, as glog writes it: severity, month and day. PyTorch leaves the month's leading zero
/// out, so three digits are a month of one. Before PyTorch 2.4 there is no time at all: `E ProcessGroupNCCL.cpp`.
pub(super) fn glog(bytes: &mut Bytes<'_>) -> Option<Option<Reading>> {
    let mut c = *bytes;
    let severity = c.0.first().copied().filter(|b| matches!(b, b'E' | b'W' | b'I' | b'F' | b'C'))?;
    c.byte(severity)?;
    if c.byte(b' ').is_some() {
        *bytes = c;
        return Some(None);
    }
    let digits = c.0.iter().take_while(|b| b.is_ascii_digit()).count();
    let (month, day) = match digits {
        3 => (c.digits(1)?, c.digits(2)?),
        4 => (c.digits(2)?, c.digits(2)?),
        _ => return None,
    };
    c.byte(b' ')?;
    let (second, micros) = c.time_of_day()?;
    let _ = c.byte(b' ');
    *bytes = c;
    let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    Some(Some(Reading { year: None, month, day, second, micros, offset: None }))
}
