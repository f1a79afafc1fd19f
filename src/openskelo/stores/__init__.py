"""Storage of runs: the log, everything that is committed with it, and large values.

`api` has the Protocols of a store, and `factory.open_store` opens the store of a project. The rest of the program
knows no more than these two.

    driver  --append(expected seq)-->  EventLog  --read_events, read_feed-->  readers, server, webhooks
    other processes  --queue_command-->  CommandInbox  --list_commands-->  driver

One process drives a run (`Claims`), and only the driver appends to its log. The expected sequence number is the fence:
an Append that does not continue its run is refused. What belongs together (lines, listing, approvals, small blobs,
consumed commands) is one commit; large values are written as blobs before the event that refers to them.

    sqlite/, memory    the two stores: the default, and one for tests
    conformance/       the checks that every store must pass
    guarded            what the engine puts around a store, so that it raises only errors of ours
    blobs              values too large for an event, by the digest of their bytes
    process_locks      which processes are alive: each holds an operating-system lock
    storage_errors     errors of SQLite and the file system, as errors that say what to do
    delivery_queue     no part of a store: the queue of webhooks and traces, in a database of its own
"""
