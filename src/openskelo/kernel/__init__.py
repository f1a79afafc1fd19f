"""The kernel: pure code that decides what happens in a run. It has no clock, no randomness and no I/O.

    decide(run, command) -> events     the policy; may refuse; changes nothing
    apply(run, event)                  changes the state; never refuses, never chooses
    follow(run, at) -> event           what happens next by itself: start a node, end the run
    resolutions, wake_at, expired      what the run waits for: values, a moment, overdue approvals (in `decide`)

A command carries its time and everything computed outside; events are the facts that the log keeps. The state is the
sum of its events, so recovery is: apply the stored events, then do what is pending. Because nothing here waits or
reads, the same code runs in the engine, in the verifier of a record, and in a seeded simulation.

    commands, events, outcome    what comes in, what is stored; what an executor reports of an attempt
    run, definition              the state of a run; what its workflow consists of
    workflow_codec               a workflow as JSON: the form that a run pins by its hash
    decide, follow, apply/       the three functions above
    answers, reports, calls      parts of `decide`: answers to approvals, outcomes of attempts, calls of an agent
    system_approvals             the approvals that the kernel itself requests
    budget                       what an attempt may need is reserved, what it has used is counted
    receipts                     the hashable record of each attempt
    flows/                       the schedulers of the three kinds of workflow
    ids, json                    ids that are derived from what they name; the types of JSON values
"""
