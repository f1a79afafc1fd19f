"""Commands of callers: checked, and brought to the process that drives the run.

    input_checks.py      inputs, answers and arguments of callers, checked completely before they become a command
    graph_commands.py    changes of a live graph
    command_router.py    the run is driven here: into its mailbox; elsewhere: into the store's inbox, until it is taken
    command_codec.py     commands as JSON, for that inbox

Checking happens in the process of the caller, who can still be told what is wrong. The driver only decides whether the
run's state allows the command.
"""
