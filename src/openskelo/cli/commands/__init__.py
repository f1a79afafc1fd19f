"""One file per command of `skelo`: `add_arguments(parser)` and `run(args) -> int`."""
