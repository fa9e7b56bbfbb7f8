//! What a list is narrowed to, and how that is said in SQL.
use rusqlite::types::Value;
use triage_core::{CaseId, CauseClass, NodeName, RunId, Stamp};

use crate::batch::Level;

/// What a list is narrowed to. The default leaves everything in. A list ignores the fields its records do not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// At or after this moment: an event's own time, a case's last evidence, a span's end, else when it was written.
    pub since: Option<Stamp>,
    /// Before this moment: a case's or span's beginning counts here.
    pub until: Option<Stamp>,
    /// This node.
    pub node: Option<NodeName>,
    /// Runs of this job, and what happened on the node while they were there.
    pub job: Option<JobFilter>,
    /// This run and no other of the same job.
    pub run: Option<RunId>,
    /// What belongs to this case: its evidence, the decisions about it, the actions for it, the verdicts that name it.
    pub case: Option<CaseId>,
    /// This code, or all codes of a family: `xid` is `xid.79` and every other `xid.`.
    pub code: Option<String>,
    /// This kind of cause.
    pub class: Option<CauseClass>,
    /// Cases that stand, runs on the node, intents that wait.
    pub open_only: bool,
    /// Only (`true`) or no (`false`) drills and tests.
    pub synthetic: Option<bool>,
    /// Audit rows at least this loud.
    pub level: Option<Level>,
    /// The newest so many; they still come oldest first.
    pub limit: Option<u32>,
}

/// A job as a person names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobFilter {
    /// A job, an array (all its tasks) or a het job (all its components).
    pub job: u32,
    /// One task of the array.
    pub task: Option<u32>,
}

impl JobFilter {
    /// Reads `4711` and `4700_3`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match text.split_once('_') {
            Some((job, task)) => Some(Self { job: digits(job)?, task: Some(digits(task)?) }),
            None => Some(Self { job: digits(text)?, task: None }),
        }
    }
}

/// Conditions joined by AND, with their parameters in order.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    sql: Vec<String>,
    pub(super) params: Vec<Value>,
}

impl Conditions {
    /// Adds a condition with one `?` for each parameter.
    pub(super) fn add(&mut self, sql: impl Into<String>, params: impl IntoIterator<Item = Value>) {
        self.sql.push(sql.into());
        self.params.extend(params);
    }

    /// Times between `since` and `until`: `last` is the column of the end, `first` of the beginning.
    pub(super) fn time(&mut self, filter: &Filter, first: &str, last: &str) {
        if let Some(since) = filter.since {
            self.add(format!("{last} >= ?"), [int(since.micros())]);
        }
        if let Some(until) = filter.until {
            self.add(format!("{first} < ?"), [int(until.micros())]);
        }
    }

    pub(super) fn synthetic(&mut self, filter: &Filter, column: &str) {
        if let Some(synthetic) = filter.synthetic {
            self.add(format!("{column} = ?"), [int(i64::from(synthetic))]);
        }
    }

    pub(super) fn code(&mut self, filter: &Filter, column: &str) {
        if let Some(code) = &filter.code {
            let (sql, params) = of_code(code, column);
            self.add(sql, params);
        }
    }

    pub(super) fn class(&mut self, filter: &Filter, column: &str) {
        if let Some(class) = filter.class {
            self.add(format!("{column} = ?"), [word(class.word())]);
        }
    }

    /// `template` with `{runs}` in it, which stands for the runs meant by `job` or `run`.
    pub(super) fn runs(&mut self, filter: &Filter, template: &str) {
        for (condition, params) in runs(filter) {
            let runs = format!("SELECT r.id FROM runs r WHERE {condition}");
            let times = template.matches("{runs}").count();
            let params = std::iter::repeat_n(params, times).flatten();
            self.add(template.replace("{runs}", &runs), params);
        }
    }

    /// ` WHERE ...`, or nothing.
    pub(super) fn sql(&self) -> String {
        if self.sql.is_empty() { String::new() } else { format!(" WHERE ({})", self.sql.join(") AND (")) }
    }
}

/// The cases a code or class filter means, for records that have none of their own.
pub(super) fn cases_of(filter: &Filter) -> Option<(String, Vec<Value>)> {
    let mut conditions = Conditions::default();
    conditions.code(filter, "code");
    conditions.class(filter, "class");
    (!conditions.params.is_empty())
        .then(|| (format!("SELECT id FROM cases{}", conditions.sql()), conditions.params))
}

fn of_code(code: &str, column: &str) -> (String, [Value; 2]) {
    let family = format!("{}.", code.trim_end_matches(['*', '.']));
    let length = family.chars().count();
    (format!("{column} = ? OR substr({column}, 1, {length}) = ?"), [word(code), word(&family)])
}

fn runs(filter: &Filter) -> Vec<(&'static str, Vec<Value>)> {
    let number = |n: u32| int(i64::from(n));
    let mut all = Vec::new();
    match filter.job {
        Some(JobFilter { job, task: Some(task) }) => {
            all.push(("r.array_job = ? AND r.array_task = ?", vec![number(job), number(task)]));
        }
        Some(JobFilter { job, task: None }) => {
            all.push(("r.job = ? OR r.array_job = ? OR r.het = ?", vec![number(job); 3]));
        }
        None => {}
    }
    if let Some(run) = &filter.run {
        all.push((
            "r.job = ? AND r.start = ? AND r.restart = ? AND r.cluster = ?",
            vec![number(run.job), int(run.start.micros()), number(run.restart), word(&run.cluster)],
        ));
    }
    all
}

pub(super) const fn int(value: i64) -> Value {
    Value::Integer(value)
}

pub(super) fn word(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_named_by_its_id_or_as_array_task() {
        assert_eq!(JobFilter::parse("4711"), Some(JobFilter { job: 4711, task: None }));
        assert_eq!(JobFilter::parse("4700_3"), Some(JobFilter { job: 4700, task: Some(3) }));
        for bad in ["", "_", "1_", "_1", "+1", "-1", "1_2_3", "0x1", "4294967296", "1 ", "1.batch"] {
            assert_eq!(JobFilter::parse(bad), None, "{bad:?}");
        }
    }
}
