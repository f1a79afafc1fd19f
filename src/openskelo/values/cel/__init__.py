"""CEL expressions: compiled once, evaluated in bounded time and space, reaching nothing but their variables.

The library (`cel-expr-python`) parses, checks types and evaluates. What it lacks is added around it:

    text ── library: compile ──> serialised program ──┬── syntax_tree.read ──> tree: names, fields, cost
                                                      └── limits.rewrite ──>       program that is evaluated

- It does not show its syntax tree. The serialised program does, so `syntax_tree` reads that. From the tree come the
  variables and fields an expression needs (only those are passed), unknown fields, and the estimate below.
- It bounds the number of iterations but not memory, and iterates maps in an order that changes between processes.
  `limits` estimates the bytes before each evaluation that could multiply its data, and rewrites the program so that a
  comprehension ranges over at most 1,000 items in a fixed order.
- Its reports are made for compiler authors; `messages` turns them into errors with a position and a hint.

`expression` joins these and is the module that others import. `plan_expression` builds on it for plans, whose
expressions see the roots `input`, `var`, `ctx` and `snap`.
"""
