//! `/proc/<pid>/stat`.

/// The parts of `/proc/<pid>/stat` that identify a process and say whether it still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcStat {
    /// `R` runs, `S` sleeps, `D` sleeps in the kernel and cannot be killed, `Z` has ended and was not waited for.
    pub state: char,
    /// When it started, in clock ticks since boot. With the pid and the boot it names one process for good.
    pub start_ticks: u64,
}

impl ProcStat {
    /// Reads the line. The process's name stands in parentheses and may itself hold spaces and parentheses, so what
    /// follows is found from the last one.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let after_name = line.iter().rposition(|b| *b == b')')? + 1;
        let rest = std::str::from_utf8(line.get(after_name..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        // Field 22 of the line (proc(5)); the state is field 3.
        let start_ticks = fields.nth(18)?.parse().ok()?;
        Some(Self { state, start_ticks })
    }

    /// Whether it has ended and only waits to be waited for.
    pub const fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}
