//! One clock reading.
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment: microseconds since the Unix epoch, UTC. In JSON it is RFC 3339 with microseconds and `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Stamp(i64);

impl Stamp {
    /// From microseconds since the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// From whole seconds since the Unix epoch; saturates.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// Microseconds since the Unix epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// This moment moved by `micros` (may be negative); saturates.
    #[must_use]
    pub const fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// This moment `micros` earlier (later where it is negative); saturates.
    #[must_use]
    pub const fn minus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_sub(micros))
    }

    /// This moment moved by `secs` seconds (may be negative); saturates.
    #[must_use]
    pub const fn plus_secs(self, secs: i64) -> Self {
        self.plus_micros(secs.saturating_mul(1_000_000))
    }

    /// Microseconds from `earlier` to `self`; negative when `self` is the earlier one.
    pub const fn micros_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(t) => write!(f, "{t:.6}"),
            // Outside years -9999..9999: a corrupt clock is still shown, as the raw number.
            Err(_) => write!(f, "@{}us", self.0),
        }
    }
}

impl FromStr for Stamp {
    type Err = jiff::Error;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        s.parse::<jiff::Timestamp>().map(|t| Self(t.as_microsecond()))
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        if let Some(raw) = text.strip_prefix('@').and_then(|r| r.strip_suffix("us")) {
            return raw.parse().map(Self).map_err(de::Error::custom);
        }
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shows_microseconds_and_zulu() {
        assert_eq!(Stamp::from_micros(1_772_359_205_123_456).to_string(), "2026-03-01T10:00:05.123456Z");
    }

    #[test]
    fn reads_offsets_and_milliseconds() {
        let at: Stamp = "2026-03-01T11:00:05.123+01:00".parse().unwrap();
        assert_eq!(at.micros(), 1_772_359_205_123_000);
    }

    proptest! {
        #[test]
        fn any_stamp_survives_json(micros in any::<i64>()) {
            let at = Stamp::from_micros(micros);
            let back: Stamp = serde_json::from_str(&serde_json::to_string(&at).unwrap()).unwrap();
            prop_assert_eq!(at, back);
        }
    }
}
