-- Version 0, the first layout: one row for each event. A new data dir starts here and takes every step since.

CREATE TABLE events (
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  line BLOB NOT NULL,
  PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;

CREATE TABLE listings (
  run_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  workflow_hash TEXT NOT NULL,
  status TEXT NOT NULL,
  ending TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  parent TEXT
) WITHOUT ROWID;
