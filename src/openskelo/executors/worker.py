"""The warm process that runs a project's sync handlers one by one: `python -m openskelo.executors.worker ROOT PID`.

Its standard input is the socket to the engine. What handlers print goes to the file that the engine gave as standard
output and error, so nothing they do can disturb the messages. It ends when the socket does.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import select
import socket
import sys
import threading
import traceback
from collections.abc import Coroutine, Generator, Mapping
from pathlib import Path
from typing import Any, TextIO, cast

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
    streams = _Streams()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(root))
    modules = module.Modules(root)
    channel.sendall(frames.pack(b"{}"))
    own = os.getpid()
    inbox = frames.Inbox(channel)
    while (body := inbox.receive()) is not None:
        os.chdir(root)
        answer = _answer(orjson.loads(body), modules, own)
        streams.restore()
        channel.sendall(frames.pack(answer))


class _Streams:
    """Standard output and error, as every handler finds them: the one before may have replaced or closed them."""

    def __init__(self) -> None:
        self._spare = os.dup(1)
        self._kept = [_opened(1), _opened(2)]
        sys.stdout, sys.stderr = self._kept

    def restore(self) -> None:
        """Put them back, with everything written."""
        for index, stream in enumerate(self._kept):
            try:
                stream.flush()
            except (ValueError, OSError):  # it was closed, or what is below it was
                os.dup2(self._spare, index + 1)
                self._kept[index] = _opened(index + 1)
        sys.stdout, sys.stderr = self._kept


def _opened(descriptor: int) -> TextIO:
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _answer(request: Mapping[str, Any], modules: module.Modules, own: int) -> bytes:
    """The reply: `outputs` as JSON, or `error`; and the `lines` that were logged.

    A handler gives a dict of outputs; what a request calls `any` may give any JSON.
    """
    lines: list[str] = []
    try:
        handler = modules.function(request["path"], request["name"], lines)
        ctx = context.Context(**request["context"], _lines=lines)
        returned = _call(handler, ctx, lines, own)
        outputs = _outputs(returned, any_json=bool(request.get("any")))
        return b'{"outputs":' + outputs + b',"lines":' + orjson.dumps(_clean(lines)) + b"}"
    except errors.AttemptFailed as failed:
        return orjson.dumps({"error": _failure(calling.fit(failed)), "lines": _clean(lines)})
    except Exception as error:  # what it gave back may be code of its own: a mapping that cannot be read
        failed = errors.AttemptFailed(calling.raised(error, lines).message, code="HANDLER_RETURN", happened="yes")
        return orjson.dumps({"error": _failure(failed), "lines": _clean(lines)})


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


def _outputs(returned: object, *, any_json: bool) -> bytes:
    if not isinstance(returned, Mapping) and not any_json:
        raise calling.not_a_dict(returned)
    try:
        data = canonical.dumps(canonical.admit(cast("object", returned)))
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
