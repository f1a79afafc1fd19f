"""Tests of `openskelo.history`."""
