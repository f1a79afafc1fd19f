"""Tests of `openskelo.workflows.text`."""
