//! The metrics file: figures in Prometheus' text format, for the textfile collector of `node_exporter`.
//!
//! The format is "Text-based format" of Prometheus' documentation (exposition formats, version 0.0.4): a `HELP` and a `TYPE` line
//! before the samples of a name, every name once, label values with backslash, quote and line feed escaped.
mod write;

use std::fmt::Write as _;

pub use write::{WriteError, write};

/// Most samples of one name. What is beyond would make the server's memory the node's business; it is counted instead.
const MAX_SAMPLES: usize = 512;

/// Longest label value, characters: a code, a stream, a reason's beginning.
const MAX_LABEL: usize = 200;

/// The text, as it grows.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    left_out: u64,
}

impl Exposition {
    /// A gauge with its samples: labels and value. No sample, no lines: a name without one tells nothing.
    pub fn gauge<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        samples: impl IntoIterator<Item = ([String; N], f64)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name} {}\n# TYPE {name} gauge", escaped(help, false));
        for (told, (values, value)) in samples.enumerate() {
            if told >= MAX_SAMPLES {
                self.left_out = self.left_out.saturating_add(1);
                continue;
            }
            self.text.push_str(name);
            for (position, (label, value)) in labels.iter().zip(&values).enumerate() {
                let open = if position == 0 { '{' } else { ',' };
                let _ = write!(self.text, "{open}{label}=\"{}\"", escaped(value, true));
            }
            let close = if N == 0 { "" } else { "}" };
            let _ = writeln!(self.text, "{close} {}", Number(value));
        }
    }

    /// A gauge of one sample without labels.
    pub fn value(&mut self, name: &str, help: &str, value: f64) {
        self.gauge(name, help, [], [([], value)]);
    }

    /// How many samples were left out for their number.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A value as the format wants it: Rust's own words for what is no number differ.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            value if value.is_nan() => f.write_str("NaN"),
            value if value.is_infinite() => f.write_str(if value > 0.0 { "+Inf" } else { "-Inf" }),
            value => write!(f, "{value}"),
        }
    }
}

/// Help text, or a label's value, which stands in quotes: a stranger's words must not end the line or the label.
fn escaped(text: &str, in_quotes: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars().take(MAX_LABEL) {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '"' if in_quotes => escaped.push_str("\\\""),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
