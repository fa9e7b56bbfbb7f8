//! The lists. Each is one statement, read to its end before anything is returned: nobody prints with a transaction
//! open.
use rusqlite::{Connection, Row, params_from_iter};
use triage_core::checks::CheckState;
use triage_core::{Case, Decision, Event, JobSpan, Stamp, TaskEdge, Verdict};

use super::filter::{Conditions, cases_of, int, word};
use super::{AuditRow, Counter, Filter, Sighting, SourceRow};
use crate::batch::{Level, Reading};
use crate::error::Result;
use crate::intents::IntentRow;
use crate::load;
use crate::open::Ledger;
use crate::rows::{
    self, audit, case, check, counter, decision, event, intent, reading, sighting, span, verdict,
};

impl Ledger {
    /// Events, by their own time. For a job: those on its nodes while it ran there, and the evidence of its cases.
    ///
    /// # Errors
    /// This and every list: see [`crate::Error`].
    pub fn events(&self, filter: &Filter) -> Result<Vec<Event>> {
        let mut conditions = Conditions::default();
        conditions.time(filter, "e.at", "e.at");
        conditions.code(filter, "e.code");
        conditions.class(filter, "e.class");
        conditions.synthetic(filter, "e.synthetic");
        if let Some(node) = &filter.node {
            conditions.add("o.node = ?", [word(node.as_str())]);
        }
        if let Some(case) = &filter.case {
            let evidence = "e.id IN (SELECT event_id FROM case_events WHERE case_id = ?)";
            conditions.add(evidence, [word(case.as_str())]);
        }
        conditions.runs(
            filter,
            "e.seq IN (
                 SELECT x.seq FROM job_spans s JOIN runs q ON q.id = s.run
                 JOIN events x ON x.at BETWEEN q.start AND ifnull(s.ended, 9223372036854775807)
                 JOIN observations y ON y.id = x.observation AND y.node = s.node AND y.boot = s.boot
                 WHERE s.run IN ({runs})
                 UNION
                 SELECT x.seq FROM cases c JOIN case_events y ON y.case_id = c.id
                 JOIN events x ON x.id = y.event_id WHERE c.run IN ({runs}))",
        );
        let query = Query { columns: event::COLUMNS, from: event::FROM, order: "e.at DESC, e.seq DESC" };
        self.read(|conn| query.run(conn, &conditions, filter, event::read))
    }

    /// Cases, by their last evidence.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn cases(&self, filter: &Filter) -> Result<Vec<Case>> {
        self.read(|conn| case::with_evidence(conn, bare_cases(conn, filter)?))
    }

    /// Cases without the ids of their evidence, for questions over years.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn cases_without_evidence(&self, filter: &Filter) -> Result<Vec<Case>> {
        self.read(|conn| bare_cases(conn, filter))
    }

    /// Runs that were on the node, by their start.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn spans(&self, filter: &Filter) -> Result<Vec<JobSpan>> {
        let mut conditions = Conditions::default();
        conditions.time(filter, "r.start", "ifnull(s.ended, 9223372036854775807)");
        conditions.runs(filter, "s.run IN ({runs})");
        if let Some(node) = &filter.node {
            conditions.add("s.node = ?", [word(node.as_str())]);
        }
        if filter.open_only {
            conditions.add("s.ended IS NULL", []);
        }
        if let Some(case) = &filter.case {
            conditions.add("s.run IN (SELECT run FROM cases WHERE id = ?)", [word(case.as_str())]);
        }
        let query = Query { columns: span::COLUMNS, from: span::FROM, order: "r.start DESC, r.id DESC" };
        self.read(|conn| query.run(conn, &conditions, filter, span::read))
    }

    /// Decisions. For a job: about its runs, and about cases and verdicts that concern them.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn decisions(&self, filter: &Filter) -> Result<Vec<Decision>> {
        let mut conditions = Conditions::default();
        conditions.time(filter, "d.at", "d.at");
        conditions.synthetic(filter, "d.synthetic");
        conditions.runs(
            filter,
            "d.run IN ({runs}) OR d.case_id IN (SELECT id FROM cases WHERE run IN ({runs}))
             OR d.verdict_id IN (SELECT id FROM verdicts WHERE run IN ({runs}))",
        );
        if let Some(node) = &filter.node {
            let here = "d.node = ? OR d.run IN (SELECT run FROM job_spans WHERE node = ?)";
            conditions.add(here, [word(node.as_str()), word(node.as_str())]);
        }
        if let Some(case) = &filter.case {
            conditions.add("d.case_id = ?", [word(case.as_str())]);
        }
        if let Some((cases, params)) = cases_of(filter) {
            conditions.add(format!("d.case_id IN ({cases})"), params);
        }
        let query =
            Query { columns: decision::COLUMNS, from: decision::FROM, order: "d.at DESC, d.seq DESC" };
        self.read(|conn| query.run(conn, &conditions, filter, decision::read))
    }

    /// Verdicts.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn verdicts(&self, filter: &Filter) -> Result<Vec<Verdict>> {
        let mut conditions = Conditions::default();
        conditions.time(filter, "v.at", "v.at");
        conditions.class(filter, "v.class");
        conditions.synthetic(filter, "v.synthetic");
        conditions.runs(filter, "v.run IN ({runs})");
        if let Some(node) = &filter.node {
            conditions.add("v.run IN (SELECT run FROM job_spans WHERE node = ?)", [word(node.as_str())]);
        }
        if let Some(case) = &filter.case {
            let named = "EXISTS (SELECT 1 FROM json_each(v.cases) WHERE value = ?)";
            conditions.add(named, [word(case.as_str())]);
        }
        let query = Query { columns: verdict::COLUMNS, from: verdict::FROM, order: "v.at DESC, v.id DESC" };
        self.read(|conn| query.run(conn, &conditions, filter, verdict::read))
    }

    /// Intents with their outcomes, by the moment they were wanted.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn actions(&self, filter: &Filter) -> Result<Vec<IntentRow>> {
        let mut conditions = Conditions::default();
        conditions.time(filter, "a.created", "a.created");
        conditions.synthetic(filter, "a.synthetic");
        conditions
            .runs(filter, "a.run IN ({runs}) OR a.case_id IN (SELECT id FROM cases WHERE run IN ({runs}))");
        if let Some(node) = &filter.node {
            let here = "a.node = ? OR a.run IN (SELECT run FROM job_spans WHERE node = ?)";
            conditions.add(here, [word(node.as_str()), word(node.as_str())]);
        }
        if let Some(case) = &filter.case {
            let about = "a.case_id = ? OR a.decision_id IN (SELECT id FROM decisions WHERE case_id = ?)";
            conditions.add(about, [word(case.as_str()), word(case.as_str())]);
        }
        if let Some((cases, params)) = cases_of(filter) {
            conditions.add(format!("a.case_id IN ({cases})"), params);
        }
        if filter.open_only {
            conditions.add("a.state IN ('pending', 'running')", []);
        }
        let query = Query { columns: intent::COLUMNS, from: "actions a", order: "a.id DESC" };
        self.read(|conn| query.run(conn, &conditions, filter, intent::read))
    }

    /// The audit: the trail of all that was decided and done. `level` leaves out what is quieter, `code` narrows to a kind
    /// (`case`, `case.opened`).
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn audit(&self, filter: &Filter) -> Result<Vec<AuditRow>> {
        let mut conditions = Conditions::default();
        conditions.time(filter, "a.at", "a.at");
        conditions.synthetic(filter, "a.synthetic");
        match filter.level {
            Some(Level::Error) => conditions.add("a.level = 'error'", []),
            Some(Level::Warning) => conditions.add("a.level <> 'info'", []),
            Some(Level::Info) | None => {}
        }
        if let Some(case) = &filter.case {
            // Rows of the first versions name their case only in the subject: its id, or an action's key that ends in it.
            let about = "a.case_id = ? OR a.subject = ? OR substr(a.subject, -length(?)) = ?";
            conditions.add(about, std::iter::repeat_n(word(case.as_str()), 4));
        }
        if let Some(node) = &filter.node {
            conditions.add("a.node = ?", [word(node.as_str())]);
        }
        if let Some(job) = filter.job {
            match job.task {
                Some(task) => conditions.add("a.job = ?", [word(&format!("{}_{task}", job.job))]),
                None => {
                    // A task of an array is also known by the id that it has of its own.
                    let about = "a.job = ? OR substr(a.job, 1, length(?)) = ? OR a.job IN (
                         SELECT r.array_job || '_' || r.array_task FROM runs r
                         WHERE r.job = ? AND r.array_job IS NOT NULL)";
                    let task = word(&format!("{}_", job.job));
                    let name = word(&job.job.to_string());
                    conditions.add(about, [name, task.clone(), task, int(i64::from(job.job))]);
                }
            }
        }
        if let Some(code) = &filter.code {
            let kind = "a.kind = ? OR substr(a.kind, 1, length(?) + 1) = ? || '.'";
            conditions.add(kind, std::iter::repeat_n(word(code), 3));
        }
        let query = Query { columns: audit::COLUMNS, from: "audit a", order: "a.at DESC, a.id DESC" };
        self.read(|conn| query.run(conn, &conditions, filter, audit::read))
    }

    /// The node as Slurm had it, by the moment it was last read so.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn sightings(&self, filter: &Filter) -> Result<Vec<Sighting>> {
        let mut conditions = Conditions::default();
        conditions.time(filter, "s.first_seen", "s.last_seen");
        if let Some(node) = &filter.node {
            conditions.add("s.node = ?", [word(node.as_str())]);
        }
        let query = Query { columns: sighting::COLUMNS, from: "sightings s", order: "s.id DESC" };
        self.read(|conn| query.run(conn, &conditions, filter, sighting::read))
    }

    /// Task starts and ends of a run, oldest first.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn tasks_of(&self, span: &JobSpan) -> Result<Vec<(Stamp, TaskEdge)>> {
        self.read(|conn| load::tasks(conn, &span.run, span.end))
    }

    /// Every source with its state.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn sources(&self) -> Result<Vec<SourceRow>> {
        self.read(load::sources)
    }

    /// The last result of every state check, by name.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn checks(&self) -> Result<Vec<CheckState>> {
        self.read(check::all)
    }

    /// What was only counted since the UTC day of `since`.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn counters(&self, since: Stamp) -> Result<Vec<Counter>> {
        self.read(|conn| {
            let mut statement = conn.prepare(
                "SELECT day, kind, name, count FROM counters WHERE day >= ?1 ORDER BY day, kind, name",
            )?;
            rows::collect(&mut statement, [counter::day(since)], |row| {
                Ok(Counter {
                    day: Stamp::from_secs(row.get::<_, i64>("day")?.saturating_mul(86_400)),
                    kind: row.get("kind")?,
                    name: row.get("name")?,
                    count: rows::from_sql_u64(row, "count")?,
                })
            })
        })
    }

    /// The newest `limit` NVML sweeps that are kept, oldest first.
    ///
    /// # Errors
    /// See [`Ledger::events`].
    pub fn readings(&self, limit: u32) -> Result<Vec<Reading>> {
        let filter = Filter { limit: Some(limit), ..Filter::default() };
        let query = Query { columns: reading::COLUMNS, from: "readings g", order: "g.id DESC" };
        self.read(|conn| query.run(conn, &Conditions::default(), &filter, reading::read))
    }
}

