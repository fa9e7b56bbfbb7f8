//! Moments and spans of time as people write and read them.
use std::time::Duration;

use triage_core::Stamp;

/// `--since 2h`, `--since 2026-03-01T10:00:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// So many microseconds before now.
    Ago(i64),
    /// This moment.
    At(Stamp),
}

impl When {
    /// The moment, seen from `now`.
    pub(crate) const fn resolve(self, now: Stamp) -> Stamp {
        match self {
            Self::Ago(micros) => now.plus_micros(-micros),
            Self::At(at) => at,
        }
    }
}

/// What a moment may be written as, for help and errors.
pub(crate) const MOMENTS: &str = "2026-03-01, 2026-03-01T10:00 (both UTC) or 2026-03-01T10:00:00+01:00";

/// What a span of time may be written as, for help and errors.
pub(crate) const SPANS: &str = "30s, 15m, 2h, 7d, 4w, 1d12h";

/// Reads one of [`SPANS`], as so long before now, or one of [`MOMENTS`].
pub(crate) fn parse_when(text: &str) -> Result<When, String> {
    if let Some(micros) = span(text) {
        return Ok(When::Ago(micros));
    }
    moment(text).map(When::At).ok_or_else(|| format!("no moment: use {SPANS}, {MOMENTS}"))
}

/// Reads one of [`MOMENTS`].
pub(crate) fn parse_moment(text: &str) -> Result<Stamp, String> {
    moment(text).ok_or_else(|| format!("no moment: use {MOMENTS}"))
}

/// Reads a span of time that is not nothing, one of [`SPANS`]; in microseconds.
pub(crate) fn parse_span(text: &str) -> Result<i64, String> {
    span(text).filter(|micros| *micros > 0).ok_or_else(|| format!("no span of time: use {SPANS}"))
}

/// A date or a time without its zone is UTC, as everything that is printed.
fn moment(text: &str) -> Option<Stamp> {
    let in_utc = || {
        // The library would drop the name of a zone.
        let time = Some(text).filter(|text| !text.contains('['))?.parse().ok()?;
        let at = jiff::tz::TimeZone::UTC.to_timestamp(time).ok()?;
        Some(Stamp::from_micros(at.as_microsecond()))
    };
    text.parse().ok().or_else(in_utc)
}

/// In microseconds. Of all that the library reads only what begins with a digit and holds no space: no sign, no words.
fn span(text: &str) -> Option<i64> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) || text.contains(char::is_whitespace) {
        return None;
    }
    // Months and years have no length of their own, and are refused here.
    let span: jiff::Span = text.parse().ok()?;
    let length = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()?;
    i64::try_from(length.as_micros()).ok().filter(|micros| *micros >= 0)
}

/// `from` seen from `now`: `5s`, `12m`, `3h`, `9d` ago.
pub(crate) fn ago(now: Stamp, from: Stamp) -> String {
    match now.micros_since(from) / 1_000_000 {
        ..0 => "in the future".to_owned(),
        secs => format!("{} ago", coarse(secs)),
    }
}

/// A span in the unit that says it best: `1.234 ms`, `2.5 s`, `3m`, `4h`, `9d`.
pub(crate) fn duration(span: Duration) -> String {
    match i64::try_from(span.as_micros()).unwrap_or(i64::MAX) {
        micros @ ..1_000_000 => {
            format!("{:.1} ms", Duration::from_micros(micros.unsigned_abs()).as_secs_f64() * 1e3)
        }
        ..120_000_000 => format!("{:.1} s", span.as_secs_f64()),
        micros => coarse(micros / 1_000_000),
    }
}

fn coarse(secs: i64) -> String {
    match secs {
        ..=119 => format!("{secs}s"),
        120..=7_199 => format!("{}m", secs / 60),
        7_200..=172_799 => format!("{}h", secs / 3_600),
        _ => format!("{}d", secs / 86_400),
    }
}

/// The moment in UTC, to the second.
pub(crate) fn seconds(at: Stamp) -> String {
    rounded(at, 0)
}

/// The moment in UTC, to the millisecond.
pub(crate) fn millis(at: Stamp) -> String {
    rounded(at, 3)
}

