"""The warm process that runs a project's sync handlers one by one: `python -m openskelo.executors.worker ROOT PID`.

Its standard input is the socket to the engine. What handlers print goes to the file that the engine gave as standard
output and error, so nothing they do can disturb the messages. It ends when the socket does.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import os
import select
import socket
import sys
import threading
import traceback
from collections.abc import Coroutine, Generator, Mapping
from pathlib import Path
from typing import Any, cast

import orjson

from openskelo import errors
from openskelo.executors import calling, frames, module, mortal
from openskelo.handlers import context
from openskelo.values import canonical


def main() -> None:
    """Serve calls until the engine is gone."""
    root = Path(sys.argv[1])
    bind = mortal.bound_to(int(sys.argv[2]))
    if bind is not None:
        bind()
    channel = socket.socket(fileno=os.dup(0))
    _take_standard_input_away()
    _end_with(channel)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace", line_buffering=True)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(root))
    modules = module.Modules(root)
    channel.sendall(frames.pack(b"{}"))
    own = os.getpid()
    while (body := frames.receive(channel)) is not None:
        os.chdir(root)
        channel.sendall(frames.pack(_answer(orjson.loads(body), modules, own)))


def _answer(request: Mapping[str, Any], modules: module.Modules, own: int) -> bytes:
    """The reply: `outputs` as JSON, or `error`; and the `lines` that were logged.

    A handler gives a dict of outputs; what a request calls `any` may give any JSON.
    """
    lines: list[str] = []
    try:
        handler = modules.function(request["path"], request["name"], lines)
        ctx = context.Context(**request["context"], _lines=lines)
        returned = _call(handler, ctx, lines, own)
        if not isinstance(returned, Mapping) and not request.get("any"):
            raise calling.not_a_dict(returned)
        outputs = _outputs(cast("object", returned))
        return b'{"outputs":' + outputs + b',"lines":' + orjson.dumps(_clean(lines)) + b"}"
    except errors.AttemptFailed as failed:
        return orjson.dumps({"error": _failure(failed), "lines": _clean(lines)})
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _call(handler: calling.Handler, ctx: context.Context, lines: list[str], own: int) -> object:
    try:
        with _only(own):
            result = handler(ctx)
            waits = inspect.isawaitable(result)
            return asyncio.run(cast("Coroutine[object, object, object]", result)) if waits else result
    except errors.AttemptFailed:
        raise
    except SystemExit as error:
        raise calling.exited(error) from error
    except BaseException as error:  # whatever it is, the worker stays
        raise calling.raised(error, lines) from error


@contextlib.contextmanager
def _only(own: int) -> Generator[None]:
    """Let only the process `own` come out: a copy of it, which the handler has forked, ends as a program would.

    It would answer a second time otherwise, and take the next request.
    """
    status = 0
    try:
        yield
    except BaseException as error:
        if os.getpid() == own:
            raise
        status = _status(error)
    if os.getpid() != own:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _status(error: BaseException) -> int:
    """The exit status of a program that ends with this, and why on its standard error."""
    if not isinstance(error, SystemExit):
        traceback.print_exception(error)
        return 1
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1


def _outputs(returned: object) -> bytes:
    try:
        data = canonical.dumps(canonical.admit(returned))
    except errors.InvalidInput as error:
        raise canonical.failed(error, "the outputs are not JSON", code="HANDLER_RETURN") from error
    if len(data) > frames.MAX_BYTES:
        raise errors.AttemptFailed(
            f"the outputs take {len(data)} bytes, more than {frames.MAX_BYTES}", code="HANDLER_RETURN", retryable=False
        )
    return data


def _failure(failed: errors.AttemptFailed) -> dict[str, object]:
    return {
        "code": failed.code,
        "message": _clean([failed.message])[0],
        "hint": failed.hint,
        "retryable": failed.retryable,
        "retry_after_ms": failed.retry_after_ms,
        "happened": failed.happened,
    }


def _clean(lines: list[str]) -> list[str]:
    return [line if line.isascii() else line.encode("utf-8", "replace").decode() for line in lines]


def _take_standard_input_away() -> None:
    """A handler that reads its standard input finds it empty, not our messages."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _end_with(channel: socket.socket) -> None:
    """End as soon as the engine is gone, also in the middle of a call: a thread that waits for nothing but that."""

    def wait() -> None:
        poll = select.poll()
        poll.register(channel.fileno(), getattr(select, "POLLRDHUP", 0))
        poll.poll()
        os._exit(0)

    threading.Thread(target=wait, daemon=True, name="end-with-the-engine").start()


if __name__ == "__main__":
    main()
