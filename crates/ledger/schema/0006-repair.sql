-- Version 6: what was done about a case, and which cases keep the node out, without a walk through all actions.
CREATE INDEX actions_case ON actions (case_id) WHERE case_id IS NOT NULL;
CREATE INDEX actions_out ON actions (kind, settled_at) WHERE state = 'done' AND kind IN ('drain', 'resume');
