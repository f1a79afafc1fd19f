"""Tests of `openskelo.executors.inputs`."""
