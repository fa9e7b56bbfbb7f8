//! What `--json` shows of records whose stored form is not meant for programs. Events, cases, verdicts and gates are
//! shown as the model has them. docs/cli.md describes all of it; a change of a name or a meaning is a new `v`.
mod action;
mod check;
mod code;
mod decision;
mod gone;
mod held;
mod hold;
mod job;
mod ledger;
pub(crate) mod out;
mod policy;
mod source;
mod task;
mod trail;
mod trouble;

pub(crate) use action::ActionView;
pub(crate) use check::{CheckView, by_reason, current as current_checks};
pub(crate) use code::CodeView;
pub(crate) use decision::DecisionView;
pub(crate) use gone::GoneView;
pub(crate) use held::HeldView;
pub(crate) use hold::HoldView;
pub(crate) use job::JobView;
pub(crate) use ledger::LedgerView;
pub(crate) use out::OutView;
pub(crate) use policy::PolicyView;
pub(crate) use source::{HealthCheckView, SourceView, current as current_sources, is_health_check};
pub(crate) use task::{TaskView, TasksView};
pub(crate) use trail::TrailView;
pub(crate) use trouble::TroubleView;

/// Version of the JSON that every command prints, under the key `v`.
pub(crate) const VERSION: u32 = 1;
