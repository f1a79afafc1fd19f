"""Permissions for the calls of an agent: the policy, and the session that rules on each call or asks a person."""
