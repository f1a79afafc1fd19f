-- Version 2: what a server asks for often, and what it keeps for itself.

-- Runs that have not ended, by status: few among many.
CREATE INDEX runs_unfinished ON runs (status, created_at, number) WHERE ending IS NULL AND status IS NOT NULL;

-- Small documents by key, for whoever keeps some beside the log (answers to requests with an Idempotency-Key).
CREATE TABLE notes (
  key TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  document BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX notes_oldest ON notes (at);

-- Which run asked and when among all, of approvals that are answered or withdrawn.
CREATE TABLE closed_approvals (
  approval_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  number INTEGER NOT NULL
) WITHOUT ROWID;
