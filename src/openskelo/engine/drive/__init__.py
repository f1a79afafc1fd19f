"""The driver: the loop that drives runs, and the state it keeps in memory.

    driver.py          the loop: decide all queued commands, append once, then start and stop work
    poller.py          the second task: the clock, and what other processes changed in the store
    driven_run.py      one run in memory: state, mailbox, attempts under way
    driven_runs.py     which runs this process drives, what it remembers of others, and when time itself moves a run
    attempt_report.py  performs one attempt and makes the command that reports it
    resolve.py         expressions of a node, evaluated between deciding and appending
    same_work.py       when the cache or a fork may reuse an earlier result
    inbox.py           commands that other processes queued in the store, as JSON
    ownership.py       claim a run and read it from its log; release it; suspend
    supervisor.py      take up runs that no process drives     handover.py  what one supervisor leaves for the next

Only the loop changes a run, one turn at a time, and an append is the only thing that makes a change visible. So there
are no locks around runs, and a crash at any moment leaves what the log says.
"""
