-- name: insert_lines
-- Adds one Append's lines; a position that is taken means that another process committed in between.
INSERT INTO log (position, run, last, lines) VALUES (?, ?, ?, ?);

-- name: last_position
-- The position of the newest row, and the last indexed position.
SELECT coalesce((SELECT max(position) FROM log), 0), (SELECT position FROM placed);

-- name: read_moved
-- The runs that have rows after a position.
SELECT DISTINCT run FROM log WHERE position > ?;

-- name: place_rows
-- Adds the rows after the last indexed one to the index by run.
INSERT INTO places (run, last, position)
SELECT run, last, position FROM log WHERE position > (SELECT position FROM placed) ORDER BY run, last;

-- name: move_placed
-- Sets the last indexed position to the newest.
UPDATE placed SET position = (SELECT max(position) FROM log);

-- name: read_head
-- The seq of a run's last line.
SELECT max(
  coalesce((SELECT max(last) FROM places WHERE run = ?1), 0),
  coalesce((SELECT max(last) FROM log WHERE position > (SELECT position FROM placed) AND run = ?1), 0)
);

-- name: read_placed
-- A run's rows that end after a seq and are in the index, in order, up to a limit.
SELECT log.last, log.lines FROM places CROSS JOIN log ON log.position = places.position
WHERE places.run = ? AND places.last > ? ORDER BY places.last LIMIT ?;

-- name: read_unplaced
-- The same for the rows that are not in the index yet. All of them come after the indexed rows.
SELECT last, lines FROM log
WHERE position > (SELECT position FROM placed) AND run = ? AND last > ? ORDER BY position LIMIT ?;

-- name: read_feed
-- The rows of all runs after a position, in the order of commits, up to a limit.
SELECT log.position, runs.run_id, log.last, log.lines FROM log CROSS JOIN runs ON runs.number = log.run
WHERE log.position > ? ORDER BY log.position LIMIT ?;

-- name: positions_of_run
-- The first and the last position of a run's rows.
SELECT min(position), max(position) FROM (
  SELECT places.position FROM places, runs WHERE runs.run_id = ?1 AND places.run = runs.number
  UNION ALL SELECT log.position FROM log, runs
  WHERE log.position > (SELECT position FROM placed) AND runs.run_id = ?1 AND log.run = runs.number
);

-- name: read_copy
-- Rows after a position, up to a limit. A row that was blanked because its run was deleted has no lines.
SELECT position, CASE WHEN run > 0 THEN lines END FROM log WHERE position > ? ORDER BY position LIMIT ?;

-- name: newest_position
-- The position of the newest row.
SELECT coalesce(max(position), 0) FROM log;

-- name: data_version
-- A number that changes when another connection has committed.
PRAGMA data_version;
