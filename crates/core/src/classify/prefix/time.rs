//! The times that stand before a line, in the ways the kernel's and syslog's tools write them.
use super::cursor::Cursor;
use crate::Stamp;

/// A time as a line tells it. Not every way of writing it says which moment it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineTime {
    /// Microseconds since the kernel started.
    SinceBoot(i64),
    /// A moment.
    At(Stamp),
    /// A reading of the machine's local clock.
    Local(Local),
}

/// A local clock's reading. RFC 3164 leaves the year out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    /// Year, where it is written.
    pub year: Option<i16>,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month.
    pub day: u8,
    /// Second of the day.
    pub second: u32,
    /// Microsecond of the second.
    pub micros: u32,
}

/// What turns a [`LineTime`] into a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    /// When the kernel started; without it, times since boot stay unknown.
    pub boot: Option<Stamp>,
    /// Local time minus UTC, seconds.
    pub utc_offset: i32,
    /// No line is later than this; a year that is left out is the last one that keeps to it.
    pub latest: Stamp,
}

impl LineTime {
    /// The moment, as far as `clock` allows to tell.
    pub fn resolve(self, clock: &Clock) -> Option<Stamp> {
        match self {
            Self::At(stamp) => Some(stamp),
            Self::SinceBoot(micros) => Some(clock.boot?.plus_micros(micros)),
            Self::Local(local) => local.resolve(clock),
        }
    }
}

/// Machines whose clocks differ a little write lines "from the future"; a day covers every time zone as well.
const SLACK_SECS: i64 = 86_400;

