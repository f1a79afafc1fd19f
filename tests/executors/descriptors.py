"""A process that has few file descriptors left."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Generator


@contextlib.contextmanager
def left(number: int) -> Generator[None]:
    """Leave this process `number` descriptors; those that are open stay usable."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
    taken: list[int] = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(number):
            os.close(taken.pop())
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
