"""Permissions: whether an agent may make a call (allow, ask a person, deny).

    policy     a pure function of one call and the project's rules: deny wins over ask, ask over allow
    rulings    the session's side: takes each call from a hook or from the protocol, applies the policy, asks a person

The decision is pure so that it can be tested and explained without an agent. What waits, remembers or asks is in
`rulings`. A pattern for commands is a convenience and no boundary, because a shell can write a command in many
ways; the boundary is the sandbox (`agents/sandbox`).
"""
