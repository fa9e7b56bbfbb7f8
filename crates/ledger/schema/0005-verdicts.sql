-- Version 5: what attribution tells of a run beside its verdict.
-- told, discounted: JSON lists of {time, node, code, text, provenance, event}, the latter with count and why around it.
-- blind: a JSON list of sentences.
ALTER TABLE verdicts ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE verdicts ADD COLUMN code TEXT NOT NULL DEFAULT '';
ALTER TABLE verdicts ADD COLUMN resource TEXT;
ALTER TABLE verdicts ADD COLUMN trusted INTEGER NOT NULL DEFAULT 0 CHECK (trusted IN (0, 1));
ALTER TABLE verdicts ADD COLUMN told TEXT NOT NULL DEFAULT '[]';
ALTER TABLE verdicts ADD COLUMN discounted TEXT NOT NULL DEFAULT '[]';
ALTER TABLE verdicts ADD COLUMN blind TEXT NOT NULL DEFAULT '[]';
CREATE INDEX verdicts_at ON verdicts (at);
