"""The workspace of an agent: the folder, how it is made, what of it the agent may reach, how changes are applied."""
