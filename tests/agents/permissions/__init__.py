"""Coding agents: a scripted program over the real protocol, and a real one."""
