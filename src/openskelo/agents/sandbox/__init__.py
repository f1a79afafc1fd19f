"""The bounds of what an agent's process can reach: bubblewrap or Landlock, and the proxy to named hosts."""
