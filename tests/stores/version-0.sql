-- A data dir's database as version 0 left it: two runs, one of them ended.
CREATE TABLE events (run_id TEXT NOT NULL, seq INTEGER NOT NULL, line BLOB NOT NULL, PRIMARY KEY (run_id, seq)) WITHOUT ROWID;
CREATE TABLE listings (run_id TEXT PRIMARY KEY, name TEXT NOT NULL, workflow_hash TEXT NOT NULL, status TEXT NOT NULL, ending TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, parent TEXT) WITHOUT ROWID;
INSERT INTO events VALUES
  ('aaaaaaaa-0000-4000-8000-000000000001', 1, CAST('{"seq":1}' AS BLOB)),
  ('aaaaaaaa-0000-4000-8000-000000000001', 2, CAST('{"seq":2,"text":"é"}' AS BLOB)),
  ('aaaaaaaa-0000-4000-8000-000000000001', 3, CAST('{"seq":3}' AS BLOB)),
  ('aaaaaaaa-0000-4000-8000-000000000002', 1, CAST('{"seq":1}' AS BLOB));
INSERT INTO listings VALUES
  ('aaaaaaaa-0000-4000-8000-000000000001', 'draft', 'sha256:01', 'completed', 'ok', 1700000001000, 1700000001500, NULL),
  ('aaaaaaaa-0000-4000-8000-000000000002', 'publish', 'sha256:02', 'running', NULL, 1700000002000, 1700000002500, 'aaaaaaaa-0000-4000-8000-000000000001');
PRAGMA user_version = 1;
