"""Coding agents: unmodified programs that speak the Agent Client Protocol, at work in a workspace of their own.

    executors/agent_turns ── SessionRequest ──> sessions    one program and conversation a node, kept a while
                                                   │
                                                   ├ acp            the program; the protocol: prompt in, turn out
                                                   ├ permissions    every call is allowed, denied, or asked about
                                                   ├ sandbox        what the program can reach at all
                                                   ├ workspace      the files, snapshots, diffs
                                                   ├ gateway        the way to the model: it has the key and counts
                                                   └ server         what it reaches of us over HTTP: tools, hook, model
              programs, profiles, role_templates    what each provider's program is, how it starts, what it is told

An agent is one more executor: it gets a request and returns outputs, and the kernel decides what follows. Nothing here
reads the log or writes an event.
"""
