//! What a person tells the suite: `ack`, `acquit`, `hold`, `release`. Each needs a reason, and is a row of the trail.
mod close;
mod hold;

use triage_host::clock::{Clock, SystemClock};
use triage_ledger::{Ledger, Word};

use crate::args::Common;
use crate::exit::{self, CmdResult};
use crate::person::Person;
use crate::render;
use crate::site::Site;

pub(crate) use close::{ack, acquit};
pub(crate) use hold::{hold, release};

/// The program's name on the trail.
const PROGRAM: &str = "slurm-triage";

/// Most characters of a reason. It is shown in tables and goes to syslog.
const LONGEST_REASON: usize = 500;

/// Reads a reason: something that says something, on one line.
pub(crate) fn parse_reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a reason is asked for: say in a few words why".to_owned());
    }
    if text.chars().count() > LONGEST_REASON {
        return Err(format!("the reason has more than {LONGEST_REASON} characters: say it shorter"));
    }
    if text.chars().any(render::is_unsafe) {
        return Err(
            "the reason holds a line feed or another control character: write it on one line".to_owned()
        );
    }
    Ok(text.to_owned())
}

/// The ledger, for writing, and the person.
pub(super) fn begin(common: &Common) -> anyhow::Result<(Site, Ledger, Person)> {
    let site = Site::find(common)?;
    let ledger = site.open_to_write("a person's word goes into the node's ledger")?;
    Ok((site, ledger, Person::here()))
}

/// What the person says, at this very moment: the trail is not written from a moment that somebody made up.
pub(super) fn word<'a>(person: &'a Person, reason: &'a str) -> Word<'a> {
    Word { now: SystemClock.now(), program: PROGRAM, actor: &person.name, reason, person: &person.facts }
}

/// A complaint that is no failure of ours.
pub(super) fn no(status: u8, text: &str) -> CmdResult {
    render::complain(text);
    debug_assert!(status != exit::OK);
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_says_something_on_one_line() {
        assert_eq!(parse_reason("  riser replaced ").as_deref(), Ok("riser replaced"));
        for bad in ["", "  \t ", "a\nb", "\u{1b}[2J", &"x".repeat(501)] {
            assert!(parse_reason(bad).is_err(), "{bad:?}");
        }
    }
}
