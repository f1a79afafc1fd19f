"""Read logs: show, list, verify, replay, compare, export and prune runs.

`reader.HistoryReader` is the entry for all of them. Its methods are implemented by one module each:

    loading        fold a log into a run, or walk through its events
    run_document   the document of `skelo show`            listing    a run's row and open approvals in listings
    verify         is the record whole and unaltered?      replay     execute pure steps again, compare hashes
    compare        two runs, into a comparison_result      export     one file that verifies anywhere; signing
    prune          payloads of old runs removed            run_estimate   what a run would take, from past runs

Nothing here drives a run or imports the engine: the engine is a reader that also drives.
"""
