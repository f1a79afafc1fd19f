"""Tests of `openskelo.record`."""
