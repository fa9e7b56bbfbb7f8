//! What a site's check says. Three forms are taken:
//!
//! - exit status 0, 1, 2, 3 and a line of text, as Nagios plugins have it; what follows a `|` is performance data;
//! - a JSON object with `status` (`ok`, `warning`, `critical`, `unknown`) and, as far as wanted, `message`, `code` and
//!   `resource` (`gpu:0000:61:00.0`, `nic:mlx5_0`, `fs:/scratch`);
//! - the verdict of NVIDIA Health Validation: a JSON object with `overall_severity`.
//!
//! JSON goes before the exit status: Health Validation's 1 means critical or unknown, which Nagios would call a warning.
use serde::Deserialize;
use serde_json::Value;
use triage_core::ExitStatus;
use triage_core::facts::site::SiteStatus;

use crate::runner::Finished;

/// Longest text kept, characters.
const MAX_TEXT: usize = 300;

/// Longest resource name kept, bytes.
const MAX_RESOURCE: usize = 128;

/// Components of a verdict that are named.
const MAX_NAMED: usize = 4;

/// What is written otherwise than expected costs the words, never the verdict: an object that says `CRITICAL` is not
/// judged by its exit status because a list in it has another shape.
#[derive(Deserialize)]
struct Json {
    status: Option<Value>,
    message: Option<Value>,
    code: Option<Value>,
    resource: Option<Value>,
    overall_severity: Option<Value>,
    affected_components: Option<Value>,
}

/// A category of a verdict with something amiss. Every part may be missing: later versions may say it otherwise.
#[derive(Default, Deserialize)]
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
    let is_json = text.trim_start().starts_with('{');
    let json = if is_json { Some(triage_core::json::from_text::<Json>(text.trim())) } else { None };
    let said = match json {
        Some(Ok(json)) => of_json(json),
        // Half an answer: what it was about to say may be the opposite of what its exit status says of itself.
        Some(Err(error)) if finished.status == ExitStatus::Exit(0) => {
            return (
                SiteStatus::Unknown,
                format!("its JSON cannot be read: {}", clean(&error.to_string())),
                None,
            );
        }
        _ => None,
    };
    if let Some((status, words, resource)) = said {
        // One that crashed did not look at everything, whatever it said before.
        let crashed = matches!(finished.status, ExitStatus::Signal(_)) && status == SiteStatus::Ok;
        return match crashed {
            true => (SiteStatus::Unknown, format!("{}: {words}", finished.status), None),
            false => (status, words, resource),
        };
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
    if let Some(severity) = json.overall_severity.map(words) {
        let components = json.affected_components.map(components).unwrap_or_default();
        return Some((severity_of(&severity), verdict(&severity, &components), None));
    }
    let status = words(json.status?).to_ascii_lowercase().parse().unwrap_or(SiteStatus::Unknown);
    let said = |part: Option<Value>| clean(&part.map(words).unwrap_or_default());
    let (message, code, resource) = (said(json.message), said(json.code), said(json.resource));
    let text = if code.is_empty() {
        message
    } else {
        format!("{code}: {message}").trim_end_matches(": ").to_owned()
    };
    Some((status, text, Some(resource).filter(|name| !name.is_empty() && name.len() <= MAX_RESOURCE)))
}

fn words(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn components(value: Value) -> Vec<Component> {
    let Value::Array(all) = value else { return Vec::new() };
    let component = |value: Value| match value {
        Value::String(category) => Some(Component { category, ..Component::default() }),
        other => triage_core::json::from_value(other).ok(),
    };
    all.into_iter().filter_map(component).collect()
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
