-- Version 1: the tables. docs/ledger.md tells what each is for.
-- All times are integers: microseconds since 1970-01-01T00:00:00Z. Words (class, state, provenance ...) are those of
-- the vocabularies in crates/core. `synthetic` is 1 on everything that rests on a drill or a test.
-- A file in this folder is never edited once released; a change is a new file with the next number.

CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value ANY  NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE boots (
    boot       TEXT    NOT NULL PRIMARY KEY,
    node       TEXT    NOT NULL,
    first_seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A run's identity. Slurm reuses job ids and requeues jobs, so nothing refers to a bare job id. Every array task and
-- het component has a job id of its own; what it is part of is not always known at first, and is filled in.
CREATE TABLE runs (
    id         INTEGER PRIMARY KEY,
    cluster    TEXT    NOT NULL,
    job        INTEGER NOT NULL,
    array_job  INTEGER,
    array_task INTEGER,
    het        INTEGER,
    restart    INTEGER NOT NULL,
    start      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX runs_identity ON runs (job, start, restart, cluster);
CREATE INDEX runs_array ON runs (array_job, array_task) WHERE array_job IS NOT NULL;
CREATE INDEX runs_het ON runs (het) WHERE het IS NOT NULL;

CREATE TABLE job_spans (
    run         INTEGER NOT NULL REFERENCES runs (id),
    node        TEXT    NOT NULL,
    boot        TEXT    NOT NULL,
    uid         INTEGER NOT NULL,
    user        TEXT    NOT NULL,
    partition   TEXT    NOT NULL,
    nodes       TEXT    NOT NULL,   -- JSON array, batch host first
    gpus        TEXT    NOT NULL,   -- JSON array of GRES indices
    ask         TEXT    NOT NULL,
    ended       INTEGER,            -- NULL while the run is on the node
    ended_by    TEXT CHECK (ended_by IN ('epilog', 'reboot')),
    exit_code   INTEGER,
    exit_signal INTEGER,
    state       TEXT    NOT NULL,   -- Slurm's word, empty where it was not read
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_spans_open ON job_spans (boot) WHERE ended IS NULL;
CREATE INDEX job_spans_ended ON job_spans (ended) WHERE ended IS NOT NULL;

-- What a source said, verbatim, where it became an event. Lines without a meaning are only counted.
CREATE TABLE observations (
    id     INTEGER PRIMARY KEY,
    node   TEXT    NOT NULL,
    boot   TEXT    NOT NULL,
    source TEXT    NOT NULL,
    stream TEXT    NOT NULL,
    cursor INTEGER NOT NULL,
    said   TEXT    NOT NULL,        -- the line; a sweep as JSON
    UNIQUE (source, stream, cursor, boot, node)
) STRICT;

CREATE TABLE events (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    observation INTEGER NOT NULL REFERENCES observations (id),
    at          INTEGER NOT NULL,
    code        TEXT    NOT NULL,
    class       TEXT    NOT NULL,
    role        TEXT    NOT NULL,
    provenance  TEXT    NOT NULL,
    synthetic   INTEGER NOT NULL CHECK (synthetic IN (0, 1)),
    confidence  TEXT    NOT NULL,
    advice      TEXT    NOT NULL,
    clears      TEXT    NOT NULL,
    resource    TEXT    NOT NULL,
    fields      TEXT    NOT NULL,   -- JSON object
    text        TEXT                -- NULL: the observation's own words
) STRICT;
CREATE INDEX events_at ON events (at);
CREATE INDEX events_observation ON events (observation);

CREATE TABLE cases (
    id         TEXT    NOT NULL PRIMARY KEY,
    fault      TEXT    NOT NULL,
    code       TEXT    NOT NULL,
    class      TEXT    NOT NULL,
    resource   TEXT    NOT NULL,
    node       TEXT    NOT NULL,
    boot       TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('open', 'acted', 'resolved', 'acquitted')),
    confidence TEXT    NOT NULL,
    provenance TEXT    NOT NULL,
    synthetic  INTEGER NOT NULL CHECK (synthetic IN (0, 1)),
    advice     TEXT    NOT NULL,
    clears     TEXT    NOT NULL,
    opened_at  INTEGER NOT NULL,
    last_seen  INTEGER NOT NULL,
    closed_at  INTEGER,
    run        INTEGER REFERENCES runs (id),
    why        TEXT    NOT NULL,
    stood_down INTEGER NOT NULL CHECK (stood_down IN (0, 1))
) STRICT, WITHOUT ROWID;
-- The rule of the model, kept even against a fault of ours: one open case per node, fault and resource.
CREATE UNIQUE INDEX one_open_case ON cases (node, fault, resource) WHERE state IN ('open', 'acted');
CREATE INDEX cases_last_seen ON cases (last_seen);
CREATE INDEX cases_run ON cases (run) WHERE run IS NOT NULL;

-- The evidence of a case, oldest first. An event beyond the bound of one pass is named here without a row in events.
CREATE TABLE case_events (
    case_id  TEXT    NOT NULL REFERENCES cases (id),
    position INTEGER NOT NULL,
    event_id TEXT    NOT NULL,
    PRIMARY KEY (case_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX case_events_event ON case_events (event_id);

CREATE TABLE verdicts (
    id         TEXT    NOT NULL PRIMARY KEY,
    run        INTEGER NOT NULL REFERENCES runs (id),
    at         INTEGER NOT NULL,
    class      TEXT    NOT NULL,
    confidence TEXT    NOT NULL,
    culprits   TEXT    NOT NULL,    -- JSON array of {node, resource}
    victims    TEXT    NOT NULL,    -- JSON array of node names
    cases      TEXT    NOT NULL,    -- JSON array of case ids, those of other nodes among them
    evidence   TEXT    NOT NULL,    -- JSON array of event ids
    synthetic  INTEGER NOT NULL CHECK (synthetic IN (0, 1)),
    story      TEXT    NOT NULL     -- JSON array of lines
) STRICT, WITHOUT ROWID;
CREATE INDEX verdicts_run ON verdicts (run);

CREATE TABLE decisions (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    at         INTEGER NOT NULL,
    node       TEXT,                -- the subject: a node ...
    run        INTEGER REFERENCES runs (id),    -- ... or a run
    intent     TEXT    NOT NULL,
    rule       TEXT    NOT NULL,
    mode       TEXT    NOT NULL,
    gates      TEXT    NOT NULL,    -- JSON array of {name, passed, why}, in the order they were asked
    case_id    TEXT,
    verdict_id TEXT,
    synthetic  INTEGER NOT NULL CHECK (synthetic IN (0, 1)),
    why        TEXT    NOT NULL,
    CHECK ((node IS NULL) <> (run IS NULL))
) STRICT;
CREATE INDEX decisions_case ON decisions (case_id) WHERE case_id IS NOT NULL;
CREATE INDEX decisions_run ON decisions (run) WHERE run IS NOT NULL;

-- Intents and what became of them. The row is written before anything is done.
CREATE TABLE actions (
    id          INTEGER PRIMARY KEY,
    key         TEXT    NOT NULL,   -- what makes it the same action
    kind        TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'running', 'done', 'failed', 'expired')),
    decision_id TEXT    NOT NULL,
    case_id     TEXT,
    run         INTEGER REFERENCES runs (id),
    node        TEXT,
    action      TEXT    NOT NULL,   -- JSON, everything the executor needs
    synthetic   INTEGER NOT NULL CHECK (synthetic IN (0, 1)),
    created     INTEGER NOT NULL,
    expires     INTEGER NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    owner_pid   INTEGER,            -- the process that carries it out now, or was the last to
    owner_start INTEGER,
    owner_boot  TEXT,
    claimed_at  INTEGER,
    lease_until INTEGER,
    settled_at  INTEGER,
    answer      TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX one_live_intent ON actions (key) WHERE state IN ('pending', 'running', 'done');
CREATE INDEX actions_waiting ON actions (expires) WHERE state IN ('pending', 'running');
CREATE INDEX actions_decision ON actions (decision_id);
CREATE INDEX actions_run ON actions (run) WHERE run IS NOT NULL;

-- Task starts and ends, as the SPANK plugin wrote them into the spool.
CREATE TABLE tasks (
    id          INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    what        TEXT    NOT NULL CHECK (what IN ('start', 'end')),
    cluster     TEXT    NOT NULL,
    node        TEXT    NOT NULL,
    job         INTEGER NOT NULL,
    array_job   INTEGER,
    array_task  INTEGER,
    restart     INTEGER NOT NULL,
    step        TEXT    NOT NULL,
    rank        INTEGER NOT NULL,
    local       INTEGER NOT NULL,
    pid         INTEGER NOT NULL,
    uid         INTEGER,
    ask         TEXT    NOT NULL,
    gpus        TEXT    NOT NULL,   -- JSON array, as the task's environment named them
    exit_code   INTEGER,
    exit_signal INTEGER,
    core        INTEGER CHECK (core IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX task_identity ON tasks (job, restart, at, step, rank, pid, what);
CREATE INDEX tasks_at ON tasks (at);

-- How far each source has been read. `anchor` names the thing read (a file's device and inode).
CREATE TABLE cursors (
    source TEXT    NOT NULL,
    stream TEXT    NOT NULL,
    boot   TEXT    NOT NULL,
    anchor TEXT    NOT NULL,
    cursor INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (source, stream)
) STRICT, WITHOUT ROWID;

-- Whether each source can be read. Blindness is a state of its own: neither health nor fault.
CREATE TABLE sources (
    source      TEXT    NOT NULL,
    stream      TEXT    NOT NULL,
    last_try    INTEGER NOT NULL,
    last_ok     INTEGER,
    blind_since INTEGER,            -- NULL: it could be read
    reason      TEXT    NOT NULL,
    hung_pid    INTEGER,
    hung_start  INTEGER,
    hung_boot   TEXT,
    cost_us     INTEGER NOT NULL,
    PRIMARY KEY (source, stream)
) STRICT, WITHOUT ROWID;

-- The last NVML sweeps, for the next one's comparison.
CREATE TABLE readings (
    id        INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    node      TEXT    NOT NULL,
    boot      TEXT    NOT NULL,
    synthetic INTEGER NOT NULL CHECK (synthetic IN (0, 1)),
    reading   TEXT    NOT NULL      -- JSON
) STRICT;

-- What is only counted, by UTC day (days since 1970-01-01): never pruned, it is what is left of what was.
CREATE TABLE counters (
    day   INTEGER NOT NULL,
    kind  TEXT    NOT NULL,
    name  TEXT    NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (day, kind, name)
) STRICT, WITHOUT ROWID;

-- What the suite and the people who use it did. Append only.
CREATE TABLE audit (
    id        INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    program   TEXT    NOT NULL,
    actor     TEXT    NOT NULL,     -- empty: Slurm's daemon; else the person's user name or uid
    level     TEXT    NOT NULL CHECK (level IN ('info', 'warning', 'error')),
    kind      TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    text      TEXT    NOT NULL,
    synthetic INTEGER NOT NULL CHECK (synthetic IN (0, 1))
) STRICT;
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_loud ON audit (at) WHERE level <> 'info';
CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;
-- Retention may remove what is older than the floor it has written down, and nothing else may be removed.
CREATE TRIGGER audit_outlives_its_floor BEFORE DELETE ON audit
WHEN OLD.at >= ifnull((SELECT value FROM meta WHERE key = 'audit_floor'), -9223372036854775808)
BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;

-- How much of each spool file has been imported.
CREATE TABLE spool_files (
    name   TEXT    NOT NULL,
    inode  INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    PRIMARY KEY (name, inode)
) STRICT, WITHOUT ROWID;
