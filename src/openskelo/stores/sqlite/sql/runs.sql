-- name: find_run
-- A run's number.
SELECT number FROM runs WHERE run_id = ?;

-- name: insert_run
-- A new run that a driver claims before anything is appended to it.
INSERT INTO runs (run_id, driver, claimed) VALUES (?, ?, 1);

-- name: begin_run
-- A new run under a number that is chosen for it, with its listing if it has one.
INSERT INTO runs (number, run_id, driver, claimed, name, workflow_hash, status, ending, created_at, updated_at, parent)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: update_listing
-- Replaces a run's listing; its `created_at` stays, and a run that has ended is no longer claimed.
UPDATE runs SET name = ?2, workflow_hash = ?3, status = ?4, ending = ?5, updated_at = ?7, parent = ?8,
  claimed = CASE WHEN ?5 IS NULL THEN claimed ELSE 0 END
WHERE number = ?1 AND created_at IS NOT NULL AND ?6 IS NOT NULL;

-- name: add_listing
-- The first listing of a run that was there without one.
UPDATE runs SET name = ?2, workflow_hash = ?3, status = ?4, ending = ?5, created_at = ?6, updated_at = ?7, parent = ?8,
  claimed = CASE WHEN ?5 IS NULL THEN claimed ELSE 0 END
WHERE number = ?1;

-- name: read_listing
-- One run's listing.
SELECT run_id, name, workflow_hash, status, ending, created_at, updated_at, parent
FROM runs WHERE run_id = ? AND created_at IS NOT NULL;

-- name: read_listings
-- Listings, newest first, those before a place in that order, which have a text in their name or id.
SELECT run_id, name, workflow_hash, status, ending, created_at, updated_at, parent
FROM runs WHERE created_at IS NOT NULL AND (created_at, number) < (?1, ?2)
  AND (?3 IS NULL OR instr(lower(name), ?3) OR instr(run_id, ?3))
ORDER BY created_at DESC, number DESC LIMIT ?4 OFFSET ?5;

-- name: read_ended_listings
-- The same of one status that only runs have which have ended.
SELECT run_id, name, workflow_hash, status, ending, created_at, updated_at, parent
FROM runs WHERE created_at IS NOT NULL AND (created_at, number) < (?1, ?2)
  AND (?3 IS NULL OR instr(lower(name), ?3) OR instr(run_id, ?3)) AND status = ?6
ORDER BY created_at DESC, number DESC LIMIT ?4 OFFSET ?5;

-- name: read_unfinished_listings
-- The same of one status that only runs have which have not ended: their own index finds them among many.
SELECT run_id, name, workflow_hash, status, ending, created_at, updated_at, parent
FROM runs INDEXED BY runs_unfinished WHERE status = ?6 AND ending IS NULL AND created_at IS NOT NULL
  AND (created_at, number) < (?1, ?2) AND (?3 IS NULL OR instr(lower(name), ?3) OR instr(run_id, ?3))
ORDER BY created_at DESC, number DESC LIMIT ?4 OFFSET ?5;

-- name: read_listings_named
-- Listings of runs whose ids lie between two, each with its number.
SELECT run_id, name, workflow_hash, status, ending, created_at, updated_at, parent, number
FROM runs WHERE run_id >= ?1 AND run_id < ?2 AND created_at IS NOT NULL;

-- name: find_listing
-- A run'''s place in the order of listings.
SELECT created_at, number FROM runs WHERE run_id = ? AND created_at IS NOT NULL;

-- name: read_driver
-- A run'''s last driver, and whether it still claims the run.
SELECT number, driver, claimed FROM runs WHERE run_id = ?;

-- name: claim_run
-- Makes a driver the holder of a run.
UPDATE runs SET driver = ?2, claimed = 1 WHERE number = ?1;

-- name: release_run
-- Gives up a driver's claim.
UPDATE runs SET claimed = 0 WHERE run_id = ? AND driver = ?;
