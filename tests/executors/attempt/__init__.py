"""Tests of `openskelo.executors.attempt`."""
