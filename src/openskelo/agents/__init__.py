"""Coding agents: unmodified programs that speak the Agent Client Protocol, at work in a workspace of their own.

    executors/kinds/agent ── SessionRequest ──> sessions   one program and one conversation for each node, kept a while
                                                   │
              workspace                        process     its pipes, its own process group, its end
              the files, snapshots, diffs      acp_client  the protocol: prompt in, turn out
                                               session_server  what it reaches of us over HTTP: toolbox (our tools)
              programs, profiles               what each provider's program is, and how it is started

An agent is one more executor: it gets a request and returns outputs, and the kernel decides what follows. Nothing here
reads the log or writes an event.
"""
