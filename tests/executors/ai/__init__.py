"""Tests of `openskelo.executors.ai`."""
