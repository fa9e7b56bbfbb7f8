//! What a pass needs to know before it begins: one consistent look at the ledger.
use rusqlite::{Connection, OptionalExtension, params};
use triage_core::checks::CheckState;
use triage_core::facts::NodeFacts;
use triage_core::pipeline::Closed;
use triage_core::serd::Engine;
use triage_core::{
    Case, CaseState, Decision, Event, Hold, JobSpan, OutCase, RunId, SourceKind, Stamp, TaskEdge,
};

use crate::batch::{Cursor, Generation, Reading};
use crate::error::Result;
use crate::open::Ledger;
use crate::out;
use crate::query::SourceRow;
use crate::rows::{
    self, case, check, cursor, decision, event, hold, meta, rate, reading, run, source, span, task,
};
use crate::store;

/// Events of one run that a pass is given at most; a run with more has long told its story.
const RUN_EVENTS: u32 = 4096;
/// Task records of one run that a pass is given at most.
const RUN_TASKS: u32 = 16_384;
const BEGINNING: Stamp = Stamp::from_micros(i64::MIN);
const FOREVER: Stamp = Stamp::from_micros(i64::MAX);
/// Two clocks tell of a task's start: the prolog's comes first, but a clock may be set back between the two.
const CLOCK_SLACK_US: i64 = 5_000_000;

/// What to load.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// Runs that left the node at or after this moment are loaded besides those that are on it.
    pub spans_since: Stamp,
    /// The run a prolog or epilog is for: its tasks, events and decisions are loaded, and it is not among the spans.
    /// Tasks and events are also found for a run whose span was never written, by the run's start.
    pub run: Option<&'a RunId>,
}

/// One consistent look at the ledger, named as the pipeline's input names it.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// For [`crate::Batch::based_on`].
    pub generation: Generation,
    /// Open cases.
    pub cases: Vec<Case>,
    /// The last NVML sweep.
    pub last_reading: Option<Reading>,
    /// Runs on the node and those that left it lately, without the one asked for.
    pub spans: Vec<JobSpan>,
    /// The run asked for, where the ledger knows it.
    pub span: Option<JobSpan>,
    /// Its task records, oldest first.
    pub tasks: Vec<(Stamp, TaskEdge)>,
    /// Events of earlier passes that fall into it, oldest first.
    pub run_events: Vec<Event>,
    /// The latest decision for each open case and for the run, one for each subject and case.
    pub decided: Vec<Decision>,
    /// Cases for which this node was taken out and is not known to be back.
    pub out: Vec<OutCase>,
    /// When our drains were lifted by us lately, oldest first.
    pub returns: Vec<Stamp>,
    /// Counts of repeats, and when open cases were reported well again.
    pub rates: Vec<Engine>,
    /// The last closing of each fault that was closed lately.
    pub closed: Vec<Closed>,
    /// When the ledger was begun.
    pub since: Option<Stamp>,
    /// How far each source has been read.
    pub cursors: Vec<Cursor>,
    /// Whether each source could be read.
    pub sources: Vec<SourceRow>,
    /// The last result of every state check.
    pub checks: Vec<CheckState>,
    /// What nobody has released; whether a hold still stands is a question of the moment ([`Hold::stands`]).
    pub holds: Vec<Hold>,
}

impl Loaded {
    /// How far a stream has been read, in any boot.
    pub fn cursor(&self, source: SourceKind, stream: &str) -> Option<&Cursor> {
        self.cursors.iter().find(|cursor| cursor.source == source && cursor.stream == stream)
    }

    /// The state of a source at its last look.
    pub fn source(&self, source: SourceKind, stream: &str) -> Option<&SourceRow> {
        self.sources.iter().find(|row| row.source == source && row.stream == stream)
    }
}