impl Local {
    fn resolve(self, clock: &Clock) -> Option<Stamp> {
        let in_year = |year: i16| {
            let day =
                jiff::civil::Date::new(year, i8::try_from(self.month).ok()?, i8::try_from(self.day).ok()?)
                    .ok()?;
            let midnight = day.to_zoned_datetime(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second();
            let second = midnight + i64::from(self.second) - i64::from(clock.utc_offset);
            Some(Stamp::from_secs(second).plus_micros(i64::from(self.micros)))
        };
        match self.year {
            Some(year) => in_year(year),
            None => {
                let latest = clock.latest.plus_secs(SLACK_SECS);
                let this_year = jiff::Timestamp::from_microsecond(latest.micros())
                    .ok()?
                    .to_zoned_datetime(jiff::tz::TimeZone::UTC)
                    .year();
                // Eight years back there is a leap day for sure.
                (0..=8).filter_map(|back| in_year(this_year.checked_sub(back)?)).find(|at| *at <= latest)
            }
        }
    }
}

/// `[  123.456789]`; `[   +0.000012]` and `[Nov29 13:05]` are times too, but say no moment.
pub(super) fn bracketed(cursor: &mut Cursor<'_>) -> Option<Option<LineTime>> {
    let mut c = *cursor;
    c.byte(b'[')?;
    c.spaces();
    let time = bracket_content(&mut c)?;
    c.spaces();
    c.byte(b']')?;
    *cursor = c;
    Some(time)
}

fn bracket_content(c: &mut Cursor<'_>) -> Option<Option<LineTime>> {
    if let Some(micros) = seconds(c).or_else(|| whole_seconds(c)) {
        let _ = step(c);
        return Some(Some(LineTime::SinceBoot(micros)));
    }
    let mut relative = *c;
    relative.byte(b'<');
    relative.spaces();
    if relative.byte(b'+').is_some() && seconds(&mut relative).is_some() {
        relative.byte(b'>');
        *c = relative;
        return Some(None);
    }
    if let Some(time) = asctime(c).or_else(|| month_day_year_time(c)).or_else(|| iso(c)) {
        let _ = step(c);
        return Some(Some(time));
    }
    if let Some(local) = day_month_time(c) {
        return Some(Some(LineTime::Local(local)));
    }
    if let Some(mut local) = month_day_time(c) {
        let mut dated = *c;
        local.year = dated.byte(b' ').and_then(|()| year(&mut dated));
        if local.year.is_some() {
            *c = dated;
        }
        return Some(Some(LineTime::Local(local)));
    }
    if slashed(c).is_some() || step(c).is_some() || foreign_asctime(c).is_some() || time_of_day(c).is_some() {
        return Some(None);
    }
    let mut short = *c;
    month(&mut short)?;
    short.spaces();
    short.number(2)?;
    short.spaces();
    short.two()?;
    short.byte(b':')?;
    short.two()?;
    *c = short;
    Some(None)
}

/// `123.456789`, with a fraction always.
pub(super) fn seconds(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut c = *cursor;
    let whole = i64::try_from(c.number(12)?).ok()?;
    if c.0.first() != Some(&b'.') {
        return None;
    }
    let micros = c.micros();
    *cursor = c;
    whole.checked_mul(1_000_000)?.checked_add(i64::from(micros))
}

/// ` <    0.000012>`, as `dmesg -d` and journalctl's short-delta write it behind the moment.
fn step(cursor: &mut Cursor<'_>) -> Option<()> {
    let mut c = *cursor;
    c.spaces();
    c.byte(b'<')?;
    c.spaces();
    let _ = c.byte(b'+');
    seconds(&mut c)?;
    c.byte(b'>')?;
    *cursor = c;
    Some(())
}

/// `123` and the closing bracket, with a space behind it.
fn whole_seconds(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut c = *cursor;
    let whole = i64::try_from(c.number(12)?).ok()?;
    c.0.starts_with(b"] ").then(|| *cursor = c)?;
    whole.checked_mul(1_000_000)
}

/// `Sun Nov 29 13:05:23 2026`, as `dmesg -T` writes it, and `Sun Nov 29 13:05:23 UTC 2026`, as `date` does.
pub(super) fn asctime(cursor: &mut Cursor<'_>) -> Option<LineTime> {
    let mut c = *cursor;
    weekday(&mut c)?;
    c.byte(b' ')?;
    let mut local = month_day_time(&mut c)?;
    c.byte(b' ')?;
    let utc = c.text(b"UTC ").is_some();
    if !utc && c.0.first().is_some_and(u8::is_ascii_uppercase) {
        c.word().filter(|zone| is_zone_name(zone))?;
        c.byte(b' ')?;
    }
    local.year = Some(year(&mut c)?);
    *cursor = c;
    if utc { local.resolve(&Clock::default()).map(LineTime::At) } else { Some(LineTime::Local(local)) }
}

/// `Nov 29 2026 13:05:23`, as Fabric Manager writes it.
fn month_day_year_time(cursor: &mut Cursor<'_>) -> Option<LineTime> {
    let mut c = *cursor;
    let month = month(&mut c)?;
    c.spaces();
    let day = u8::try_from(c.number(2)?).ok()?;
    c.byte(b' ')?;
    let year = Some(year(&mut c)?);
    c.byte(b' ')?;
    let (second, micros) = time_of_day(&mut c)?;
    *cursor = c;
    Some(LineTime::Local(Local { year, month, day, second, micros }))
}

/// `2026 Nov 29 13:05:23.123456` and `Nov 29 2026 13:05:23`, as some syslog daemons write the year.
pub(super) fn dated(cursor: &mut Cursor<'_>) -> Option<LineTime> {
    let mut c = *cursor;
    let Some(year) = year(&mut c) else { return month_day_year_time(cursor) };
    c.byte(b' ')?;
    let mut local = month_day_time(&mut c)?;
    local.year = Some(year);
    *cursor = c;
    Some(LineTime::Local(local))
}

/// `29 Nov 13:05:23`, `29 Nov, 13:05:23` and `29 Nov 2026 13:05:23`.
pub(super) fn day_month_time(cursor: &mut Cursor<'_>) -> Option<Local> {
    let mut c = *cursor;
    let day = u8::try_from(c.number(2)?).ok()?;
    c.byte(b' ')?;
    let month = month(&mut c)?;
    let _ = c.byte(b',');
    c.byte(b' ')?;
    let mut dated = c;
    let year = year(&mut dated).filter(|_| dated.byte(b' ').is_some());
    if year.is_some() {
        c = dated;
    }
    let (second, micros) = time_of_day(&mut c)?;
    *cursor = c;
    Some(Local { year, month, day, second, micros })
}

/// `11/29/2026 13:05:23` and `11/29/2026, 01:05:23 PM`. Whether month or day comes first differs between countries, so it
/// says no moment.
pub(super) fn slashed(cursor: &mut Cursor<'_>) -> Option<()> {
    let mut c = *cursor;
    for _ in 0..2 {
        let part = c.number(2)?;
        (1..=31).contains(&part).then_some(())?;
        c.byte(b'/')?;
    }
    year(&mut c)?;
    let _ = c.byte(b',');
    c.byte(b' ')?;
    time_of_day(&mut c)?;
    half_of_day(&mut c);
    *cursor = c;
    Some(())
}

/// ` PM`, behind a time of twelve hours.
pub(super) fn half_of_day(c: &mut Cursor<'_>) {
    let _ = c.text(b" AM").or_else(|| c.text(b" PM"));
}

/// `8月 25 13:52:23`, `nov. 24 17:19:12`, `Dez 01 10:00:00`: a month in another language. Which one it is stays unknown.
pub(super) fn foreign_month_day_time(cursor: &mut Cursor<'_>) -> Option<()> {
    const LONGEST: usize = 24;
    let mut c = *cursor;
    let word = c.word()?;
    let is_letter = |b: &u8| b.is_ascii_alphabetic() || !b.is_ascii() || *b == b'.';
    let letters = word.iter().skip_while(|b| b.is_ascii_digit()).collect::<Vec<_>>();
    let is_month = word.len() <= LONGEST && letters.len() > 1 && letters.into_iter().all(is_letter);
    is_month.then_some(())?;
    c.spaces();
    let day = c.number(2)?;
    (1..=31).contains(&day).then_some(())?;
    c.byte(b' ')?;
    time_of_day(&mut c)?;
    *cursor = c;
    Some(())
}

/// `mar. févr.  8 12:57:41 2022`, `Mo Nov 30 12:57:41 2022`, `二 4月 22 12:57:41 2025`: as `dmesg -T` writes it in another
/// language. Which month it is stays unknown.
fn foreign_asctime(cursor: &mut Cursor<'_>) -> Option<()> {
    const LONGEST: usize = 24;
    let mut c = *cursor;
    let weekday = c.word()?;
    let is_letter = |b: &u8| b.is_ascii_alphabetic() || !b.is_ascii() || *b == b'.';
    (weekday.len() <= LONGEST && weekday.iter().all(is_letter)).then_some(())?;
    c.spaces();
    foreign_month_day_time(&mut c)?;
    c.byte(b' ')?;
    year(&mut c)?;
    *cursor = c;
    Some(())
}

/// `Nov 29 13:05:23` and `Nov  9 13:05:23.123456`, as RFC 3164 and journalctl's short formats write it.
pub(super) fn month_day_time(cursor: &mut Cursor<'_>) -> Option<Local> {
    let mut c = *cursor;
    let month = month(&mut c)?;
    c.spaces();
    let day = u8::try_from(c.number(2)?).ok()?;
    c.byte(b' ')?;
    let (second, micros) = time_of_day(&mut c)?;
    *cursor = c;
    Some(Local { year: None, month, day, second, micros })
}

/// `2026-11-29T13:05:23,123456+01:00` in all its variations: `T` or space, `.` or `,`, `Z`, `+01:00`, `+0100` or no zone.
pub(super) fn iso(cursor: &mut Cursor<'_>) -> Option<LineTime> {
    let mut c = *cursor;
    let year = year(&mut c)?;
    let separator = *c.0.first().filter(|b| matches!(b, b'-' | b'/'))?;
    c.byte(separator)?;
    let month = c.two()?;
    c.byte(separator)?;
    let day = c.two()?;
    c.byte(b'T').or_else(|| c.byte(b' '))?;
    let (second, micros) = time_of_day(&mut c)?;
    let local = Local { year: Some(year), month, day, second, micros };
    let time = match zone(&mut c) {
        Some(utc_offset) => LineTime::At(local.resolve(&Clock { utc_offset, ..Clock::default() })?),
        None => LineTime::Local(local),
    };
    *cursor = c;
    Some(time)
}

fn zone(cursor: &mut Cursor<'_>) -> Option<i32> {
    let mut c = *cursor;
    if c.byte(b'Z').is_some() || c.text(b" UTC").is_some() {
        *cursor = c;
        return Some(0);
    }
    // Go's `2026-11-29 13:05:23.123456789 +0000 UTC`.
    let _ = c.byte(b' ');
    let sign = c.byte(b'+').map(|()| 1).or_else(|| c.byte(b'-').map(|()| -1))?;
    let hours = c.two()?;
    c.byte(b':');
    let minutes = c.two()?;
    let _ = c.text(b" UTC");
    *cursor = c;
    Some(sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60))
}

