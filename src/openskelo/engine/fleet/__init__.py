"""Other processes that drive runs for one engine, so that many runs at once use more than one core."""
