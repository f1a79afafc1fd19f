"""Runs a blocking function in a daemon thread, which does not keep the process alive."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def run(function: Callable[[], _T]) -> _T:
    """Return the function's result, or raise what it raised.

    asyncio waits for its own thread pool when the loop closes, so a function that hangs (a name server, a project's
    handler) would keep the whole process. This thread is a daemon: when the caller is cancelled, it is left behind.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()
    threading.Thread(target=_work, args=(function, loop, future), daemon=True, name="openskelo-aside").start()
    try:
        return await future
    finally:
        del future  # breaks a cycle: the future holds the exception, whose traceback holds this frame


def _work(function: Callable[[], _T], loop: asyncio.AbstractEventLoop, done: asyncio.Future[_T]) -> None:
    try:
        result = function()
    except BaseException as error:  # passed on to the caller
        _schedule(loop, functools.partial(_fail, done, error))
    else:
        _schedule(loop, functools.partial(_deliver, done, result))
    finally:
        del done  # as above


def _schedule(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop may be closed by now
        loop.call_soon_threadsafe(callback)


def _deliver(done: asyncio.Future[_T], result: _T) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: asyncio.Future[_T], error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)
