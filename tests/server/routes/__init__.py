"""Tests of `openskelo.server.routes`."""
