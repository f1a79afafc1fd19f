"""Tests of `openskelo.programs`."""
