//! What to write instead: the word that was probably meant, and what words of other programs are called here.
use triage_toml::{nearest, remedy};

/// Words that others use, and what they are called here.
const ELSEWHERE: [(&str, &str); 1] =
    [("reboot", "use \"reboot_when_idle\", or \"drain\" and [repair] reboot = \"act\" for what follows")];

/// What to do about a fault, from the parser's message. Of an unknown key or word it quotes the word met first and those
/// it knows after that, each between backticks.
pub(crate) fn hint(key: &str, message: &str) -> Option<String> {
    if !message.starts_with("unknown") {
        return remedy(key, message).map(str::to_owned);
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let met = quoted.next()?;
    if let Some((_, remedy)) = ELSEWHERE.iter().find(|(word, _)| *word == met) {
        return Some((*remedy).to_owned());
    }
    nearest(met, quoted).map(|known| format!("did you mean \"{known}\"?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slip_of_the_finger_is_answered_with_the_word_that_was_meant() {
        let message =
            |word: &str| format!("unknown field `{word}`, expected one of `confidence`, `code`, `class`");
        assert_eq!(hint("", &message("cofidence")).as_deref(), Some("did you mean \"confidence\"?"));
        assert_eq!(hint("", &message("calss")).as_deref(), Some("did you mean \"class\"?"));
        assert_eq!(hint("", &message("weather")), None);
        assert_eq!(hint("", "nothing quoted"), None);
        assert!(hint("", "unknown variant `reboot`, expected `none`").unwrap().contains("reboot_when_idle"));
    }

    proptest! {
        #[test]
        fn any_message_is_answered(message in ".{0,200}") {
            let _ = hint("rule.0.job", &message);
        }
    }
}
