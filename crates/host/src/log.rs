//! What the suite says about itself: one line to standard error, which slurmd takes into its own log, and on request
//! to syslog. Nothing is ever written to standard output.
use std::ffi::CString;
use std::io::Write;

use ::log::{Level, LevelFilter, Log, Metadata, Record};

use crate::config;

/// Longest message, bytes. A log line is no place for more.
const MAX: usize = 1024;

/// The target of rows of the ledger's trail. They go to syslog alone, and only where the site asks for them.
const TRAIL: &str = "triage_trail";

/// Longest row of the trail, bytes. It is JSON: what is longer would be cut into something else, and is left out.
const MAX_ROW: usize = 8 * 1024;

struct Backend {
    program: &'static str,
    level: LevelFilter,
    syslog: bool,
    trail: bool,
}

/// Sets the log up. A second call changes nothing.
pub fn init(program: &'static str, settings: &config::Log) {
    let level = LevelFilter::from(settings.level);
    let backend = Box::new(Backend { program, level, syslog: settings.syslog, trail: settings.audit_syslog });
    if ::log::set_boxed_logger(backend).is_ok() {
        ::log::set_max_level(level);
    }
}

impl Log for Backend {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.target() == TRAIL { self.trail } else { metadata.level() <= self.level }
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        if record.target() == TRAIL {
            let row = record.args().to_string();
            if row.len() <= MAX_ROW {
                to_syslog(Level::Info, &format!("slurm-triage-trail: {row}"));
            }
            return;
        }
        let text = line(&record.args().to_string());
        let word = record.level().as_str().to_ascii_lowercase();
        // Whoever reads standard error may be gone; there is nobody left to tell.
        let _ = writeln!(std::io::stderr(), "{}: {word}: {text}", self.program);
        if self.syslog {
            to_syslog(record.level(), &format!("{}: {text}", self.program));
        }
    }

    fn flush(&self) {}
}

/// One line without control characters: parts of it may come from a log a user wrote.
fn line(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(MAX)];
    cut.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn to_syslog(level: Level, text: &str) {
    let priority = match level {
        Level::Error => libc::LOG_ERR,
        Level::Warn => libc::LOG_WARNING,
        Level::Info => libc::LOG_INFO,
        Level::Debug | Level::Trace => libc::LOG_DEBUG,
    };
    let Ok(text) = CString::new(text) else { return };
    // SAFETY: the format takes one string, and one is given.
    unsafe { libc::syslog(libc::LOG_DAEMON | priority, c"%s".as_ptr(), text.as_ptr()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trail_goes_to_syslog_where_it_is_asked_for_and_nowhere_else() {
        let row = Metadata::builder().target(TRAIL).level(Level::Info).build();
        let word = Metadata::builder().target("triage_hooks::pass").level(Level::Info).build();
        for trail in [true, false] {
            // Also where the suite's own messages are only those of failures.
            let backend = Backend { program: "t", level: LevelFilter::Error, syslog: false, trail };
            assert_eq!((backend.enabled(&row), backend.enabled(&word)), (trail, false));
        }
    }

    #[test]
    fn a_message_is_one_line_and_bounded() {
        assert_eq!(line("a\nb\u{1b}[2Jc"), "a b [2Jc");
        assert!(line(&"é".repeat(10_000)).len() <= MAX);
    }
}
