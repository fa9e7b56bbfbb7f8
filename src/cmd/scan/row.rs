//! One recognised line.
use std::io::{self, Write};

use serde::Serialize;
use triage_core::catalog::Origin;
use triage_core::classify::Meaning;
use triage_core::{Advice, CauseClass, Code, Provenance, Resource, Role, Stamp};

use crate::render::{clip, escape};

/// Longest text told, bytes.
const TEXT: usize = 4096;

/// Longest text shown to a person, characters.
const SHOWN: usize = 160;

/// What `--json` prints, one object a line.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    file: &'a str,
    line: u64,
    time: Option<Stamp>,
    code: &'a Code,
    class: CauseClass,
    role: Role,
    provenance: Provenance,
    resource: &'a Resource,
    action: Advice,
    text: String,
}

impl<'a> Row<'a> {
    pub(super) fn new(
        file: &'a str,
        line: u64,
        time: Option<Stamp>,
        origin: Origin,
        meaning: &'a Meaning,
        text: &[u8],
    ) -> Self {
        let text = String::from_utf8_lossy(text.get(..TEXT).unwrap_or(text)).trim_end().to_owned();
        let provenance = if origin == Origin::Job { Provenance::User } else { Provenance::Trusted };
        let Meaning { code, class, role, action, resource, .. } = meaning;
        Self {
            file,
            line,
            time,
            code,
            class: *class,
            role: *role,
            provenance,
            resource,
            action: *action,
            text,
        }
    }

    pub(super) fn write(&self, out: &mut dyn Write, json: bool) -> io::Result<()> {
        if json {
            let mut line = serde_json::to_vec(self)?;
            line.push(b'\n');
            return out.write_all(&line);
        }
        let time = self.time.map(|time| format!("  {time}")).unwrap_or_default();
        let text = clip(&self.text, SHOWN);
        let head = format!("{}:{}{time}  {} on {}", self.file, self.line, self.code, self.resource);
        writeln!(
            out,
            "{}  {} {} -> {}\n    {}",
            escape(&head),
            self.class,
            self.role,
            self.action,
            escape(&text)
        )
    }
}
