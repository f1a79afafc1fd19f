"""Tests of `openskelo.executors.handlers`."""
