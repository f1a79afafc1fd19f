-- name: open_approval
-- Adds an open approval.
INSERT INTO approvals (approval_id, run_id, node, document) VALUES (?, ?, ?, ?)
ON CONFLICT (approval_id) DO UPDATE SET run_id = excluded.run_id, node = excluded.node, document = excluded.document;

-- name: mark_approval
-- Adds an approval to the closed ones, before it is removed from the open ones.
INSERT INTO closed_approvals (approval_id, run_id, number)
SELECT approval_id, run_id, number FROM approvals WHERE approval_id = ?
ON CONFLICT (approval_id) DO NOTHING;

-- name: read_asker
-- The run that asks or asked for an approval.
SELECT run_id FROM approvals WHERE approval_id = ?1
UNION ALL SELECT run_id FROM closed_approvals WHERE approval_id = ?1;

-- name: close_approval
-- Removes an approval from the open ones.
DELETE FROM approvals WHERE approval_id = ?;

-- name: read_approvals
-- Open approvals in the order they were opened, after one of them, up to a limit.
SELECT approval_id, run_id, node, document FROM approvals WHERE number > ?1 ORDER BY number LIMIT ?2;

-- name: read_approvals_of_run
-- The same of one run.
SELECT approval_id, run_id, node, document FROM approvals WHERE run_id = ?3 AND number > ?1 ORDER BY number LIMIT ?2;

-- name: read_closed
-- Approvals that are not open any more, the one opened last first, before one of them, up to a limit.
SELECT approval_id, run_id FROM closed_approvals WHERE number < ?1 ORDER BY number DESC LIMIT ?2;

-- name: find_approval
-- The number of an approval, open or closed: the order in which they were opened.
SELECT number FROM approvals WHERE approval_id = ?1
UNION ALL SELECT number FROM closed_approvals WHERE approval_id = ?1;

-- name: read_approval
-- One open approval.
SELECT approval_id, run_id, node, document FROM approvals WHERE approval_id = ?;

-- name: queue_command
-- Queues a command for a run that exists.
INSERT INTO commands (run_id, body) SELECT run_id, ?2 FROM runs WHERE run_id = ?1;

-- name: read_commands
-- Commands queued for any of these runs, oldest first.
SELECT id, run_id, body FROM commands WHERE run_id IN (SELECT value FROM json_each(?)) ORDER BY id;

-- name: read_all_commands
-- Commands queued for any run, oldest first.
SELECT id, run_id, body FROM commands ORDER BY id;

-- name: find_command
-- A command, while it is queued.
SELECT id FROM commands WHERE id = ?;

-- name: withdraw_command
-- Removes a command that no driver will consume any more.
DELETE FROM commands WHERE id = ?;

-- name: consume_command
-- Removes a command that its driver has consumed.
DELETE FROM commands WHERE id = ? AND run_id = ?;

-- name: insert_blob
-- Adds a small value once.
INSERT INTO blobs (digest, data) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING;

-- name: read_blob
-- A small value.
SELECT data FROM blobs WHERE digest = ?;

-- name: insert_cached
-- Stores outputs for a cache key; the newest wins.
INSERT INTO cache (key, stored) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET stored = excluded.stored;

-- name: read_cached
-- The outputs kept for a cache key.
SELECT stored FROM cache WHERE key = ?;

-- name: add_note
-- Stores a document under a key that has none.
INSERT INTO notes (key, at, document) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING;

-- name: replace_note
-- Stores a document under a key; the newest wins.
INSERT INTO notes (key, at, document) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET at = excluded.at, document = excluded.document;

-- name: read_note
-- The document under a key.
SELECT document FROM notes WHERE key = ?;

-- name: read_notes
-- The documents of keys between two.
SELECT key, document FROM notes WHERE key >= ?1 AND key < ?2 ORDER BY key;

-- name: delete_note
-- Removes the document under a key.
DELETE FROM notes WHERE key = ?;

-- name: delete_notes
-- Removes the documents of keys between two that were kept before a time.
DELETE FROM notes WHERE at < ?3 AND key >= ?1 AND key < ?2;

-- name: tally_runs
-- How many runs there are in each status and ending, of those between two numbers.
SELECT status, ending, count(*) FROM runs
WHERE number > ?1 AND number <= ?2 AND created_at IS NOT NULL GROUP BY status, ending;

-- name: newest_run
-- The number of the run that was begun last.
SELECT coalesce(max(number), 0) FROM runs;

-- name: tally_waiting
-- How many approvals are open, since when the first of their runs waits, and how many commands wait.
SELECT count(*), min(runs.updated_at), (SELECT count(*) FROM commands)
FROM approvals LEFT JOIN runs ON runs.run_id = approvals.run_id;
