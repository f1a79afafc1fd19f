"""OpenSkelo: a backbone for AI work."""
