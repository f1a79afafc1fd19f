"""The conformance suite: what every store must do, as checks that run against any implementation of `api.Store`.

A check is an async function that takes `open_store`, which opens one more store over the same data, as another process
would. It fails by raising AssertionError, and closes what it opened. The data must be empty when a check begins.

    event_log          EventLog                    blobs_and_notes   Blobs, Notes
    event_files        EventFiles                  retention         Retention
    listings           Listings, Approvals         fixtures          Appends, rows and stores for the checks
    inbox_and_claims   CommandInbox, Claims

`openskelo.testing.STORE_CHECKS` are these checks; `docs/extending/store.md` shows how a new store runs them.
"""

from __future__ import annotations

from openskelo.stores.conformance import (
    blobs_and_notes,
    event_files,
    event_log,
    fixtures,
    inbox_and_claims,
    listings,
    retention,
)

CHECKS: tuple[fixtures.Check, ...] = (
    *event_log.CHECKS,
    *event_files.CHECKS,
    *listings.CHECKS,
    *inbox_and_claims.CHECKS,
    *blobs_and_notes.CHECKS,
    *retention.CHECKS,
)
