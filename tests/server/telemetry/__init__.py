"""Tests of `openskelo.server.telemetry`."""
