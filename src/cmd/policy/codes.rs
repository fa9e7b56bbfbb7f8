//! The codes that a rule can name: those of the catalogue, of sweeps over NVML, of our state checks and of a site's own.
use triage_core::arrange::Arrange as _;
use triage_core::catalog::Catalog;
use triage_core::checks::{self, CheckAction, CheckSettings, SITE, SITE_CODE};
use triage_core::{Advice, CauseClass, Confidence, sweep};
use triage_hooks::policy_file::nearest;

/// Codes that only a verdict leads with: what is known of a run's end, of earlier runs, and of parts that are not as they
/// should be.
const OF_VERDICTS: &[&str] = &[
    "history.run",
    "history.same_node",
    "nic.port_state",
    "nvml.fabric_incomplete",
    "nvml.gpu_missing",
    "nvml.throttle",
    "slurm.state",
    "task.exit",
    "unknown",
];

/// What one event of a code is worth.
pub(super) struct Worth {
    pub(super) class: CauseClass,
    pub(super) confidence: Confidence,
    pub(super) advice: Advice,
}

/// What one event of this code is worth, where there is such a code. A check is worth what it is sure of, and asks for what
/// `triage.toml` lets it ask for.
pub(super) fn worth(catalog: &Catalog, settings: &CheckSettings, code: &str) -> Option<Worth> {
    if let Some(entry) = catalog.entry(code) {
        return Some(Worth { class: entry.class, confidence: entry.confidence, advice: entry.action });
    }
    if let Some((_, confidence, advice)) = sweep::codes().find(|(known, ..)| *known == code) {
        return Some(Worth { class: CauseClass::Hardware, confidence, advice });
    }
    if OF_VERDICTS.contains(&code) {
        let (class, confidence) = (CauseClass::Unknown, Confidence::Suspected);
        return Some(Worth { class, confidence, advice: Advice::Watch });
    }
    let name = checks::name_of(code)?;
    let is_site = name.len() > SITE_CODE.len() && name.starts_with(SITE_CODE);
    let check = checks::find(name).or(is_site.then_some(&SITE))?;
    let advice = match settings.named(name, check).action {
        CheckAction::Note => Advice::Watch,
        CheckAction::Refuse | CheckAction::Drain => check.advice,
    };
    Some(Worth { class: check.class, confidence: Confidence::Confirmed, advice })
}

/// Every code with a name of its own. Those of a site's checks are named after files, which differ from node to node.
pub(super) fn all(catalog: &Catalog) -> Vec<String> {
    let entries = catalog.entries().into_iter().map(|entry| entry.code.into_owned());
    let others = sweep::codes().map(|(code, ..)| code).chain(OF_VERDICTS.iter().copied()).map(str::to_owned);
    entries.chain(others).chain(checks::ALL.iter().map(checks::Check::code)).collect()
}

/// What may have been meant by a word that is no code: a number, another spelling, or the name of a fault.
pub(super) fn meant(catalog: &Catalog, word: &str) -> Option<String> {
    let (codes, word) = (all(catalog), word.to_lowercase());
    let is_code = |code: &String| codes.contains(code).then(|| code.clone());
    let xid = is_code(&word).or_else(|| is_code(&format!("xid.{word}")));
    let check = || is_code(&format!("check.{word}"));
    let near = || nearest(&word, codes.iter().map(String::as_str)).map(str::to_owned);
    if let Some(code) = xid.or_else(check) {
        return Some(format!("did you mean {code}?"));
    }
    let of_fault = catalog.entries().into_iter().filter(|entry| entry.fault == word);
    let mut of_fault: Vec<String> = of_fault.map(|entry| entry.code.into_owned()).collect();
    // What most rules are about first, and a few are enough to go on.
    of_fault.arrange_by_key(|code| !code.starts_with("xid."));
    of_fault.truncate(4);
    if of_fault.is_empty() {
        return near().map(|code| format!("did you mean {code}?"));
    }
    Some(format!("that is a fault, and a rule names codes, such as {}", of_fault.join(", ")))
}
