"""Tests of `openskelo.executors.processes`."""
