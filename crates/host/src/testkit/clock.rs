//! A clock that only moves when told to.
use std::cell::Cell;
use std::time::Duration;

use triage_core::Stamp;

use crate::clock::Clock;

/// A clock that stands still; [`Clock::sleep`] moves it.
#[derive(Debug)]
pub struct FakeClock {
    wall: Cell<Stamp>,
    monotonic: Cell<Duration>,
}

impl FakeClock {
    /// Shows `now`; its machine has been up for one hour.
    pub const fn at(now: Stamp) -> Self {
        Self { wall: Cell::new(now), monotonic: Cell::new(Duration::from_secs(3600)) }
    }

    /// Sets the wall clock alone, as NTP or a person would.
    pub fn set_wall(&self, now: Stamp) {
        self.wall.set(now);
    }

    /// Sets the time since the kernel started.
    pub fn set_monotonic(&self, up: Duration) {
        self.monotonic.set(up);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Stamp {
        self.wall.get()
    }

    fn monotonic(&self) -> Duration {
        self.monotonic.get()
    }

    fn sleep(&self, time: Duration) {
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        self.wall.set(self.wall.get().plus_micros(micros));
        self.monotonic.set(self.monotonic.get().saturating_add(time));
    }
}
