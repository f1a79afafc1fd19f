"""From the text of a workflow to a `Workflow` of the kernel, or to Problems with file, line and column.

    load.py        the entry: finds the kind of a file from its content and calls its loader
    text/          YAML and JSON with positions; cursors that report Problems; hints ("did you mean …")
    project/       the project file skelo.yaml: models, tools, checkers, contexts, permissions
    blocks/        blocks files: a graph of blocks with typed ports
    plan/          plans: steps with jumps over named values
    live_graph.py  nodes that are added to a running graph
    pinning.py     writes experts and reservations into the nodes, so that the workflow's hash covers them
    outline.py     the parts of a workflow as one JSON document
    estimate/      steps, tokens, cost and time of a run before it starts

Everything here is pure but for reading files. A loader reports all the mistakes that it can find in one pass, because
an author wants to fix them together.
"""
