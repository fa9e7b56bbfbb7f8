//! Commands that are suggested to a person, fit to be pasted into a shell.
use triage_core::{Case, NodeName, reason};

/// Drains the case's node with the reason that the suite would give.
pub(crate) fn drain(case: &Case) -> String {
    let reason = quotable(&reason::for_case(case));
    format!("scontrol update nodename={} state=drain reason='{reason}'", word(&case.node))
}

/// Lifts the drain of a node, and nothing else.
pub(crate) fn undrain(node: &NodeName) -> String {
    format!("scontrol update nodename={} state=undrain", word(node))
}

/// A node's name that is safe to paste; another one is left to the person.
fn word(node: &NodeName) -> &str {
    if node.is_safe() { node.as_str() } else { "NODE" }
}

/// A reason without what would end a shell's single quotes. Parts of it come from log lines.
fn quotable(text: &str) -> String {
    let safe = |c: &char| c.is_ascii_alphanumeric() || " :._/-[]()".contains(*c);
    text.chars().filter(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_log_line_put_into_a_reason_does_not_leave_its_quotes() {
        assert_eq!(
            quotable("slurm-triage: x'; rm -rf / #`$(id)` [case 1]"),
            "slurm-triage: x rm -rf / (id) [case 1]"
        );
        assert_eq!(word(&NodeName::from("n1; reboot")), "NODE");
    }
}
