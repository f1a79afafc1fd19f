"""The worker process, which runs a project's sync handlers one by one.

Usage: `python -m openskelo.executors.processes.worker ROOT PID [WRITE_ROOT ...]`.

Its standard input is the socket to the engine, moved to another descriptor before the first handler runs. What handlers
print goes to the file that the engine gave as standard output and error. So nothing a handler reads or prints can
disturb the messages. What they log goes to that file, too, so the engine can show it while the handler runs, and has it
if the process is killed. The process ends when the socket closes.

A message is four bytes of length, then that many bytes of JSON. One call is in progress at a time, so a side never
receives more than one message.

The process is used again. After each call the environment, `sys.path`, the working folder, the umask and the standard
streams are as they were. Modules stay loaded with their globals until a file of the project changes.
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import select
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Coroutine, Generator, Mapping
from pathlib import Path
from typing import Any, TextIO, cast

import orjson

from openskelo import errors
from openskelo.executors.attempt import lazy_copies
from openskelo.executors.handlers import invocation, module_loader
from openskelo.handlers import context
from openskelo.kernel.json import JsonObject
from openskelo.programs import child_process
from openskelo.values import canonical


def main() -> None:
    """Answer calls until the engine is gone."""
    root = Path(sys.argv[1])
    bind = child_process.bound_to(int(sys.argv[2]))
    if bind is not None:
        bind()
    channel = socket.socket(fileno=os.dup(0))
    _replace_standard_input()
    _exit_when_closed(channel)
    streams = _Streams()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(root))
    modules = module_loader.Modules(root, write_roots=[Path(text) for text in sys.argv[3:]])
    modules.install()
    state = _ProcessState(root)
    shared_inputs = _SharedInputs()
    channel.sendall(pack(b"{}"))
    own_pid = os.getpid()
    while (body := receive(channel)) is not None:
        modules.forget_changed()
        request = orjson.loads(body)
        shared_inputs.add_to(request)
        reply = _reply(request, modules, streams.log_lines(), own_pid)
        streams.restore()
        channel.sendall(pack(reply))
        state.restore()


class _SharedInputs:
    """The inputs that the items of a foreach share, as the engine sent them last."""

    def __init__(self) -> None:
        self._values: JsonObject = {}
        self._encoded: Mapping[str, bytes] = {}

    def add_to(self, request: dict[str, Any]) -> None:
        """Add them to the inputs of a call that shares them."""
        if "shared_inputs" not in request:
            return
        if request["shared_inputs"] is not None:
            self._values = request["shared_inputs"]
            self._encoded = lazy_copies.encode(self._values)
        inputs = lazy_copies.LazyCopies(self._values, self._encoded)
        for name, value in request["context"]["inputs"].items():
            inputs[name] = value
        request["context"]["inputs"] = inputs


class _ProcessState:
    """Process-wide state that a handler may change; it is restored after every call."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._environment = dict(os.environ)
        self._path = list(sys.path)
        self._finders = list(sys.meta_path)
        self._umask = os.umask(0)
        self.restore()

    def restore(self) -> None:
        """Put everything back."""
        os.chdir(self._root)
        os.umask(self._umask)
        if dict(os.environ) != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)
        sys.path = list(self._path)
        sys.meta_path = list(self._finders)


class _Streams:
    """Standard output and error, restored after every handler, which may have replaced or closed them."""

    def __init__(self) -> None:
        self._spare = os.dup(1)
        self._streams = [_open_stream(1), _open_stream(2)]
        sys.stdout, sys.stderr = self._streams

    def restore(self) -> None:
        """Flush both streams and put them back."""
        for index, stream in enumerate(self._streams):
            try:
                stream.flush()
            except (ValueError, OSError):  # the handler closed it, or its descriptor
                os.dup2(self._spare, index + 1)
                self._streams[index] = _open_stream(index + 1)
        sys.stdout, sys.stderr = self._streams

    def log_lines(self) -> _LogLines:
        """Return the lines of a call, which are written where the streams write."""
        return _LogLines(self._spare)


