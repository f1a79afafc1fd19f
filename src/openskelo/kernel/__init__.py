"""The kernel: pure code that decides what happens in a run. It has no clock, no randomness and no I/O.

    decide(run, command) -> events     the policy; may refuse; changes nothing
    apply(run, event)                  changes the state; never refuses, never chooses
    follow(run, at) -> event           what happens next by itself: start a node, end the run
    resolutions, wake_at, expired      what the run waits for: values, a moment, overdue approvals (in `decide`)

A command (`commands`) carries its time and everything computed outside; events (`events`) are the facts that the log
keeps. The state (`run`) is the fold of the log, so recovery is: apply the stored events, then do what is pending.

`definition` is what a workflow consists of and which node waits for which, `workflow_codec` its JSON form.
`flows` has the schedulers of the three kinds of workflow. `reports` and `answers` are parts of `decide` that are large
enough for a module of their own. `receipts` builds the hashable record of each attempt.
"""
