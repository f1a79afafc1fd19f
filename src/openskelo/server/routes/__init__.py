"""The REST routes, one file per resource. They hold no state; `context` gives them the parts of the server."""
