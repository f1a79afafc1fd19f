"""Plans: a text of steps to a Workflow whose steps are its nodes, checked along every path before anything starts."""
