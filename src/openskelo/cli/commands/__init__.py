"""The commands of `skelo`, one file each: `add_arguments(parser)`, and `run(args)`, which returns the exit code.

A command parses what the user typed, calls an engine or a reader of the log, and prints. `cli/main.py` has the table of
commands and imports the one that was typed, so that `skelo --help` loads none of them.
"""
