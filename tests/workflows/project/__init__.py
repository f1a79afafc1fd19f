"""Tests of `openskelo.workflows.project`."""
