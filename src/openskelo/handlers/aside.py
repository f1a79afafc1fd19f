"""Runs a blocking function beside the loop, in a thread that nobody has to wait for."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def run(function: Callable[[], _T]) -> _T:
    """The function's result, or what it raised.

    The loop's own thread pool is waited for when the loop closes; a function that hangs (a name server, somebody's
    handler) would keep the whole process. This thread is a daemon: cancelled, it is left behind.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def deliver(result: _T) -> None:
        if not done.done():
            done.set_result(result)

    def fail(error: BaseException) -> None:
        if not done.done():
            done.set_exception(error)

    def work() -> None:
        try:
            say = functools.partial(deliver, function())
        except BaseException as error:  # handed on, whatever it is
            say = functools.partial(fail, error)
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(say)

    threading.Thread(target=work, daemon=True, name="openskelo-aside").start()
    return await done
