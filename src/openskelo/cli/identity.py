"""Who gives an order from this terminal: the operating system's user, which approvals record."""

from __future__ import annotations

import os
import pwd

from openskelo.kernel import answers


def user() -> str:
    """The name of the user this process runs as, by the system's own account, not by an environment variable.

    `uid:N` where there is none, or it is the clock's.
    """
    number = os.geteuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid:{number}"
    return f"uid:{number}" if name == answers.TIMER else name
