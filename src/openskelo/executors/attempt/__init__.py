"""One attempt, from its request to a judged outcome. `performer` is the way through and calls the other modules.

    performer          inputs, pre gates, the work, the contract, post gates; a failure is an outcome, too
    running_attempt    the request, the attempt in progress, and its artifacts: log, prompts, refused answers
    budget_claims      what the attempt has used, and what it may still use
    turn_meter         the same for an agent, whose calls to a model pass through the gateway one by one
    lazy_copies        inputs that the items of a foreach share, copied when they are read
    port_contract      its inputs, hashed, checked and copied; whether values keep the contract of a node's ports
    descriptor_wait    waits and repeats the work when the process has no file descriptor left

An outcome is judged before it is reported: outputs that break the contract are a failed attempt, never stored values.
Failures of the machine (no descriptors left) are kept apart from failures of the work, because only the latter count
against the retries of a node.
"""