class _LogLines(list[str]):
    """The lines of a call: what is appended is written to the log's file instead. If that fails, it stays here."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def append(self, line: str) -> None:
        data = memoryview(f"{_clean([line])[0]}\n".encode())
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            super().append(line)


def _open_stream(descriptor: int) -> TextIO:
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _reply(request: Mapping[str, Any], modules: module_loader.Modules, lines: list[str], own_pid: int) -> bytes:
    """Return the reply as JSON: `outputs` or `error`, and the `lines` that are not in the file of the log.

    A handler returns a dict of outputs; a function that is called with `any` may return any JSON.
    """
    try:
        handler = modules.function(request["path"], request["name"], lines)
        ctx = context.Context(**request["context"], _lines=lines)
        raw_outputs = _call(handler, ctx, lines, own_pid)
        outputs = _outputs(raw_outputs, any_json=bool(request.get("any")))
        return b'{"outputs":' + outputs + b',"lines":' + orjson.dumps(_clean(lines)) + b"}"
    except errors.AttemptFailed as failure:
        return orjson.dumps({"error": _failure(invocation.fit(failure)), "lines": _clean(lines)})
    except Exception as error:  # a returned object may have code of its own, such as a mapping that cannot be read
        failure = errors.AttemptFailed(invocation.raised(error, lines).message, code="HANDLER_RETURN", happened="yes")
        return orjson.dumps({"error": _failure(failure), "lines": _clean(lines)})


def _call(handler: invocation.Handler, ctx: context.Context, lines: list[str], own_pid: int) -> object:
    try:
        with _exit_if_forked(own_pid):
            result = handler(ctx)
            if inspect.isawaitable(result):
                import asyncio  # noqa: PLC0415 -- a quarter of the time that a worker takes to start

                return asyncio.run(cast("Coroutine[object, object, object]", result))
            return result
    except errors.AttemptFailed:
        raise
    except SystemExit as error:
        raise invocation.exited(error) from error
    except BaseException as error:  # the worker survives every exception
        raise invocation.raised(error, lines) from error


@contextlib.contextmanager
def _exit_if_forked(own_pid: int) -> Generator[None]:
    """End a copy of this process that the handler has forked, as a program ends.

    Otherwise the copy would answer a second time, and take the next request.
    """
    status = 0
    try:
        yield
    except BaseException as error:
        if os.getpid() == own_pid:
            raise
        status = _exit_status(error)
    if os.getpid() != own_pid:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _exit_status(error: BaseException) -> int:
    """Return the exit status of a program that ends with `error`, and print the error as Python would."""
    if not isinstance(error, SystemExit):
        traceback.print_exception(error)
        return 1
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1


def _outputs(returned: object, *, any_json: bool) -> bytes:
    if not isinstance(returned, Mapping) and not any_json:
        raise invocation.not_a_dict(returned)
    try:
        data = canonical.dumps(canonical.admit(cast("object", returned)))
    except errors.InvalidInput as error:
        raise canonical.attempt_failure(error, "the outputs are not JSON", code="HANDLER_RETURN") from error
    if len(data) > MAX_BYTES:
        raise errors.AttemptFailed(
            f"the outputs take {len(data)} bytes, more than {MAX_BYTES}",
            code="HANDLER_RETURN",
            retryable=False,
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
        "missing": isinstance(failed, errors.Missing),
        "files_exhausted": _is_machine_out_of_files(failed),
    }


def _is_machine_out_of_files(failed: errors.AttemptFailed) -> bool:
    """True if the machine had no file descriptor left. A worker that has used up its own is the handler's failure."""
    return any(isinstance(cause, OSError) and cause.errno == errno.ENFILE for cause in errors.causes(failed))


def _clean(lines: list[str]) -> list[str]:
    return [line if line.isascii() else line.encode("utf-8", "replace").decode() for line in lines]


def _replace_standard_input() -> None:
    """Let handlers read an empty standard input, not the messages of the engine."""
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    os.close(devnull)


def _exit_when_closed(channel: socket.socket) -> None:
    """Start a thread that ends this process when the engine closes its side, also in the middle of a call."""

    def wait() -> None:
        poll = select.poll()
        poll.register(channel.fileno(), getattr(select, "POLLRDHUP", 0))
        poll.poll()
        os._exit(0)

    threading.Thread(target=wait, daemon=True, name="end-with-the-engine").start()


# -- messages, for both sides ----------------------------------------------------------------------------------------


_LENGTH = struct.Struct(">I")
#: How many bytes are read at once.
CHUNK = 64 * 1024
#: How many bytes outputs may take; larger ones are refused before they are sent.
MAX_BYTES = 64 * 1024 * 1024


def pack(body: bytes) -> bytes:
    """Return the message as it is sent."""
    return _LENGTH.pack(len(body)) + body


class Unpacker:
    """Collects received bytes until a message is complete."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, data: bytes) -> bytes | None:
        """Return the message that `data` completes, None if it is not complete yet."""
        self._received += data
        if len(self._received) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._received)
        if len(self._received) < _LENGTH.size + length:
            return None
        body = bytes(self._received[_LENGTH.size :])
        self._received.clear()
        return body


def receive(channel: socket.socket) -> bytes | None:
    """Return the next message from a blocking socket, None once the other side is gone."""
    unpacker = Unpacker()
    while data := channel.recv(CHUNK):
        body = unpacker.feed(data)
        if body is not None:
            return body
    return None


if __name__ == "__main__":
    main()