fn rounded(at: Stamp, digits: usize) -> String {
    // A moment outside the calendar is shown as the ledger has it.
    jiff::Timestamp::from_microsecond(at.micros())
        .map_or_else(|_| at.to_string(), |t| format!("{t:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_and_moments_are_told_apart() {
        const HOUR: i64 = 3_600_000_000;
        for (text, hours) in [("2h", 2), ("1d2h", 26), ("4w", 28 * 24), ("90m", 1), ("0s", 0), ("1w1d", 192)]
        {
            let Ok(When::Ago(micros)) = parse_when(text) else { panic!("{text}") };
            assert_eq!(micros / HOUR, hours, "{text}");
        }
        for (text, at) in [
            ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
            ("2026-03-01T10:00:00+01:00", "2026-03-01T09:00:00Z"),
            ("2026-03-01T10:00", "2026-03-01T10:00:00Z"),
            ("2026-03-01 10:00:05", "2026-03-01T10:00:05Z"),
            ("2026-03-01", "2026-03-01T00:00:00Z"),
        ] {
            assert_eq!(parse_when(text), Ok(When::At(at.parse().unwrap())), "{text}");
        }
        let bad = [
            "",
            "h",
            "-2h",
            "2y",
            "2mo",
            "2 h",
            "é",
            "99999999999d",
            "+2h",
            "yesterday",
            "2h ago",
            "2hago",
            "P1D",
            "2",
            "2026-03-01T10:00[Europe/Berlin]",
        ];
        for bad in bad {
            let error = parse_when(bad).unwrap_err();
            assert!(error.contains(SPANS) && error.contains(MOMENTS), "{bad:?}: {error}");
        }
    }

    /// What help and errors tell people to write can be written.
    #[test]
    fn every_form_that_is_offered_is_read() {
        let words = |text: &'static str| {
            text.split([',', ' ']).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        };
        assert!(words(SPANS).count() > 5 && words(MOMENTS).count() == 3);
        for word in words(SPANS) {
            assert!(parse_span(word).is_ok(), "{word}");
        }
        for word in words(MOMENTS) {
            assert!(parse_moment(word).is_ok(), "{word}");
        }
    }

    #[test]
    fn a_span_is_longer_than_nothing_and_no_moment() {
        assert_eq!(parse_span("4h"), Ok(14_400_000_000));
        for bad in ["0h", "", "4", "2026-03-01T10:00:00Z", "2026-03-01", "-4h"] {
            assert!(parse_span(bad).is_err(), "{bad:?}");
        }
        assert!(parse_moment("4h").is_err());
    }

    #[test]
    fn a_moment_is_cut_and_not_rounded_up() {
        let at = Stamp::from_micros(1_772_359_205_999_999);
        assert_eq!(seconds(at), "2026-03-01T10:00:05Z");
        assert_eq!(millis(at), "2026-03-01T10:00:05.999Z");
        assert_eq!(seconds(Stamp::from_micros(i64::MAX)), "@9223372036854775807us");
    }

    #[test]
    fn spans_are_told_in_a_fitting_unit() {
        let told = [0, 1_234, 999_999, 2_500_000, 180_000_000, 90_000_000_000]
            .map(|us| duration(Duration::from_micros(us)));
        assert_eq!(told, ["0.0 ms", "1.2 ms", "1000.0 ms", "2.5 s", "3m", "25h"]);
    }

    proptest! {
        #[test]
        fn any_text_is_answered_and_no_moment_overflows(text in ".{0,24}", now: i64) {
            if let Ok(when) = parse_when(&text) {
                let _ = ago(Stamp::from_micros(now), when.resolve(Stamp::from_micros(now)));
            }
        }

        #[test]
        fn any_moment_is_shown(micros: i64) {
            prop_assert!(!seconds(Stamp::from_micros(micros)).is_empty());
            prop_assert!(!millis(Stamp::from_micros(micros)).is_empty());
        }
    }

    #[test]
    fn a_moment_to_come_is_not_ago() {
        let now = Stamp::from_secs(1_000);
        assert_eq!(ago(now, now.plus_secs(5)), "in the future");
        assert_eq!(ago(now, now.plus_secs(-119)), "119s ago");
        assert_eq!(ago(Stamp::from_micros(i64::MAX), Stamp::from_micros(i64::MIN)), "106751991d ago");
    }
}
