"""The engine: takes commands for runs, drives them, and starts the work that they owe.

    api.py          what the command line and the server see (`Engine`), and `open_engine`
    local.py        the local engine: this process drives runs of one data dir
    blocking.py     a whole run in one call, without asyncio
    run_start.py    a new run: checked, pinned (pinning.py), durable
    commands/       where a command enters: checked, and routed to the run's driver
    drive/          where a command is decided, made durable, and leads to work
    resolving/      the expressions of a node, evaluated before its visit starts
    attempts/       one attempt: the task that performs it, and the command that reports it
    takeover/       which process drives a run: claims, and runs that a dead process has left
    waiting.py      show, wait for and follow a run, wherever it is driven
    forking.py      a new run that keeps part of the work of another one
    planning.py     a run in which a model writes a plan
    health.py       what `skelo doctor` checks

The way of a command: `local.Engine` method -> `CommandRouter` -> mailbox of the `DrivenRun` -> `Driver` decides,
appends, applies -> attempts start -> each reports by a command to the same mailbox. Readers follow the log.
"""
