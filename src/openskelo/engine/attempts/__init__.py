"""One attempt of a run, from the driver's side: the performer of `executors` does the work.

    attempt_tasks.py     starts and stops the asyncio tasks of a driver's attempts
    attempt_task.py      an attempt under way: its task, and the answers for which it waits
    attempt_report.py    performs one attempt and makes the command that reports it

A task never changes a run. It ends by putting one command into the run's mailbox, which the driver decides like every
other command. So an attempt that is late, or reports twice, is refused by the same rules.
"""
