-- Version 1: one row for each Append, in the order of commits, and what is committed beside them.

-- One row for each Append that had lines; `position` is the order of all commits, `last` the seq of the last line.
CREATE TABLE log (
  position INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  last INTEGER NOT NULL,
  lines BLOB NOT NULL
);

-- Where a run's rows are, for the rows up to `placed.position`; the few after that are found by looking at each.
CREATE TABLE places (
  run INTEGER NOT NULL,
  last INTEGER NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (run, last)
) WITHOUT ROWID;

CREATE TABLE placed (position INTEGER NOT NULL);
INSERT INTO placed (position) VALUES (0);

-- Each run's number, its last driver (`claimed` while that one holds it), and its listing (none until `status` is set).
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

-- Approvals that are open.
CREATE TABLE approvals (
  number INTEGER PRIMARY KEY,
  approval_id TEXT NOT NULL UNIQUE,
  run_id TEXT NOT NULL,
  node TEXT NOT NULL,
  document BLOB NOT NULL
);
CREATE INDEX approvals_run ON approvals (run_id);

-- Commands that wait for a run's driver; an id is never used twice.
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

-- Outputs that may be used again, by cache key.
CREATE TABLE cache (
  key TEXT PRIMARY KEY,
  stored BLOB NOT NULL
) WITHOUT ROWID;

INSERT INTO runs (run_id, name, workflow_hash, status, ending, created_at, updated_at, parent)
SELECT run_id, name, workflow_hash, status, ending, created_at, updated_at, parent FROM listings ORDER BY created_at;
INSERT INTO runs (run_id) SELECT DISTINCT run_id FROM events WHERE true ON CONFLICT (run_id) DO NOTHING;

INSERT INTO log (run, last, lines)
SELECT runs.number, events.seq, events.line FROM events JOIN runs USING (run_id) ORDER BY runs.number, events.seq;
INSERT INTO places (run, last, position) SELECT run, last, position FROM log;
UPDATE placed SET position = coalesce((SELECT max(position) FROM log), 0);

DROP TABLE events;
DROP TABLE listings;
