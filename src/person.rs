//! Who sits at the keyboard, as far as the system knows it.
use nix::unistd::{Uid, User, getuid};
use triage_ledger::TrailFacts;

/// What `/proc/self/loginuid` holds where nobody logged in: a daemon, a container without an audit session.
const NOBODY_LOGGED_IN: u32 = u32::MAX;

/// Longest name taken from the environment, characters.
const LONGEST: usize = 64;

/// Who sits at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    /// For people: `ada as root`.
    pub(crate) name: String,
    /// For the trail.
    pub(crate) facts: TrailFacts,
}

impl Person {
    /// From the process: the uid it runs as, the uid that logged in, and the hint that sudo leaves behind.
    pub(crate) fn here() -> Self {
        let login = std::fs::read_to_string("/proc/self/loginuid").ok();
        let sudo = std::env::var("SUDO_USER").ok();
        Self::of(getuid().as_raw(), login.as_deref(), sudo.as_deref(), name_of)
    }

    /// The login uid is the kernel's word: it is set once at login, and neither su nor sudo changes it. `SUDO_USER` is
    /// an environment variable that anybody can set: it is written down as what it says, and names nobody.
    fn of(uid: u32, login: Option<&str>, sudo: Option<&str>, name_of: impl Fn(u32) -> String) -> Self {
        let login = login.and_then(|text| text.trim().parse().ok()).filter(|uid| *uid != NOBODY_LOGGED_IN);
        let sudo = sudo.filter(|name| is_plain(name)).map(str::to_owned);
        let acting = name_of(uid);
        let name = match login {
            Some(login) if login != uid => format!("{} as {acting}", name_of(login)),
            Some(_) => acting,
            None => sudo.as_ref().map_or(acting.clone(), |sudo| format!("{acting} (SUDO_USER says {sudo})")),
        };
        let facts = TrailFacts { uid: Some(uid), login_uid: login, sudo_user: sudo, ..TrailFacts::default() };
        Self { name, facts }
    }
}

fn name_of(uid: u32) -> String {
    let name = User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name);
    name.filter(|name| is_plain(name)).unwrap_or_else(|| format!("uid {uid}"))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= LONGEST && !name.chars().any(crate::render::is_unsafe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(uid: u32) -> String {
        match uid {
            0 => "root".to_owned(),
            1000 => "ada".to_owned(),
            other => format!("uid {other}"),
        }
    }

    #[test]
    fn who_logged_in_is_named_before_whom_the_process_runs_as() {
        let name = |uid, login, sudo| Person::of(uid, login, sudo, named).name;
        assert_eq!(name(0, Some("1000\n"), None), "ada as root");
        assert_eq!(name(0, Some("1000"), Some("mallory")), "ada as root", "the environment names nobody");
        assert_eq!(name(1000, Some("1000"), None), "ada");
        assert_eq!(name(0, Some("4294967295"), Some("ada")), "root (SUDO_USER says ada)");
        assert_eq!(name(7, None, None), "uid 7");
    }

    #[test]
    fn a_hint_that_could_pose_as_something_else_is_left_out() {
        for hint in ["", "a\nb", "\u{1b}[2J", &"x".repeat(65), "a\u{202e}b"] {
            let person = Person::of(0, None, Some(hint), named);
            assert_eq!((person.name.as_str(), person.facts.sudo_user), ("root", None), "{hint:?}");
        }
    }
}
