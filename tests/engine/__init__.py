"""Tests of `openskelo.engine`."""
