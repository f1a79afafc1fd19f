"""Tests of `openskelo.gates`."""
