-- name: read_backwards
-- A run's rows before a position, the newest first, at most so many.
SELECT position, lines FROM log
WHERE position < ?2 AND position IN (
  SELECT position FROM places WHERE run = ?1
  UNION ALL SELECT position FROM log WHERE position > (SELECT position FROM placed) AND run = ?1
)
ORDER BY position DESC LIMIT ?3;

-- name: replace_lines
-- Puts shorter lines in the place of a row's.
UPDATE log SET lines = ? WHERE position = ?;

-- name: bury_newest
-- Leaves of the log's newest row only its position, which must not be given away again; `run` is nobody's number.
UPDATE log SET run = -position, last = 0, lines = x''
WHERE run = ? AND position = (SELECT max(position) FROM log);

-- name: erase_rows
-- Removes a run's rows.
DELETE FROM log WHERE position IN (
  SELECT position FROM places WHERE run = ?1
  UNION ALL SELECT position FROM log WHERE position > (SELECT position FROM placed) AND run = ?1
) AND run = ?1;

-- name: erase_places
-- Removes where a run's rows were.
DELETE FROM places WHERE run = ?;

-- name: erase_run
-- Removes a run.
DELETE FROM runs WHERE number = ?;

-- name: erase_approvals
-- Removes the questions of a run.
DELETE FROM approvals WHERE run_id = ?;

-- name: erase_closed_approvals
-- Removes which questions a run once asked.
DELETE FROM closed_approvals WHERE run_id = ?;

-- name: erase_commands
-- Removes what waits for a run.
DELETE FROM commands WHERE run_id = ?;

-- name: read_texts
-- Rows of the log after a position, at most so many.
SELECT position, lines FROM log WHERE position > ? ORDER BY position LIMIT ?;

-- name: read_texts_beside
-- Whatever else may name a blob.
SELECT document FROM approvals UNION ALL SELECT body FROM commands UNION ALL SELECT document FROM notes;

-- name: read_cache
-- All cached outputs.
SELECT key, stored FROM cache;

-- name: forget_cached
-- Removes outputs that are not to be used again.
DELETE FROM cache WHERE key = ?;

-- name: read_run_ids
-- The ids of all runs.
SELECT run_id FROM runs;

-- name: read_digests
-- The names of all small values.
SELECT number, digest, length(data) FROM blobs;

-- name: erase_blob
-- Removes a small value.
DELETE FROM blobs WHERE number = ?;
