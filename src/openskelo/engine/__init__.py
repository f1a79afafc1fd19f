"""The shell: drives runs, starts the work they owe, tells the followers."""
