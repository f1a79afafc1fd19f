-- The tables of a data dir of version 1.

-- One row for each Append that had lines. `position` is the order of all commits, `last` the seq of the last line.
CREATE TABLE log (
  position INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  last INTEGER NOT NULL,
  lines BLOB NOT NULL
);

-- An index of the log by run, which covers the rows up to `placed.position`. Readers scan the few rows after that.
-- It is written in batches: an ordinary index would add a random page to every commit.
CREATE TABLE places (
  run INTEGER NOT NULL,
  last INTEGER NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (run, last)
) WITHOUT ROWID;

CREATE TABLE placed (position INTEGER NOT NULL);
INSERT INTO placed (position) VALUES (0);

-- Each run's number, its last driver (`claimed` is 1 while that driver holds it), and its listing.
-- A run that was claimed and never listed has no `status`.
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  driver TEXT,
  claimed INTEGER NOT NULL DEFAULT 0,
  name TEXT,
  workflow_hash TEXT,
  status TEXT,
  ending TEXT,
  created_at INTEGER,
  updated_at INTEGER,
  parent TEXT
);
CREATE INDEX runs_newest ON runs (created_at, number);
-- Few of many runs have not ended; listings of one status use this index.
CREATE INDEX runs_unfinished ON runs (status, created_at, number) WHERE ending IS NULL AND status IS NOT NULL;

-- Open approvals. A number is never used twice.
CREATE TABLE approvals (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  approval_id TEXT NOT NULL UNIQUE,
  run_id TEXT NOT NULL,
  node TEXT NOT NULL,
  document BLOB NOT NULL
);
CREATE INDEX approvals_run ON approvals (run_id);

-- Answered and withdrawn approvals: the run that asked, and the number that the approval had while it was open.
CREATE TABLE closed_approvals (
  approval_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX closed_approvals_newest ON closed_approvals (number);
CREATE INDEX closed_approvals_run ON closed_approvals (run_id);

-- Commands queued for a run's driver. An id is never used twice.
CREATE TABLE commands (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL,
  body BLOB NOT NULL
);

-- Small values by their digest.
CREATE TABLE blobs (
  number INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  data BLOB NOT NULL
);

-- Outputs that later runs may use again, by cache key.
CREATE TABLE cache (
  key TEXT PRIMARY KEY,
  stored BLOB NOT NULL
) WITHOUT ROWID;

-- Small documents by key (for example the answers to requests with an Idempotency-Key).
CREATE TABLE notes (
  key TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  document BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX notes_oldest ON notes (at);
