"""The gateway between agents and their models: it has the key, counts what is used, and knows what it costs."""
