"""Tests of `openskelo.server.stream`."""
