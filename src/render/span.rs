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

/// Reads `30s`, `15m`, `2h`, `7d`, `4w` or an RFC 3339 moment.
pub(crate) fn parse_when(text: &str) -> Result<When, String> {
    if let Ok(at) = text.parse::<Stamp>() {
        return Ok(When::At(at));
    }
    let bad = || "no moment: use 30s, 15m, 2h, 7d, 4w or 2026-03-01T10:00:00Z".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(bad)?;
    let seconds: i64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(bad()),
    };
    // `parse` alone would take "+2".
    let number: u32 =
        number.bytes().all(|b| b.is_ascii_digit()).then(|| number.parse().ok()).flatten().ok_or_else(bad)?;
    Ok(When::Ago(i64::from(number) * seconds * 1_000_000))
}

/// Reads a span of time that is not nothing: `30s`, `15m`, `4h`, `7d`; in microseconds.
pub(crate) fn parse_span(text: &str) -> Result<i64, String> {
    match parse_when(text) {
        Ok(When::Ago(micros @ 1..)) => Ok(micros),
        _ => Err("no span of time: use 30m, 4h or 7d".to_owned()),
    }
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
        assert_eq!(parse_when("2h"), Ok(When::Ago(7_200_000_000)));
        assert!(matches!(parse_when("2026-03-01T10:00:00Z"), Ok(When::At(_))));
        for bad in ["", "h", "-2h", "2y", "2 h", "é", "99999999999d", "+2h"] {
            assert!(parse_when(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_span_is_longer_than_nothing_and_no_moment() {
        assert_eq!(parse_span("4h"), Ok(14_400_000_000));
        for bad in ["0h", "", "4", "2026-03-01T10:00:00Z", "-4h"] {
            assert!(parse_span(bad).is_err(), "{bad:?}");
        }
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