impl Ledger {
    /// Loads what a pass needs.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn load(&self, what: &Load<'_>) -> Result<Loaded> {
        self.read(|conn| {
            let glance = glance(conn, check::all(conn)?)?;
            let number = what.run.map(|run| run::find(conn, run)).transpose()?.flatten();
            let span = number.map(|number| span_of(conn, number)).transpose()?.flatten();
            let out = out::cases(conn)?;
            Ok(Loaded {
                decided: decided(
                    conn,
                    &glance.cases.iter().chain(out.iter().map(|out| &out.case)).collect::<Vec<_>>(),
                    number,
                )?,
                last_reading: last_reading(conn)?,
                spans: spans(conn, what.spans_since, number)?,
                tasks: match what.run {
                    Some(run) => tasks(conn, run, span.as_ref().and_then(|span| span.end))?,
                    None => Vec::new(),
                },
                run_events: match what.run {
                    Some(run) => events_of(conn, run, span.as_ref())?,
                    None => Vec::new(),
                },
                span,
                out,
                returns: out::returns(conn)?,
                rates: rate::all(conn)?,
                closed: closed(conn, what.spans_since)?,
                holds: hold::standing(conn, BEGINNING)?,
                ..glance
            })
        })
    }

    /// Only what shows whether anything is the matter: generation, open cases, how far and how well each source was
    /// read, and the last results of the checks that are named. All else is left empty. Reading the rest costs a
    /// prolog a third of its time, and nearly every prolog has no use for it.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn glance(&self, checks: &[&str]) -> Result<Loaded> {
        self.read(|conn| glance(conn, check::named(conn, checks)?))
    }

    /// What the last health check read of the node. Not part of [`Ledger::load`]: a prolog has no use for it.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn last_facts(&self) -> Result<Option<NodeFacts>> {
        self.read(check::last_facts)
    }

    /// The latest span of a job's run on this node that has not ended: what an epilog, which is not told when the
    /// run's prolog began, closes. Array tasks have a job id of their own. The epilog of a run that was put back into
    /// the queue while it was here, or that a prolog refused, is told the next run's restart count already; the job is
    /// let go by all of its nodes before that one begins.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn open_span(&self, cluster: &str, job: u32, restart: u32) -> Result<Option<JobSpan>> {
        self.read(|conn| {
            let sql = format!(
                "SELECT {} FROM {} WHERE r.cluster = ?1 AND r.job = ?2 AND r.restart <= ?3 AND s.ended IS NULL
                 ORDER BY r.start DESC LIMIT 1",
                span::COLUMNS,
                span::FROM
            );
            Ok(conn.query_row(&sql, params![cluster, job, restart], span::read).optional()?)
        })
    }

    /// The first task of the job that was recorded here since the last run of it that is known: when a run began whose
    /// prolog left no span.
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn first_task(&self, cluster: &str, job: u32) -> Result<Option<Stamp>> {
        self.read(|conn| {
            let sql = "SELECT min(t.at) AS at FROM tasks t WHERE t.job = ?1 AND t.cluster IN ('', ?2) AND t.at > ifnull(
                           (SELECT max(s.ended) FROM job_spans s JOIN runs r ON r.id = s.run
                            WHERE r.job = ?1 AND r.cluster = ?2), ?3)";
            let params = params![job, cluster, BEGINNING.micros()];
            Ok(conn.query_row(sql, params, |row| rows::optional_stamp(row, "at"))?)
        })
    }
}

fn glance(conn: &Connection, checks: Vec<CheckState>) -> Result<Loaded> {
    Ok(Loaded {
        generation: store::generation(conn)?,
        cases: open_cases(conn)?,
        cursors: cursor::all(conn)?,
        sources: sources(conn)?,
        checks,
        since: meta::get(conn, "created")?.map(Stamp::from_micros),
        ..Loaded::default()
    })
}

fn open_cases(conn: &Connection) -> Result<Vec<Case>> {
    let mut statement = conn.prepare(&format!(
        "SELECT {} FROM {} WHERE c.state IN ('open', 'acted') ORDER BY c.opened_at, c.id",
        case::COLUMNS,
        case::FROM
    ))?;
    let cases = rows::collect(&mut statement, [], case::read)?;
    case::with_evidence(conn, cases)
}

/// Lines about a fault that was closed longer ago than this are not read any more.
const CLOSED_LATELY_US: i64 = 7 * 86_400 * 1_000_000;

/// The last closing of each fault on each resource. Beside `max` SQLite takes the other columns from the row that has it.
fn closed(conn: &Connection, since: Stamp) -> Result<Vec<Closed>> {
    let mut statement = conn.prepare(
        "SELECT c.fault, c.resource, max(c.closed_at) AS at, c.state AS how FROM cases c INDEXED BY cases_closed
         WHERE c.closed_at >= ?1 GROUP BY c.fault, c.resource",
    )?;
    rows::collect(&mut statement, [since.plus_micros(-CLOSED_LATELY_US).micros()], |row| {
        Ok(Closed {
            fault: row.get("fault")?,
            resource: rows::text(row, "resource")?,
            at: rows::stamp(row, "at")?,
            acquitted: rows::word::<CaseState>(row, "how")? == CaseState::Acquitted,
        })
    })
}

/// The latest decision of each subject and case, about open cases and about the run. Older ones are left out: the
/// pipeline asks whether it would repeat itself.
/// What is decided about bringing a node back, or about setting it down, is another matter than whether it should be out:
/// of each the latest.
fn decided(conn: &Connection, cases: &[&Case], run: Option<i64>) -> Result<Vec<Decision>> {
    if cases.is_empty() && run.is_none() {
        return Ok(Vec::new());
    }
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let mut statement = conn.prepare(&format!(
        "SELECT {columns} FROM {from} WHERE d.seq IN (
             SELECT max(x.seq) FROM decisions x
             WHERE x.case_id IN (SELECT value FROM json_each(?2)) AND x.node IS NOT NULL
             GROUP BY x.case_id, x.node, x.intent IN ('reset', 'reboot', 'verify', 'resume'), x.intent = 'down'
             UNION ALL
             SELECT max(y.seq) FROM decisions y WHERE y.run = ?1 GROUP BY y.case_id)
         ORDER BY d.seq",
        columns = decision::COLUMNS,
        from = decision::FROM
    ))?;
    rows::collect(&mut statement, params![run, rows::to_json("ids of cases", &ids)?], decision::read)
}

