"""Run external programs: an argument vector, never a shell, under a time limit, with nothing left running afterwards.

`program.run` starts one program and waits for its end. `child_process` and `descendants` make sure that the program
and the processes it started end with it, and that they end when this process is killed. `time_limit` cancels work that
takes too long. `git` reads repositories by the `git` program, `scratch_copy` copies a working tree.

This package is below `gates`, `ops` and `executors`, because a gate (`command`), a checker (`tests_pass`) and a tool
(`git-diff`) run programs, and each of them is one file that both the loader and the executors read.
"""
