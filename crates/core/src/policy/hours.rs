//! Hours and days in a rule. The site's offset from UTC is a number in the policy: what is decided depends on the policy
//! and the moment alone, not on a time zone file that may differ between nodes.
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Stamp;

const DAY_S: i64 = 86_400;

/// Hours of the day, `22-06`: from the first hour up to, not including, the second; may cross midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hours {
    from: u8,
    to: u8,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "they name themselves")]
pub enum Weekday {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// How far the site's clocks are ahead of UTC, `+01:00`. There is no daylight saving in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcOffset {
    minutes: i32,
}

/// A text that is no such thing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no {what}")]
pub struct BadTime {
    text: String,
    what: &'static str,
}

impl Weekday {
    const ALL: [Self; 7] = [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];

    /// Of the moment, on the site's clocks.
    pub fn of(at: Stamp, offset: UtcOffset) -> Self {
        // 1970-01-01 was a Thursday, the fourth from Monday.
        let day = local_s(at, offset).div_euclid(DAY_S).saturating_add(3).rem_euclid(7);
        usize::try_from(day).ok().and_then(|day| Self::ALL.get(day)).copied().unwrap_or(Self::Mon)
    }
}

impl Hours {
    /// Whether the moment is in them, on the site's clocks.
    pub fn has(self, at: Stamp, offset: UtcOffset) -> bool {
        let hour = local_s(at, offset).rem_euclid(DAY_S) / 3_600;
        let (from, to) = (i64::from(self.from), i64::from(self.to));
        if from < to { (from..to).contains(&hour) } else { hour >= from || hour < to }
    }
}

fn local_s(at: Stamp, offset: UtcOffset) -> i64 {
    at.micros().div_euclid(1_000_000).saturating_add(i64::from(offset.minutes) * 60)
}

fn two(text: &str) -> Option<u8> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn bad(text: String, what: &'static str) -> BadTime {
    BadTime { text: text.chars().take(40).collect(), what }
}

impl TryFrom<String> for Hours {
    type Error = BadTime;

    fn try_from(text: String) -> Result<Self, BadTime> {
        let read = || {
            let (from, to) = text.split_once('-')?;
            let (from, to) = (two(from.trim())?, two(to.trim())?);
            (from < 24 && to <= 24 && from != to).then_some(Self { from, to })
        };
        read().ok_or_else(|| bad(text.clone(), "span of hours: write \"22-06\" or \"8-18\""))
    }
}

impl From<Hours> for String {
    fn from(hours: Hours) -> Self {
        format!("{:02}-{:02}", hours.from, hours.to)
    }
}

impl TryFrom<String> for UtcOffset {
    type Error = BadTime;

    fn try_from(text: String) -> Result<Self, BadTime> {
        let read = || {
            let sign = match text.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let (hours, minutes) = text.get(1..)?.split_once(':')?;
            let (hours, minutes) = (i32::from(two(hours)?), i32::from(two(minutes)?));
            (hours <= 14 && minutes < 60).then_some(Self { minutes: sign * (hours * 60 + minutes) })
        };
        read().ok_or_else(|| bad(text.clone(), "offset from UTC: write \"+01:00\" or \"-07:30\""))
    }
}

impl From<UtcOffset> for String {
    fn from(offset: UtcOffset) -> Self {
        offset.to_string()
    }
}

impl fmt::Display for UtcOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.minutes < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", self.minutes.abs() / 60, self.minutes.abs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hours(text: &str) -> Hours {
        Hours::try_from(text.to_owned()).unwrap()
    }

    fn at(text: &str) -> Stamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_night_crosses_midnight() {
        let night = hours("22-06");
        for (time, expect) in
            [("21:59", false), ("22:00", true), ("00:30", true), ("05:59", true), ("06:00", false)]
        {
            assert_eq!(
                night.has(at(&format!("2026-03-01T{time}:00Z")), UtcOffset::default()),
                expect,
                "{time}"
            );
        }
        assert!(hours("8-24").has(at("2026-03-01T23:59:59Z"), UtcOffset::default()));
    }

    #[test]
    fn the_day_is_the_sites_not_greenwichs() {
        let east = UtcOffset::try_from("+09:00".to_owned()).unwrap();
        let late = at("2026-03-01T16:00:00Z");
        assert_eq!(Weekday::of(late, UtcOffset::default()), Weekday::Sun);
        assert_eq!(Weekday::of(late, east), Weekday::Mon);
        assert!(hours("1-2").has(late, east));
        assert_eq!(Weekday::of(at("1970-01-01T00:00:00Z"), UtcOffset::default()), Weekday::Thu);
        assert_eq!(Weekday::of(at("1969-12-31T00:00:00Z"), UtcOffset::default()), Weekday::Wed);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in ["", "8", "8-8", "24-1", "8-25", "a-b", "-1-3", "008-9"] {
            assert!(Hours::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        for bad in ["", "1:00", "+1", "+15:00", "+01:60", "+é:00"] {
            assert!(UtcOffset::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        assert_eq!(UtcOffset::try_from("-07:30".to_owned()).unwrap().to_string(), "-07:30");
    }

    proptest! {
        #[test]
        fn any_moment_has_a_day_and_an_hour(micros in any::<i64>(), text in ".{0,8}") {
            let _ = Weekday::of(Stamp::from_micros(micros), UtcOffset::default());
            if let (Ok(hours), Ok(offset)) = (Hours::try_from(text.clone()), UtcOffset::try_from(text)) {
                let _ = hours.has(Stamp::from_micros(micros), offset);
            }
        }
    }
}