pub(crate) fn last_reading(conn: &Connection) -> Result<Option<Reading>> {
    let mut statement =
        conn.prepare(&format!("SELECT {} FROM readings g ORDER BY g.id DESC LIMIT 1", reading::COLUMNS))?;
    Ok(rows::collect(&mut statement, [], reading::read)?.pop())
}

/// Two searches by index; asked with OR, SQLite reads the whole table.
fn spans(conn: &Connection, since: Stamp, without: Option<i64>) -> Result<Vec<JobSpan>> {
    let mut statement = conn.prepare(&format!(
        "SELECT {columns} FROM (
             SELECT * FROM job_spans WHERE ended IS NULL UNION ALL SELECT * FROM job_spans WHERE ended >= ?1
         ) s JOIN runs r ON r.id = s.run WHERE s.run IS NOT ?2 ORDER BY r.start, r.id",
        columns = span::COLUMNS
    ))?;
    rows::collect(&mut statement, params![since.micros(), without], span::read)
}

fn span_of(conn: &Connection, run: i64) -> Result<Option<JobSpan>> {
    let sql = format!("SELECT {} FROM {} WHERE s.run = ?1 LIMIT 1", span::COLUMNS, span::FROM);
    Ok(conn.query_row(&sql, [run], span::read).optional()?)
}

/// The tasks of a run. The slurmstepd of Slurm 22.05 tells its plugins the restart count 0 in every run: the time decides
/// then. A job is on a node once at a time, so what lies before the end of the run before, or after the beginning of the
/// next one, is theirs, however short the pause between them.
pub(crate) fn tasks(conn: &Connection, run: &RunId, end: Option<Stamp>) -> Result<Vec<(Stamp, TaskEdge)>> {
    let (before, next) = neighbours(conn, run)?;
    let mut statement = conn.prepare(&format!(
        "SELECT {} FROM tasks t WHERE t.job = ?1 AND t.restart IN (0, ?2) AND t.at BETWEEN ?3 AND ?4
         AND t.cluster IN ('', ?5) ORDER BY t.at, t.rank LIMIT ?6",
        task::COLUMNS
    ))?;
    // A neighbour that lies within the run was dated by a clock that was set since.
    let from = run.start.plus_micros(-CLOCK_SLACK_US);
    let from = before.map_or(from, |before| from.max(before.plus_micros(1).min(run.start)));
    let to = end.map_or(FOREVER, |end| end.plus_micros(CLOCK_SLACK_US));
    let to = next.map_or(to, |next| to.min(next.plus_micros(-1).max(end.unwrap_or(run.start))));
    let params = params![run.job, run.restart, from.micros(), to.micros(), run.cluster, RUN_TASKS];
    rows::collect(&mut statement, params, task::read)
}

/// When the run of the job before this one ended here, and when the next one began.
fn neighbours(conn: &Connection, run: &RunId) -> Result<(Option<Stamp>, Option<Stamp>)> {
    let sql = "SELECT max(CASE WHEN r.start < ?3 THEN s.ended END) AS before,
                      min(CASE WHEN r.start > ?3 THEN r.start END) AS next
               FROM runs r JOIN job_spans s ON s.run = r.id WHERE r.job = ?1 AND r.cluster = ?2";
    let params = params![run.job, run.cluster, run.start.micros()];
    Ok(conn.query_row(sql, params, |row| {
        Ok((rows::optional_stamp(row, "before")?, rows::optional_stamp(row, "next")?))
    })?)
}

/// Events since the run began; of its node and boot, and up to its end, where its span is known.
fn events_of(conn: &Connection, run: &RunId, span: Option<&JobSpan>) -> Result<Vec<Event>> {
    let mut statement = conn.prepare(&format!(
        "SELECT {} FROM {} WHERE e.at BETWEEN ?1 AND ?2 AND o.node = ifnull(?3, o.node)
         AND o.boot = ifnull(?4, o.boot) ORDER BY e.at, e.seq LIMIT ?5",
        event::COLUMNS,
        event::FROM
    ))?;
    let to = span.and_then(|span| span.end).unwrap_or(FOREVER);
    let node = span.map(|span| span.node.as_str());
    let boot = span.map(|span| span.boot.as_str());
    let params = params![run.start.micros(), to.micros(), node, boot, RUN_EVENTS];
    rows::collect(&mut statement, params, event::read)
}

pub(crate) fn sources(conn: &Connection) -> Result<Vec<SourceRow>> {
    let mut statement =
        conn.prepare(&format!("SELECT {} FROM sources s ORDER BY s.source, s.stream", source::COLUMNS))?;
    rows::collect(&mut statement, [], source::read)
}
