"""Contract version 1 as pydantic models, one file per kind of document. Only the server and the
generator of the schemas load this package."""
