"""Tests of `openskelo.ops`."""
