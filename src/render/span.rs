//! Moments and spans of time as people write and read them.
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
    let bad = || format!("\"{text}\" is no moment: use 30s, 15m, 2h, 7d, 4w or 2026-03-01T10:00:00Z");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(bad)?;
    let seconds: i64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return Err(bad()),
    };
    let number: u32 = number.parse().map_err(|_| bad())?;
    Ok(When::Ago(i64::from(number) * seconds * 1_000_000))
}

/// `from` seen from `now`: `5s`, `12m`, `3h`, `9d` ago.
pub(crate) fn ago(now: Stamp, from: Stamp) -> String {
    let secs = now.micros_since(from) / 1_000_000;
    match secs {
        ..0 => "in the future".to_owned(),
        0..=119 => format!("{secs}s ago"),
        120..=7_199 => format!("{}m ago", secs / 60),
        7_200..=172_799 => format!("{}h ago", secs / 3_600),
        _ => format!("{}d ago", secs / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_moments_are_told_apart() {
        assert_eq!(parse_when("2h"), Ok(When::Ago(7_200_000_000)));
        assert!(matches!(parse_when("2026-03-01T10:00:00Z"), Ok(When::At(_))));
        for bad in ["", "h", "-2h", "2y", "2 h", "é", "99999999999d"] {
            assert!(parse_when(bad).is_err(), "{bad:?}");
        }
    }
}
