//! The site's own checks: what they answered, judged as our own findings are.
use super::gone::{SWITCHED_OFF, out_of_use};
use super::run::Judged;
use super::{Check, CheckState, CheckWord, Checked, Checking, Findings, Where};
use crate::Resource;
use crate::facts::Area;
use crate::facts::site::{SiteAnswer, SiteFacts, SiteStatus};
use crate::pipeline::Input;

/// What holds for each of them unless the site says otherwise: a note, whatever the answer.
pub const SITE: Check = Check {
    name: "site",
    finds: "what an executable in `checks.d` says: exit status 1 or 2, or the same in JSON",
    reads: &[Area::Site],
    ..Check::HOST
};

/// Judges every answer of this pass.
pub(super) fn run(input: &Input<'_>, checked: &mut Checked) {
    let Some(checking) = &input.checks else { return };
    let Some(site) = checking.facts.site.as_ref().and_then(|sheet| sheet.said.as_ref()) else { return };
    for answer in &site.answers {
        let name = format!("{}{}", super::SITE_CODE, answer.name);
        let setting = checking.settings.named(&name, &SITE);
        if !setting.enabled || !setting.at.contains(&Where::of(input.trigger)) {
            continue;
        }
        let judged = Judged {
            name: &name,
            code: name.clone(),
            check: &SITE,
            setting: &setting,
            cost_us: answer.cost_us,
        };
        let last = checking.last.iter().find(|state| state.name == name);
        checked.take(input, checking, &judged, &findings(answer), last);
    }
    checked.states.extend(gone(checking, site));
}

/// Checks that answered once and are asked no more: their file is not in the folder, or the site switched them off. The
/// folder was read, else there were no answers to look at. What such a check had found it can neither bear out nor take back.
fn gone<'a>(checking: &'a Checking<'a>, site: &'a SiteFacts) -> impl Iterator<Item = CheckState> + 'a {
    let answered = |name: &str| site.answers.iter().any(|answer| answer.name == name);
    checking.last.iter().filter_map(move |last| {
        let file = last.name.strip_prefix(super::SITE_CODE)?;
        if last.state == CheckWord::Disabled || answered(file) {
            return None;
        }
        let why = if checking.settings.named(&last.name, &SITE).enabled {
            "its file is not in checks.d any more, or cannot be executed"
        } else {
            SWITCHED_OFF
        };
        Some(out_of_use(checking, &last.name, why))
    })
}

/// A site that writes a check of its own knows what it means: `critical` is certain, `warning` points somewhere. What
/// could not be asked is no fault.
fn findings(answer: &SiteAnswer) -> Findings {
    let resource = answer.resource.as_deref().map_or(Resource::Host, Resource::from);
    let mut findings = Findings::default();
    let text = if answer.text.is_empty() { answer.status.word().to_owned() } else { answer.text.clone() };
    let text = format!("{}: {text}", answer.name);
    match answer.status {
        SiteStatus::Ok => findings.remark(answer.text.clone()),
        SiteStatus::Warning => findings.suspect(resource, text),
        SiteStatus::Critical => findings.certain(resource, text),
        SiteStatus::Unknown => findings.blind(text),
    }
    findings
}
