"""A plan as blocks and blocks as a plan, where the other form comes to the same ending and result."""
