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
    threading.Thread(target=_work, args=(function, loop, done), daemon=True, name="openskelo-aside").start()
    try:
        return await done
    finally:
        del done  # it has what was raised, whose traceback has this frame: a cycle would be there for a long time


def _work(function: Callable[[], _T], loop: asyncio.AbstractEventLoop, done: asyncio.Future[_T]) -> None:
    try:
        result = function()
    except BaseException as error:  # handed on, whatever it is
        _tell(loop, functools.partial(_fail, done, error))
    else:
        _tell(loop, functools.partial(_deliver, done, result))
    finally:
        del done  # as above


def _tell(loop: asyncio.AbstractEventLoop, say: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop may be closed by now
        loop.call_soon_threadsafe(say)


def _deliver(done: asyncio.Future[_T], result: _T) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: asyncio.Future[_T], error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)
