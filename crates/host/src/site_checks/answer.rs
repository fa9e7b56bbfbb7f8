//! What a site's check says. Three forms are taken:
//!
//! - exit status 0, 1, 2, 3 and a line of text, as Nagios plugins have it; what follows a `|` is performance data;
//! - a JSON object with `status` (`ok`, `warning`, `critical`, `unknown`) and, as far as wanted, `message`, `code` and
//!   `resource` (`gpu:0000:61:00.0`, `nic:mlx5_0`, `fs:/scratch`);
//! - the verdict of NVIDIA Health Validation: a JSON object with `overall_severity`.
//!
//! JSON goes before the exit status: Health Validation's 1 means critical or unknown, which Nagios would call a warning.
use serde::Deserialize;
use triage_core::ExitStatus;
use triage_core::facts::site::SiteStatus;

use crate::runner::Finished;

/// Longest text kept, characters.
const MAX_TEXT: usize = 300;

/// Longest resource name kept, bytes.
const MAX_RESOURCE: usize = 128;

/// Components of a verdict that are named.
const MAX_NAMED: usize = 4;

#[derive(Deserialize)]
struct Json {
    status: Option<String>,
    message: Option<String>,
    code: Option<String>,
    resource: Option<String>,
    overall_severity: Option<String>,
    #[serde(default)]
    affected_components: Vec<Component>,
}

/// A category of a verdict with something amiss. Every part may be missing: later versions may say it otherwise.
#[derive(Deserialize)]
struct Component {
    #[serde(default)]
    category: String,
    #[serde(default)]
    check_ids: Vec<String>,
    #[serde(default)]
    entities: Vec<String>,
}

/// Status, words, resource.
pub(super) fn read(finished: &Finished) -> (SiteStatus, String, Option<String>) {
    let text = String::from_utf8_lossy(&finished.stdout);
    if text.trim_start().starts_with('{')
        && let Ok(json) = serde_json::from_str::<Json>(text.trim())
        && let Some(said) = of_json(json)
    {
        return said;
    }
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let words = clean(line.split('|').next().unwrap_or_default());
    match finished.status {
        ExitStatus::Exit(0) => (SiteStatus::Ok, words, None),
        ExitStatus::Exit(1) => (SiteStatus::Warning, words, None),
        ExitStatus::Exit(2) => (SiteStatus::Critical, words, None),
        other => {
            let complaint = String::from_utf8_lossy(&finished.stderr);
            let words =
                if words.is_empty() { clean(complaint.lines().next().unwrap_or_default()) } else { words };
            (SiteStatus::Unknown, format!("{other}: {words}").trim_end_matches(": ").to_owned(), None)
        }
    }
}

fn of_json(json: Json) -> Option<(SiteStatus, String, Option<String>)> {
    if let Some(severity) = &json.overall_severity {
        return Some((severity_of(severity), verdict(severity, &json.affected_components), None));
    }
    let status = json.status?.to_ascii_lowercase().parse().unwrap_or(SiteStatus::Unknown);
    let message = clean(json.message.as_deref().unwrap_or_default());
    let text = match json.code.as_deref().map(clean).filter(|code| !code.is_empty()) {
        Some(code) => format!("{code}: {message}").trim_end_matches(": ").to_owned(),
        None => message,
    };
    let resource =
        json.resource.map(|name| clean(&name)).filter(|name| !name.is_empty() && name.len() <= MAX_RESOURCE);
    Some((status, text, resource))
}

/// `INFO` says that something is worth knowing and the node may stay.
fn severity_of(severity: &str) -> SiteStatus {
    match severity.to_ascii_uppercase().as_str() {
        "PASS" | "INFO" => SiteStatus::Ok,
        "WARNING" => SiteStatus::Warning,
        "CRITICAL" => SiteStatus::Critical,
        _ => SiteStatus::Unknown,
    }
}

fn verdict(severity: &str, components: &[Component]) -> String {
    let named = components.iter().take(MAX_NAMED).map(|c| {
        let what = if c.check_ids.is_empty() { c.category.clone() } else { c.check_ids.join(", ") };
        if c.entities.is_empty() { what } else { format!("{what} ({})", c.entities.join(", ")) }
    });
    let named: Vec<String> = named.collect();
    clean(format!("{severity} {}", named.join("; ")).trim())
}

/// One line, fit to be shown.
fn clean(text: &str) -> String {
    let line: String = text.trim().chars().take(MAX_TEXT).collect();
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
