//! What to write instead: the word that was probably meant, and what words of other programs are called here.

/// Words that others use, and what they are called here.
const ELSEWHERE: [(&str, &str); 1] =
    [("reboot", "use \"reboot_when_idle\", or \"drain\" and [repair] reboot = \"act\" for what follows")];

/// What to do about an unknown key or word, from the parser's message: it quotes the word met first and those it knows
/// after that, each between backticks.
pub(crate) fn hint(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let met = quoted.next()?;
    if let Some((_, remedy)) = ELSEWHERE.iter().find(|(word, _)| *word == met) {
        return Some((*remedy).to_owned());
    }
    let nearest = quoted.map(|known| (distance(met, known), known)).min()?;
    // Two slips in a word of eight letters; a word further away is another word.
    (nearest.0 <= 1 + met.chars().count() / 6).then(|| format!("did you mean \"{}\"?", nearest.1))
}

/// Letters to add, drop, change, or swap with their neighbour, to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().take(64).collect(), to.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let change = row[j] + usize::from(a != b);
            let mut best = change.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && from[i - 1] == *b && to[j - 1] == *a {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(usize::MAX)
}

/// The line on which the `nth` table with this head begins, from 1.
pub(crate) fn line_of(text: &str, head: &str, nth: usize) -> Option<usize> {
    let is_head = |line: &str| line.split('#').next().unwrap_or_default().replace(' ', "").trim() == head;
    text.lines().enumerate().filter(|(_, line)| is_head(line)).nth(nth).map(|(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slip_of_the_finger_is_answered_with_the_word_that_was_meant() {
        let message =
            |word: &str| format!("unknown field `{word}`, expected one of `confidence`, `code`, `class`");
        assert_eq!(hint(&message("cofidence")).as_deref(), Some("did you mean \"confidence\"?"));
        assert_eq!(hint(&message("calss")).as_deref(), Some("did you mean \"class\"?"));
        assert_eq!(hint(&message("weather")), None);
        assert_eq!(hint("nothing quoted"), None);
        assert!(hint("unknown variant `reboot`, expected `none`").unwrap().contains("reboot_when_idle"));
    }

    #[test]
    fn a_rule_is_found_by_its_number() {
        let text = "version = 1\n[[rule]]\nname = \"a\"\n\n[[ rule ]] # second\n";
        assert_eq!((line_of(text, "[[rule]]", 0), line_of(text, "[[rule]]", 1)), (Some(2), Some(5)));
        assert_eq!(line_of(text, "[[rule]]", 2), None);
    }

    proptest! {
        #[test]
        fn any_message_is_answered(message in ".{0,200}") {
            let _ = hint(&message);
        }
    }
}
