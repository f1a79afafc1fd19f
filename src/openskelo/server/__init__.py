"""The contract over HTTP: REST, streams, security. Loaded by `skelo serve` only."""
