"""The same chain on other engines, in processes of their own: `python -m benchmarks.peers.NAME_chain DIR STEPS SIZE`.

They run in `.venv-peers` (`make bench-peers`), import nothing of ours, and print `{"seconds": …}` for the whole chain.
"""
