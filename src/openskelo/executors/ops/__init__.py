"""Performs the steps of plans: prepares the op of a step, and gives it what it needs of the attempt.

    plan_step.py     a step of a plan becomes work: its op runs, and the op's value becomes the step's outputs
    step_context.py  what the op may use meanwhile: its arguments, experts, tools, handlers
    contexts.py      what `ctx:` and `snap:` names stand for, read before the run starts

The ops themselves are in `openskelo.ops`, one file each. They know nothing of attempts; this package connects the two.
"""
