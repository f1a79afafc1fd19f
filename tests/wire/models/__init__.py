"""Tests of `openskelo.wire.models`."""