fn bare_cases(conn: &Connection, filter: &Filter) -> Result<Vec<Case>> {
    let mut conditions = Conditions::default();
    conditions.time(filter, "c.opened_at", "c.last_seen");
    conditions.code(filter, "c.code");
    conditions.class(filter, "c.class");
    conditions.synthetic(filter, "c.synthetic");
    conditions.runs(filter, "c.run IN ({runs})");
    if let Some(node) = &filter.node {
        conditions.add("c.node = ?", [word(node.as_str())]);
    }
    if let Some(case) = &filter.case {
        conditions.add("c.id = ?", [word(case.as_str())]);
    }
    if filter.open_only {
        conditions.add("c.state IN ('open', 'acted')", []);
    }
    let query = Query { columns: case::COLUMNS, from: case::FROM, order: "c.last_seen DESC, c.id DESC" };
    query.run(conn, &conditions, filter, case::read)
}

/// One list's statement.
struct Query {
    columns: &'static str,
    from: &'static str,
    order: &'static str,
}

impl Query {
    fn run<T>(
        &self,
        conn: &Connection,
        conditions: &Conditions,
        filter: &Filter,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let Self { columns, from, order } = self;
        let sql = format!("SELECT {columns} FROM {from}{} ORDER BY {order} LIMIT ?", conditions.sql());
        let limit = int(filter.limit.map_or(-1, i64::from));
        let mut statement = conn.prepare(&sql)?;
        let params = params_from_iter(conditions.params.iter().chain([&limit]));
        let mut newest_first = rows::collect(&mut statement, params, read)?;
        newest_first.reverse();
        Ok(newest_first)
    }
}
