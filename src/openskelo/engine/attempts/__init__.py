"""One attempt of a run, from the driver's side: the performer of `executors` does the work.

attempt_task.py    an attempt under way: its task, and the answers for which it waits
attempt_report.py  performs one attempt and makes the command that reports it
"""
