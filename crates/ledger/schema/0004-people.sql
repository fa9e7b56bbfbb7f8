-- Version 4: what people said of faults and nodes, what Slurm said of the node, and the facts of each row of the
-- trail. docs/ledger.md and docs/operators.md tell what each is for.

-- What is on hold: nothing is carried out for it. A row is ended, never removed before retention does.
CREATE TABLE holds (
    id        INTEGER PRIMARY KEY,
    kind      TEXT    NOT NULL CHECK (kind IN ('node', 'case', 'job')),
    name      TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    until     INTEGER,              -- NULL: not before it is released
    actor     TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    ended_at  INTEGER,              -- NULL: nobody has ended it; it may have run out
    ended_by  TEXT,
    ended_why TEXT
) STRICT;
CREATE UNIQUE INDEX one_standing_hold ON holds (kind, name) WHERE ended_at IS NULL;

-- The node as Slurm had it, one row for as long as it said the same. Read only by a pass that had to ask anyway.
CREATE TABLE sightings (
    id         INTEGER PRIMARY KEY,
    node       TEXT    NOT NULL,
    state      TEXT    NOT NULL,    -- Slurm's words, joined by a plus sign
    reason     TEXT    NOT NULL,
    is_out     INTEGER NOT NULL CHECK (is_out IN (0, 1)),
    ours       INTEGER NOT NULL CHECK (ours IN (0, 1)),    -- the reason is one of ours
    first_seen INTEGER NOT NULL,
    last_seen  INTEGER NOT NULL
) STRICT;
CREATE INDEX sightings_last_seen ON sightings (last_seen);

-- Whom a row of the audit is about, and on what it rests.
ALTER TABLE audit ADD COLUMN node TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN case_id TEXT;
ALTER TABLE audit ADD COLUMN job TEXT;                          -- as scontrol is told: 4711, 4700_3
ALTER TABLE audit ADD COLUMN rule TEXT NOT NULL DEFAULT '';     -- the policy's rule; empty where none spoke
ALTER TABLE audit ADD COLUMN facts TEXT NOT NULL DEFAULT '{}';    -- JSON: evidence, gates, outcome, before, after
CREATE INDEX audit_case ON audit (case_id) WHERE case_id IS NOT NULL;
CREATE INDEX audit_job ON audit (job) WHERE job IS NOT NULL;

CREATE VIEW v_trail AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', a.at / 1000000, 'unixepoch') || printf('.%06dZ', a.at % 1000000) AS time,
       CASE WHEN a.actor <> '' THEN a.actor WHEN a.rule <> '' THEN 'rule ' || a.rule ELSE a.program END AS who,
       a.kind AS what,
       a.subject,
       a.node,
       a.case_id,
       a.job,
       a.text AS why,
       (SELECT gate.value ->> 'name' FROM json_each(a.facts, '$.gates') AS gate
        WHERE NOT gate.value ->> 'passed' ORDER BY gate.key LIMIT 1) AS held_by,
       a.facts ->> 'outcome' AS outcome,
       a.program,
       a.level,
       a.synthetic,
       a.facts,
       a.id
FROM audit a;

CREATE VIEW v_holds AS
SELECT h.kind,
       h.name,
       strftime('%Y-%m-%dT%H:%M:%S', h.at / 1000000, 'unixepoch') || printf('.%06dZ', h.at % 1000000) AS placed,
       strftime('%Y-%m-%dT%H:%M:%S', h.until / 1000000, 'unixepoch') || printf('.%06dZ', h.until % 1000000) AS until,
       h.actor,
       h.reason,
       strftime('%Y-%m-%dT%H:%M:%S', h.ended_at / 1000000, 'unixepoch') || printf('.%06dZ', h.ended_at % 1000000) AS ended,
       h.ended_by,
       h.ended_why
FROM holds h;

CREATE VIEW v_sightings AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', s.first_seen / 1000000, 'unixepoch') || printf('.%06dZ', s.first_seen % 1000000) AS since,
       strftime('%Y-%m-%dT%H:%M:%S', s.last_seen / 1000000, 'unixepoch') || printf('.%06dZ', s.last_seen % 1000000) AS until,
       s.node,
       s.state,
       s.reason,
       s.is_out,
       s.ours
FROM sightings s;
