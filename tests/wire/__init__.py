"""Tests of `openskelo.wire`."""
