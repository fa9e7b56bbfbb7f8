-- Version 3: what the state checks found, and what the node is expected to have.

-- The last result of each check. A check that never looked has no row.
CREATE TABLE checks (
    name    TEXT    NOT NULL PRIMARY KEY,   -- mounts, site.nhc
    state   TEXT    NOT NULL CHECK (state IN ('ok', 'disabled', 'blind', 'bad')),
    since   INTEGER NOT NULL,
    at      INTEGER NOT NULL,               -- the last look
    boot    TEXT    NOT NULL,
    text    TEXT    NOT NULL,
    value   TEXT,                           -- the figure it looked at, with its unit
    cost_us INTEGER NOT NULL,
    items   TEXT    NOT NULL                -- JSON object: resources that are not simply good
) STRICT, WITHOUT ROWID;

-- What the last health check read of the node, for rates and comparisons. One row.
CREATE TABLE node_facts (
    id    INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    at    INTEGER NOT NULL,
    boot  TEXT    NOT NULL,
    facts TEXT    NOT NULL                  -- JSON
) STRICT;

CREATE VIEW v_checks AS
SELECT c.name,
       c.state,
       strftime('%Y-%m-%dT%H:%M:%S', c.since / 1000000, 'unixepoch') || printf('.%06dZ', c.since % 1000000) AS since,
       strftime('%Y-%m-%dT%H:%M:%S', c.at / 1000000, 'unixepoch') || printf('.%06dZ', c.at % 1000000) AS looked,
       c.value,
       c.text,
       c.cost_us,
       c.items,
       c.boot
FROM checks c;

-- Counts of repeats, one row for each rate and thing it is counted on; and under the rule 'recovered' the moment at which
-- an open case was reported well again. Bounded by what one engine remembers, so retention takes only what has been quiet
-- for as long as events are kept, and nothing that stands for an open case.
CREATE TABLE rates (
    rule        TEXT    NOT NULL,
    identity    TEXT    NOT NULL,   -- part:<serial or UUID> of a GPU, else the resource; drill:... for drills; a case id
    resource    TEXT    NOT NULL,   -- where that was at the last occurrence
    occurrences TEXT    NOT NULL,   -- JSON array of {at, times, job, uid}, oldest first
    last_at     INTEGER,
    fired_at    INTEGER,            -- NULL: not reached, or reset by a repair
    PRIMARY KEY (rule, identity)
) STRICT, WITHOUT ROWID;

-- The serial or UUID of the GPU a case is about, where known: a slot is not a part.
ALTER TABLE cases ADD COLUMN part TEXT;
CREATE INDEX cases_closed ON cases (closed_at) WHERE closed_at IS NOT NULL;

-- What the node had when it was admitted. The last row holds; those before it say what was taken back, and when.
CREATE TABLE baselines (
    id       INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,      -- of the look that it was learned from
    learned  INTEGER NOT NULL,      -- when it was
    by       TEXT    NOT NULL,      -- empty: the health check by itself
    why      TEXT    NOT NULL,
    baseline TEXT    NOT NULL       -- JSON
) STRICT;
