"""Decide which process drives a run.

    ownership.py       claim a run and read it from its log; release it; suspend
    claim_releaser.py  give up claims as soon as the store can
    supervisor.py      take up the runs that no process drives
    handover.py        what one supervisor leaves for the next

The store's claim decides: a run has one driver at a time, and the claim of a process that died is free.
"""
