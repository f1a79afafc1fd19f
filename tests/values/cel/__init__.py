"""Tests of `openskelo.values.cel`."""
