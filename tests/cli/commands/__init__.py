"""Tests of `openskelo.cli.commands`."""
