"""The wire: envelopes, the hash chain, and the projections that readers see."""
