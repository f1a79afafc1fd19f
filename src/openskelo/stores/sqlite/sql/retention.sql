-- name: read_backwards
-- A run's rows before a position, the newest first, up to a limit.
SELECT position, lines FROM log
WHERE position < ?2 AND position IN (
  SELECT position FROM places WHERE run = ?1
  UNION ALL SELECT position FROM log WHERE position > (SELECT position FROM placed) AND run = ?1
)
ORDER BY position DESC LIMIT ?3;

-- name: replace_lines
-- Puts shorter lines in the place of a row's.
UPDATE log SET lines = ? WHERE position = ?;

-- name: blank_newest_row
-- Blanks the log's newest row if it is the run's: its position must not be used again. No run has a negative number.
UPDATE log SET run = -position, last = 0, lines = x''
WHERE run = ? AND position = (SELECT max(position) FROM log);

-- name: delete_rows
-- Removes a run's rows.
DELETE FROM log WHERE position IN (
  SELECT position FROM places WHERE run = ?1
  UNION ALL SELECT position FROM log WHERE position > (SELECT position FROM placed) AND run = ?1
) AND run = ?1;

-- name: delete_places
-- Removes where a run's rows were.
DELETE FROM places WHERE run = ?;

-- name: delete_run
-- Removes a run.
DELETE FROM runs WHERE number = ?;

-- name: delete_approvals
-- Removes the open approvals of a run.
DELETE FROM approvals WHERE run_id = ?;

-- name: delete_closed_approvals
-- Removes the closed approvals of a run.
DELETE FROM closed_approvals WHERE run_id = ?;

-- name: delete_commands
-- Removes the commands queued for a run.
DELETE FROM commands WHERE run_id = ?;

-- name: read_texts
-- Rows of the log after a position, up to a limit.
SELECT position, lines FROM log WHERE position > ? ORDER BY position LIMIT ?;

-- name: read_texts_beside
-- Everything else that may name a blob.
SELECT document FROM approvals UNION ALL SELECT body FROM commands UNION ALL SELECT document FROM notes;

-- name: read_cache
-- All cached outputs.
SELECT key, stored FROM cache;

-- name: delete_cached
-- Removes outputs that are not to be used again.
DELETE FROM cache WHERE key = ?;

-- name: read_digests
-- The names of all small values.
SELECT number, digest, length(data) FROM blobs;

-- name: delete_blob
-- Removes a small value.
DELETE FROM blobs WHERE number = ?;
