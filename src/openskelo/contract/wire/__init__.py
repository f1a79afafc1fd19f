"""Contract version 1 as pydantic models, one file a thing. Loaded by the server and by who makes the schemas only."""
