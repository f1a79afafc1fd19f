"""Becomes another program that dies with the engine: `python -m openskelo.executors.bound PID PROGRAM ARG…`.

For children that a library starts for us, which cannot be told to do this themselves.
"""

from __future__ import annotations

import os
import sys

from openskelo.executors import mortal


def main() -> None:
    """Bind to the parent PID, then become the program; 127 when there is none."""
    parent, program, *rest = sys.argv[1:]
    bind = mortal.bound_to(int(parent))
    if bind is not None:
        bind()
    try:
        os.execvp(program, [program, *rest])  # noqa: S606 -- an argument vector that the project's author wrote
    except OSError as error:
        sys.stderr.write(f"{program}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
