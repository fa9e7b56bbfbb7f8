//! What a check found.
use crate::{CauseClass, Confidence, Resource};

/// One difference from what is expected, on one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub resource: Resource,
    /// What differs, in one message: `/scratch: read-only, expected rw`.
    pub text: String,
    /// How sure. Only `confirmed` makes the shipped policy act.
    pub confidence: Confidence,
    /// The kind of cause, where it is another than the check's.
    pub class: Option<CauseClass>,
}

impl Finding {
    /// The same, of another kind of cause.
    #[must_use]
    pub const fn of_class(mut self, class: CauseClass) -> Self {
        self.class = Some(class);
        self
    }
}

/// All that one check found in one pass.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// What differs; one finding a resource, a second one on the same resource joins the first one's text.
    pub bad: Vec<Finding>,
    /// What could not be looked at: on one resource, or the whole check.
    pub blind: Vec<(Option<Resource>, String)>,
    /// Something worth showing though nothing is wrong.
    pub remark: String,
    /// The figure looked at.
    pub value: Option<String>,
}

impl Findings {
    /// Certain: the facts leave no other reading.
    pub fn certain(&mut self, resource: Resource, text: impl Into<String>) {
        self.add(Finding { resource, text: text.into(), confidence: Confidence::Confirmed, class: None });
    }

    /// Most likely so.
    pub fn likely(&mut self, resource: Resource, text: impl Into<String>) {
        self.add(Finding { resource, text: text.into(), confidence: Confidence::Probable, class: None });
    }

    /// Points that way.
    pub fn suspect(&mut self, resource: Resource, text: impl Into<String>) {
        self.add(Finding { resource, text: text.into(), confidence: Confidence::Suspected, class: None });
    }

    /// Any finding.
    pub fn add(&mut self, finding: Finding) {
        match self.bad.iter_mut().find(|known| known.resource == finding.resource) {
            Some(known) => {
                known.text = format!("{}; {}", known.text, finding.text);
                known.confidence = known.confidence.max(finding.confidence);
            }
            None => self.bad.push(finding),
        }
    }

    /// One resource could not be looked at.
    pub fn blind_on(&mut self, resource: Resource, why: impl Into<String>) {
        self.blind.push((Some(resource), why.into()));
    }

    /// The check could not look.
    pub fn blind(&mut self, why: impl Into<String>) {
        self.blind.push((None, why.into()));
    }

    /// Nothing is wrong, and this is worth showing: also why there was nothing to look at.
    pub fn remark(&mut self, text: impl Into<String>) {
        self.remark = text.into();
    }

    /// The figure looked at, with its unit.
    pub fn value(&mut self, value: impl Into<String>) {
        self.value = Some(value.into());
    }
}
