//! What can be read and makes no sense: figures that can never be reached are errors; names nobody has, and words that
//! mean nothing, are warnings, since another version may know them.
use triage_core::checks::{self, CheckSetting, Expect};
use triage_core::facts::driver::MODULES;
use triage_core::policy::Hosts;
use triage_core::serd::RULES;
use triage_toml::nearest;

use super::Config;

/// The way to a key, and what is to be said of it.
type Told = (Vec<String>, String);

fn way<const N: usize>(parts: [&str; N]) -> Vec<String> {
    parts.map(str::to_owned).to_vec()
}

/// The first figure that is none.
pub(super) fn fault(config: &Config) -> Option<Told> {
    // A threshold that is no number would be neither reached nor missed.
    let is_none = |value: f64| !value.is_finite() || value < 0.0;
    let checks = config.checks.0.iter().find(|(_, setting)| setting.threshold.is_some_and(is_none));
    let of_check = |name: &str| {
        let what = format!("the threshold of {name} is no figure: write a number, 0 or more");
        (way(["checks", name, "threshold"]), what)
    };
    checks.map(|(name, _)| of_check(name)).or_else(|| {
        let (name, key, fault) = config.rates.fault()?;
        Some((way(["rates", name, key]), fault))
    })
}

/// Names in `[checks]` and `[rates]` that nobody has, with the section and what was probably meant. A site's own check is
/// named after its file, which may come and go.
pub(super) fn names(config: &Config) -> Vec<(&'static str, &str, Option<&'static str>)> {
    let is_check = |name: &&str| checks::find(name).is_none() && !name.starts_with(checks::SITE_CODE);
    let unknown = config.checks.0.keys().map(String::as_str).filter(is_check);
    let meant = |name: &str| nearest(name, checks::ALL.iter().map(|check| check.name));
    let mut found: Vec<_> = unknown.map(|name| ("checks", name, meant(name))).collect();
    let meant = |name: &str| nearest(name, RULES.iter().map(|rule| rule.name));
    found.extend(config.rates.unknown().map(|name| ("rates", name, meant(name))));
    found
}

/// Values that surely mean something else.
pub(super) fn values(config: &Config) -> Vec<Told> {
    let mut told = Vec::new();
    for (name, setting) in &config.checks.0 {
        told.extend(of_check(name, setting).map(|(key, what)| (way(["checks", name, key]), what)));
    }
    of_expect(&way(["expect"]), &config.expect, &mut told);
    for (list, part) in &config.expect.on {
        let here = way(["expect", "on", list]);
        if let Err(error) = Hosts::parse(list) {
            told.push((here.clone(), format!("{error}; it names no node")));
        }
        of_expect(&here, part, &mut told);
    }
    let textfile = config.metrics.textfile.as_ref();
    if textfile.is_some_and(|path| path.extension().is_none_or(|end| end != "prom")) {
        let what = "node_exporter reads only files whose name ends in .prom: give it that ending";
        told.push((way(["metrics", "textfile"]), what.to_owned()));
    }
    told
}

fn of_check(name: &str, setting: &CheckSetting) -> Option<(&'static str, String)> {
    if setting.at.as_ref().is_some_and(Vec::is_empty) {
        return Some(("where", "it runs nowhere: name a place, or write enabled = false".to_owned()));
    }
    let (value, check) = (setting.threshold?, checks::find(name)?);
    let what = match check.threshold.map(|threshold| threshold.unit) {
        None => "this check has no threshold: remove it".to_owned(),
        // What a disk has used of its life is told beyond 100.
        Some(unit) if unit.starts_with('%') && !unit.contains("life") && value > 100.0 => {
            format!("{value} is never reached: the unit is {unit}")
        }
        Some(_) => return None,
    };
    Some(("threshold", what))
}

fn of_expect(here: &[String], expect: &Expect, told: &mut Vec<Told>) {
    let below = |key: &str, index: usize| {
        let item = [key.to_owned(), index.to_string()];
        here.iter().cloned().chain(item).collect::<Vec<_>>()
    };
    for (index, name) in expect.modules.iter().enumerate() {
        if !MODULES.contains(&name.as_str()) {
            let what = format!("module {name} is not looked for: use one of {}", MODULES.join(", "));
            told.push((below("modules", index), what));
        }
    }
    for (index, nic) in expect.nics.iter().enumerate() {
        if nic.state.as_deref().is_some_and(|state| !matches!(state, "up" | "down")) {
            let mut key = below("nics", index);
            key.push("state".to_owned());
            told.push((key, "no state of a link: write \"up\" or \"down\"; it is taken as up".to_owned()));
        }
    }
}
