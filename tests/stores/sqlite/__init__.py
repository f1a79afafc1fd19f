"""Tests of `openskelo.stores.sqlite`."""
