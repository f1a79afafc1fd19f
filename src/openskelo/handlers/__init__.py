"""Deterministic handlers: the built-in ones (`builtin/`, one file each), and the context that every handler gets.

A handler gets a `context.Context` (inputs, config, idempotency key, secrets, log) and returns its outputs. Built-in
handlers also get a `builtin.Access`: what the project allows, and the workspaces of agents. Several handlers share the
other modules: `file_path` and `file_access` for files, `http_syntax` and `http_exchange` for HTTP, `secrets`, and
`blocking_call` for functions that block. `project_registry` holds what a project registers for its plans, as values.
"""
