"""Tests of `openskelo.values.schema`."""
