//! The clock: one of the three seams for tests. Nothing else of the suite asks the system what time it is.
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use triage_core::Stamp;

/// What time it is, and waiting.
pub trait Clock {
    /// The wall clock (`CLOCK_REALTIME`), UTC.
    fn now(&self) -> Stamp;

    /// Time since the kernel started, without time asleep (`CLOCK_MONOTONIC`). Never goes back; for deadlines, and
    /// near to the clock of kernel log records.
    fn monotonic(&self) -> Duration;

    /// Waits.
    fn sleep(&self, time: Duration);
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Stamp {
        let micros = micros(ClockId::CLOCK_REALTIME);
        Stamp::from_micros(micros)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(u64::try_from(micros(ClockId::CLOCK_MONOTONIC)).unwrap_or(0))
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Both clocks exist on every Linux, so the call cannot fail; were it to, the epoch is as wrong as anything.
fn micros(clock: ClockId) -> i64 {
    let Ok(time) = clock_gettime(clock) else { return 0 };
    time.tv_sec().saturating_mul(1_000_000).saturating_add(time.tv_nsec() / 1000)
}

/// A moment after which a program does not go on waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    /// Reading of [`Clock::monotonic`].
    at: Duration,
}

impl Deadline {
    /// `after` from now.
    pub fn after(clock: &dyn Clock, after: Duration) -> Self {
        Self { at: clock.monotonic().saturating_add(after) }
    }

    /// What is left; zero once it has passed.
    pub fn left(self, clock: &dyn Clock) -> Duration {
        self.at.saturating_sub(clock.monotonic())
    }

    /// Whether it has passed.
    pub fn has_passed(self, clock: &dyn Clock) -> bool {
        self.left(clock).is_zero()
    }

    /// The earlier one of this and `after` from now.
    #[must_use]
    pub fn sooner(self, clock: &dyn Clock, after: Duration) -> Self {
        self.min(Self::after(clock, after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::FakeClock;

    #[test]
    fn a_deadline_is_met_by_sleeping_and_never_negative() {
        let clock = FakeClock::at(Stamp::from_secs(1_000));
        let deadline = Deadline::after(&clock, Duration::from_secs(2));
        clock.sleep(Duration::from_secs(1));
        assert_eq!(deadline.left(&clock), Duration::from_secs(1));
        clock.sleep(Duration::from_secs(5));
        assert!(deadline.has_passed(&clock));
        assert_eq!(deadline.left(&clock), Duration::ZERO);
        assert_eq!(clock.now(), Stamp::from_secs(1_006));
    }

    #[test]
    fn a_wall_clock_that_jumps_moves_no_deadline() {
        let clock = FakeClock::at(Stamp::from_secs(1_000));
        let deadline = Deadline::after(&clock, Duration::from_secs(2));
        clock.set_wall(Stamp::from_secs(9_999_999));
        assert!(!deadline.has_passed(&clock));
    }
}
