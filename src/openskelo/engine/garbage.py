"""Python's collector of cycles, kept from looking for garbage where everything that is made is still needed."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator


@contextlib.contextmanager
def uncollected() -> Generator[None]:
    """No collection inside: it would look through thousands of new objects again and again, and find none to free."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
