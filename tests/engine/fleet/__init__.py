"""Several processes of one engine."""
