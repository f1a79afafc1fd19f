"""Who gives an order from this terminal: the operating system's user, which approvals record."""

from __future__ import annotations

import os
import pwd


def user() -> str:
    """The name of the user this process runs as, by the system's own account, not by an environment variable."""
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid:{number}"
