//! How far a long scan has come, for a person at a terminal.
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(500);

/// Told on standard error, at most twice a second, and only to a terminal.
pub(super) struct Progress<'a> {
    name: &'a str,
    bytes: u64,
    told: Option<Instant>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        let shown = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        Self { name, bytes: 0, told: shown.then(Instant::now) }
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.told.is_some_and(|told| told.elapsed() >= EVERY) {
            self.told = Some(Instant::now());
            let _ = write!(
                std::io::stderr(),
                "\r{}: {} MB",
                crate::render::escape(self.name),
                self.bytes / 1_000_000
            );
        }
    }

    pub(super) fn done(&self) {
        if self.told.is_some() && self.bytes > 0 {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}
