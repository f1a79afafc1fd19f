"""Schedulers: which node of a run is entered next.

There are three kinds of workflow. `dag` schedules blocks, which wait for their sources; `plan` schedules the steps of a
plan, one at a time; `graph` schedules the turns of a live graph, whose nodes work on what is in their inboxes.
`scheduler` holds the Protocol that they implement, and chooses the scheduler of a run. `visits` holds what they share:
how a visit of a node begins, waits and fails.
"""
