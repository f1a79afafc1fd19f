"""Tests of `openskelo.providers.kinds`."""
