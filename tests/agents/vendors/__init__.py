"""Tests with the programs of the vendors, which `make test-agents` installs. `make test` does not collect them."""