/// ` CET`.
pub(super) fn zone_name(cursor: &mut Cursor<'_>) {
    let mut c = *cursor;
    if c.byte(b' ').is_some() && c.word().is_some_and(is_zone_name) {
        *cursor = c;
    }
}

fn is_zone_name(word: &[u8]) -> bool {
    (2..=5).contains(&word.len()) && word.iter().all(u8::is_ascii_uppercase)
}

fn year(c: &mut Cursor<'_>) -> Option<i16> {
    let year = c.number(4)?;
    i16::try_from(year).ok().filter(|year| (1970..=9999).contains(year))
}

/// `13:05:23.123456`: second of the day, microsecond.
pub(super) fn time_of_day(c: &mut Cursor<'_>) -> Option<(u32, u32)> {
    let (hour, _, minute) = (c.two()?, c.byte(b':')?, c.two()?);
    c.byte(b':')?;
    let second = c.two()?;
    // 60 is a leap second.
    let valid = hour < 24 && minute < 60 && second <= 60;
    let of_day = u32::from(hour) * 3600 + u32::from(minute) * 60 + u32::from(second);
    valid.then(|| (of_day, c.micros()))
}

fn month(c: &mut Cursor<'_>) -> Option<u8> {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let found = MONTHS.iter().position(|name| c.text(name).is_some())?;
    u8::try_from(found + 1).ok()
}

/// `Sun`.
pub(super) fn weekday(c: &mut Cursor<'_>) -> Option<()> {
    const DAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
    DAYS.iter().find_map(|name| c.text(name))
}
