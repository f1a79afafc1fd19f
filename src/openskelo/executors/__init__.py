"""Performs the work of nodes: an attempt's request in, its outcome out. All I/O on behalf of a node happens here.

The driver hands a request to the performer. The performer prepares the inputs, evaluates the gates, calls the executor
for the kind of work, and returns an outcome, which the driver reports to the kernel as a command:

    driver ── request ──> attempt/performer ── inputs, pre gates ──> executor ── outputs ──> contract, post gates
       ^                                                                                            │
       └───────────────────────────────────── outcome ──────────────────────────────────────────────┘

    api                     the Executor Protocol
    attempt/, inputs/       one attempt; the values of earlier nodes as inputs of this one
    kinds/                  one executor per kind of work
    agent_turns/            an agent's attempt: its workspace, its session, its turns
    ai/, ops/               model calls; the ops of plans
    gate_evaluation         the gates of a node
    handlers/, processes/   project handlers, and worker processes for the sync Python ones
    mcp_servers             the MCP servers of a project
    artifacts, stored_values   kept files, and values too large for an event

An executor never reads the store and never writes an event.
"""
