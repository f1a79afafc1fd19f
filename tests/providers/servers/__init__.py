"""Servers on the loopback address that speak the protocols of remote models."""
