"""Work in, outcome out: everything that touches the world on behalf of a node."""
