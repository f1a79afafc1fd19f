"""Tests of `openskelo.engine.commands`."""
