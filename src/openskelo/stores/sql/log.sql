-- name: insert_lines
-- Adds one Append's lines; a position that is taken means that somebody else committed in between.
INSERT INTO log (position, run, last, lines) VALUES (?, ?, ?, ?);

-- name: last_position
-- The position of the newest row and the position up to which rows are placed.
SELECT coalesce((SELECT max(position) FROM log), 0), (SELECT position FROM placed);

-- name: read_moved
-- The runs that have rows after a position.
SELECT DISTINCT run FROM log WHERE position > ?;

-- name: place_rows
-- Notes where the rows are that came since the last time.
INSERT INTO places (run, last, position)
SELECT run, last, position FROM log WHERE position > (SELECT position FROM placed) ORDER BY run, last;

-- name: move_placed
-- Says that every row up to the newest has its place.
UPDATE placed SET position = (SELECT max(position) FROM log);

-- name: read_head
-- The seq of a run's last line.
SELECT max(
  coalesce((SELECT max(last) FROM places WHERE run = ?1), 0),
  coalesce((SELECT max(last) FROM log WHERE position > (SELECT position FROM placed) AND run = ?1), 0)
);

-- name: read_placed
-- A run's rows that end after a seq and have a place, in order, at most so many.
SELECT log.last, log.lines FROM places CROSS JOIN log ON log.position = places.position
WHERE places.run = ? AND places.last > ? ORDER BY places.last LIMIT ?;

-- name: read_unplaced
-- The same of the rows that have no place yet, which all come after those that have.
SELECT last, lines FROM log
WHERE position > (SELECT position FROM placed) AND run = ? AND last > ? ORDER BY position LIMIT ?;

-- name: read_feed
-- The rows of all runs after a position, in the order of commits, at most so many.
SELECT log.position, runs.run_id, log.last, log.lines FROM log CROSS JOIN runs ON runs.number = log.run
WHERE log.position > ? ORDER BY log.position LIMIT ?;

-- name: newest_position
-- The position of the newest row.
SELECT coalesce(max(position), 0) FROM log;

-- name: data_version
-- A number that changes when another connection has committed.
PRAGMA data_version;
