"""Model APIs, one file each, no policy."""
