"""Tests of `openskelo.workflows.estimate`."""
