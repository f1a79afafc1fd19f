"""Tests of `openskelo.handlers.builtin`."""
