"""The values of a run, as its nodes and its readers see them.

node_inputs        the inputs of a node, a turn or a step, and the request of an attempt
approval_context   what a person sees of the work that an approval is about
"""
