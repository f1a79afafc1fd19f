"""Tests of `openskelo.workflows.blocks`."""
