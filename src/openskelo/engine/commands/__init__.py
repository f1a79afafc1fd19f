"""Commands of callers: checked, and brought to the process that drives the run.

command_router.py   the run is driven here: into its mailbox; elsewhere: into the store's inbox, until it is taken
input_checks.py     inputs, answers and arguments of callers, checked completely before they become a command
graph_commands.py   changes of a live graph
"""
