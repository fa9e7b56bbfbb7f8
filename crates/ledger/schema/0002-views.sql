-- Version 2: views for people with `sqlite3`. Times are RFC 3339 in UTC, to the microsecond.

CREATE VIEW v_jobs AS
SELECT CASE WHEN r.array_job IS NULL THEN CAST(r.job AS TEXT)
            ELSE r.array_job || '_' || r.array_task END AS job,
       r.job AS job_id,
       r.restart,
       r.cluster,
       s.node,
       s.user,
       s.uid,
       s.partition,
       strftime('%Y-%m-%dT%H:%M:%S', r.start / 1000000, 'unixepoch') || printf('.%06dZ', r.start % 1000000) AS started,
       strftime('%Y-%m-%dT%H:%M:%S', s.ended / 1000000, 'unixepoch') || printf('.%06dZ', s.ended % 1000000) AS ended,
       s.ended_by,
       CASE WHEN s.exit_signal IS NOT NULL THEN 'signal ' || s.exit_signal
            WHEN s.exit_code IS NOT NULL THEN 'exit ' || s.exit_code END AS ended_with,
       s.state,
       s.gpus,
       s.nodes,
       s.ask,
       s.boot,
       r.id AS run
FROM job_spans s
JOIN runs r ON r.id = s.run;

CREATE VIEW v_events AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', e.at / 1000000, 'unixepoch') || printf('.%06dZ', e.at % 1000000) AS time,
       o.node,
       e.code,
       e.resource,
       e.class,
       e.role,
       e.confidence,
       e.provenance,
       e.advice,
       e.synthetic,
       o.source,
       o.stream,
       o.cursor,
       o.boot,
       ifnull(e.text, o.said) AS text,
       o.said,
       e.fields,
       e.id
FROM events e
JOIN observations o ON o.id = e.observation;

CREATE VIEW v_cases AS
SELECT c.id,
       c.state,
       c.code,
       c.resource,
       c.node,
       c.class,
       c.confidence,
       c.provenance,
       c.advice,
       c.clears,
       c.synthetic,
       c.stood_down,
       strftime('%Y-%m-%dT%H:%M:%S', c.opened_at / 1000000, 'unixepoch') || printf('.%06dZ', c.opened_at % 1000000) AS opened,
       strftime('%Y-%m-%dT%H:%M:%S', c.last_seen / 1000000, 'unixepoch') || printf('.%06dZ', c.last_seen % 1000000) AS last_seen,
       strftime('%Y-%m-%dT%H:%M:%S', c.closed_at / 1000000, 'unixepoch') || printf('.%06dZ', c.closed_at % 1000000) AS closed,
       r.job,
       r.restart,
       (SELECT count(*) FROM case_events x WHERE x.case_id = c.id) AS evidence,
       c.why,
       c.fault,
       c.boot
FROM cases c
LEFT JOIN runs r ON r.id = c.run;

CREATE VIEW v_verdicts AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', v.at / 1000000, 'unixepoch') || printf('.%06dZ', v.at % 1000000) AS time,
       r.job,
       r.restart,
       v.class,
       v.confidence,
       v.culprits,
       v.victims,
       v.cases,
       v.synthetic,
       (SELECT group_concat(line.value, char(10)) FROM json_each(v.story) AS line) AS story,
       v.evidence,
       v.id
FROM verdicts v
JOIN runs r ON r.id = v.run;

CREATE VIEW v_decisions AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', d.at / 1000000, 'unixepoch') || printf('.%06dZ', d.at % 1000000) AS time,
       CASE WHEN d.node IS NOT NULL THEN 'node ' || d.node
            ELSE 'job ' || r.job || CASE WHEN r.restart > 0 THEN ' restart ' || r.restart ELSE '' END END AS subject,
       d.intent,
       d.mode,
       (SELECT gate.value ->> 'name' FROM json_each(d.gates) AS gate
        WHERE NOT gate.value ->> 'passed' ORDER BY gate.key LIMIT 1) AS held_by,
       (SELECT gate.value ->> 'why' FROM json_each(d.gates) AS gate
        WHERE NOT gate.value ->> 'passed' ORDER BY gate.key LIMIT 1) AS held_because,
       d.rule,
       d.case_id,
       d.verdict_id,
       d.synthetic,
       d.why,
       d.gates,
       d.id
FROM decisions d
LEFT JOIN runs r ON r.id = d.run;

CREATE VIEW v_actions AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', a.created / 1000000, 'unixepoch') || printf('.%06dZ', a.created % 1000000) AS wanted,
       a.kind,
       a.state,
       a.node,
       r.job,
       r.restart,
       a.case_id,
       a.decision_id,
       a.attempts,
       strftime('%Y-%m-%dT%H:%M:%S', a.settled_at / 1000000, 'unixepoch') || printf('.%06dZ', a.settled_at % 1000000) AS settled,
       strftime('%Y-%m-%dT%H:%M:%S', a.expires / 1000000, 'unixepoch') || printf('.%06dZ', a.expires % 1000000) AS expires,
       a.answer,
       a.synthetic,
       a.key
FROM actions a
LEFT JOIN runs r ON r.id = a.run;

CREATE VIEW v_tasks AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', t.at / 1000000, 'unixepoch') || printf('.%06dZ', t.at % 1000000) AS time,
       t.what,
       t.job,
       t.restart,
       t.step,
       t.rank,
       t.local,
       t.pid,
       CASE WHEN t.exit_signal IS NOT NULL THEN 'signal ' || t.exit_signal
            WHEN t.exit_code IS NOT NULL THEN 'exit ' || t.exit_code END AS ended_with,
       t.gpus,
       t.ask,
       t.node
FROM tasks t;

CREATE VIEW v_sources AS
SELECT s.source,
       s.stream,
       CASE WHEN s.blind_since IS NULL THEN 'ok' ELSE 'blind' END AS state,
       strftime('%Y-%m-%dT%H:%M:%S', s.last_ok / 1000000, 'unixepoch') || printf('.%06dZ', s.last_ok % 1000000) AS last_ok,
       strftime('%Y-%m-%dT%H:%M:%S', s.blind_since / 1000000, 'unixepoch') || printf('.%06dZ', s.blind_since % 1000000) AS blind_since,
       s.reason,
       s.hung_pid,
       s.cost_us,
       strftime('%Y-%m-%dT%H:%M:%S', s.last_try / 1000000, 'unixepoch') || printf('.%06dZ', s.last_try % 1000000) AS last_try
FROM sources s;

CREATE VIEW v_counters AS
SELECT date(c.day * 86400, 'unixepoch') AS day, c.kind, c.name, c.count
FROM counters c;

CREATE VIEW v_audit AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', a.at / 1000000, 'unixepoch') || printf('.%06dZ', a.at % 1000000) AS time,
       a.level,
       a.program,
       a.actor,
       a.kind,
       a.subject,
       a.text,
       a.synthetic
FROM audit a;
