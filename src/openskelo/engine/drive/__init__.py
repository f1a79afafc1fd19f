"""The driver: the loop that drives runs, and the state it keeps in memory.

    driver.py       the loop: decide all queued commands, append once, then start and stop work
    poller.py       the second task: the clock, and what other processes changed in the store
    driven_run.py   one run in memory: state, mailbox, attempts under way
    driven_runs.py  which runs this process drives, why it dropped others, and when time itself moves a run
    inbox.py        commands that other processes queued in the store

Only the loop changes a run, one turn at a time, and an append is the only thing that makes a change visible. So there
are no locks around runs, and a crash at any moment leaves what the log says.
"""
