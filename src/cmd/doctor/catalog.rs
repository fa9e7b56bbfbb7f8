//! The site's catalogue files.
use super::finding::Findings;
use super::parts::Checkup;
use super::paths::{self, Kind};

pub(super) fn check(checkup: &Checkup<'_>, findings: &mut Findings) {
    let folder = &checkup.site.config.paths.catalog;
    let (catalog, error) = checkup.site.catalog();
    if let Some(error) = error {
        let told = format!("{:#}", anyhow::Error::from(error));
        findings
            .fail(told, "until it is mended the shipped catalogue holds, without any of the site's changes");
        return;
    }
    let shipped = triage_catalog::embedded();
    let changed = catalog.parts().site.len();
    let families = catalog.families().len().abs_diff(shipped.families().len());
    findings.ok(match (changed, families) {
        (0, 0) => format!("{} codes as shipped; no changes in {}", catalog.entries().len(), folder.display()),
        _ => format!(
            "{} codes; {} changes {changed} codes and {families} families",
            catalog.entries().len(),
            folder.display()
        ),
    });
    if folder.is_dir() {
        paths::safe(findings, folder, Kind::Folder);
    }
}
