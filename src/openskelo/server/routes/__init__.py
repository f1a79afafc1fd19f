"""The REST routes, one file per resource.

    runs         list, start, show, change, delete; pause, resume, cancel, fork
    graph        the nodes and edges of a run, changes of a live graph, messages to nodes
    record       events, receipts, artifacts, verification, comparison
    approvals    open and answered approvals, and answering
    workflows    the files of the project, their Problems, what a run would take
    service      health, version, the caller's session

A route holds no state and decides nothing. It reads the request strictly (`rest`), passes a command to the engine or
reads from the log, and returns JSON. The guard has checked before who the caller is, and each route declares the role
that it takes.
"""
