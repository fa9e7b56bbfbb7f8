//! The format of a catalogue file. Shipped and site files are the same; a site's stanza may leave out what it does not
//! change.
use std::collections::BTreeMap;

use serde::Deserialize;
use triage_core::catalog::{Change, Decoder, Origin, Scope};
use triage_core::{Advice, CauseClass, ClearedBy, Confidence, Role};
use triage_toml::Spanned;

/// One file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct File {
    pub(crate) defaults: Defaults,
    pub(crate) code: Vec<Spanned<Code>>,
    pub(crate) family: Vec<Spanned<Family>>,
    pub(crate) nvlink5: Vec<Spanned<Nvlink5>>,
    pub(crate) anchors: Option<Spanned<BTreeMap<Origin, Vec<String>>>>,
}

/// Values for every `[[code]]` of the file that has none of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Defaults {
    pub(crate) source: Option<String>,
}

/// What a code means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Code {
    pub(crate) code: String,
    pub(crate) name: Option<String>,
    pub(crate) fault: Option<String>,
    pub(crate) class: Option<CauseClass>,
    pub(crate) role: Option<Role>,
    pub(crate) scope: Option<Scope>,
    pub(crate) action: Option<Advice>,
    pub(crate) confidence: Option<Confidence>,
    pub(crate) clears: Option<ClearedBy>,
    pub(crate) description: Option<String>,
    pub(crate) response: Option<String>,
    pub(crate) impact: Option<String>,
    pub(crate) remedy: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) when: Option<Vec<When>>,
}

/// A wording that changes the meaning.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct When {
    pub(crate) text: Spanned<String>,
    pub(crate) class: Option<CauseClass>,
    pub(crate) role: Option<Role>,
    pub(crate) action: Option<Advice>,
    pub(crate) confidence: Option<Confidence>,
    pub(crate) clears: Option<ClearedBy>,
    #[serde(default)]
    pub(crate) note: String,
}

impl When {
    pub(crate) const fn change(&self) -> Change {
        Change {
            class: self.class,
            role: self.role,
            action: self.action,
            confidence: self.confidence,
            clears: self.clears,
        }
    }
}

/// How a line is recognised.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    pub(crate) id: String,
    pub(crate) sources: Option<Vec<Origin>>,
    pub(crate) tags: Option<Vec<Spanned<String>>>,
    pub(crate) needs: Option<Vec<String>>,
    pub(crate) pattern: Option<Spanned<String>>,
    pub(crate) code: Option<String>,
    pub(crate) otherwise: Option<String>,
    pub(crate) resource: Option<Vec<String>>,
    pub(crate) decode: Option<Decoder>,
    pub(crate) reason: Option<String>,
    /// `false` takes the family out.
    pub(crate) enabled: Option<bool>,
    pub(crate) when: Option<Vec<When>>,
    #[serde(default)]
    pub(crate) sample: Vec<Spanned<Sample>>,
}

/// A line and what it must mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    pub(crate) line: String,
    pub(crate) code: String,
    pub(crate) resource: Option<String>,
    pub(crate) class: Option<CauseClass>,
    pub(crate) role: Option<Role>,
    pub(crate) action: Option<Advice>,
    #[serde(default)]
    pub(crate) fields: BTreeMap<String, String>,
}

/// One row of the sub-code table of Xid 144 to 150.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "build.rs reads the shipped rows; the loader only refuses a site's")
)]
pub(crate) struct Nvlink5 {
    pub(crate) xid: u32,
    pub(crate) unit: String,
    pub(crate) subcode: u32,
    pub(crate) before_r575: String,
    pub(crate) since_r575: String,
    pub(crate) error_status: u32,
    pub(crate) severity: String,
    pub(crate) class: Option<CauseClass>,
    pub(crate) role: Option<Role>,
    pub(crate) action: Option<Advice>,
    pub(crate) confidence: Option<Confidence>,
    pub(crate) clears: Option<ClearedBy>,
    pub(crate) note: String,
}
