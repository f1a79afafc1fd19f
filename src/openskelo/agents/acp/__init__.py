"""The Agent Client Protocol (ACP): an agent's program under way, the client that speaks with it, and its transcript."""
