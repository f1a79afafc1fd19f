"""Text to Workflow, or to a list of Problems with file, line and column."""
