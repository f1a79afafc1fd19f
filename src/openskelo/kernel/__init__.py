"""The pure heart: commands in, facts out. No clock, no random, no I/O, no third-party import."""
