//! RFC 3339 with microseconds and `Z`, without a calendar library: this runs inside slurmstepd.
use std::fmt::Write;

/// Appends the moment. Years beyond four digits come out wider, and a reader refuses them.
pub(crate) fn push_rfc3339(out: &mut String, at_us: i64) {
    let (secs, micros) = (at_us.div_euclid(1_000_000), at_us.rem_euclid(1_000_000));
    let (days, second) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z");
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar. Years are counted from
/// March, so that the leap day is the last of its year, in eras of 400 years.
const fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(at_us: i64) -> String {
        let mut out = String::new();
        push_rfc3339(&mut out, at_us);
        out
    }

    #[test]
    fn known_moments() {
        assert_eq!(text(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(text(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
        assert_eq!(text(-1), "1969-12-31T23:59:59.999999Z");
    }

    proptest! {
        #[test]
        fn a_calendar_library_reads_the_same_moment(at_us in -60_000_000_000_000_000_i64..250_000_000_000_000_000) {
            let read: jiff::Timestamp = text(at_us).parse().unwrap();
            prop_assert_eq!(read.as_microsecond(), at_us);
        }

        #[test]
        fn any_clock_is_written(at_us in any::<i64>()) {
            let _ = text(at_us);
        }
    }
}
