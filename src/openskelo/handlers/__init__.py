"""The built-in deterministic handlers, one file each."""
