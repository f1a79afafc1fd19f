"""Worker processes for the sync Python handlers of a project.

A sync handler may block, leak, crash or call `os._exit`, so it does not run in the engine's process. A few warm workers
run handlers, one call at a time each (`worker_pool`, `worker`); both sides use the messages of `worker` on a socket.
Workers end with the engine, whichever way that ends, and so does everything they have started. `programs.child_process`
does the same for programs that a library starts for us.
"""
