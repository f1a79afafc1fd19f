"""Handlers that a project brings along.

module_loader     finds the file and the function behind `handler:`, makes the digest of that code for receipts and
                  caches, and loads Python files, again when they change
invocation        calls a function and turns every exception into AttemptFailed
project_handler   runs a handler: async Python here, sync Python in a worker, an executable by itself;
                  collects what handlers in this process print
"""
