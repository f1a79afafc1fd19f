"""Resolve the expressions of a node before its visit starts.

resolve.py     whether a node runs, on which inputs and items, with which cached result, and what a person is asked
same_work.py   when the cache or a fork may reuse an earlier result
"""
