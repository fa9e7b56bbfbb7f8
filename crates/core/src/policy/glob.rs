//! `*` in a rule: any run of characters.
use serde::{Deserialize, Serialize};

/// A pattern in which `*` stands for any run of characters; everything else is literal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Glob(String);

impl Glob {
    /// From its text.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole of `text` matches. Linear in pattern times text, no recursion.
    pub fn matches(&self, text: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
        let (mut p, mut t) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    retry = Some((p, t));
                    p += 1;
                }
                Some(byte) if *byte == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match retry {
                    Some((star, from)) => {
                        retry = Some((star, from + 1));
                        p = star + 1;
                        t = from + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|byte| *byte == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_is_any_run() {
        for (pattern, text, expect) in [
            ("xid.*", "xid.79", true),
            ("xid.79", "xid.7", false),
            ("*", "", true),
            ("gpu:*:61:*", "gpu:0000:61:00.0", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b", "a*", false),
            ("", "x", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(text), expect, "{pattern} {text}");
        }
    }
}
