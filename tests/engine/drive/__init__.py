"""Tests of `openskelo.engine.drive`."""
