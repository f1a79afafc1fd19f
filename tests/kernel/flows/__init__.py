"""Tests of `openskelo.kernel.flows`."""
