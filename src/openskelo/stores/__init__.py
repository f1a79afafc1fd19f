"""Storage of runs: the log, everything that is committed with it, and large values.

`api` has the Protocols of a store, and `factory.open_store` opens the store of a project. The rest of the program
knows no more than these two.

    driver  --append(expected seq)-->  EventLog  --read_events, read_feed-->  readers, server, webhooks
    other processes  --queue_command-->  CommandInbox  --list_commands-->  driver

One process drives a run (`Claims`), and only the driver appends to its log. The expected sequence number is the fence:
an Append that does not continue its run is refused. What belongs together (lines, listing, approvals, small blobs,
consumed commands) is one commit; large values are written as blobs before the event that refers to them.

Two stores implement this: `sqlite/`, the default, and `memory`, for tests. `conformance/` holds every store to it.
`delivery_queue` is not part of a store: it is the queue of webhooks, in a database of its own.
"""
