"""Our server for agents over HTTP: the server itself, and the tools that we offer them."""
