"""Run `skelo` without waiting for its start: a server that has imported everything forks a process for each command.

    test ── connection; request: words, folder, environment, standard streams ──> server
    server ── fork ──> waiter ── fork ──> `skelo` in a process of its own
    waiter ── process id, later the exit code ──> test

The forked process is a real one: it has its own streams, environment and working directory, and ends as `skelo` does.
Only the start of the interpreter and the imports are shared, which are most of the time that a short command takes.
One server serves all workers of a test run. It imports everything with the first connection.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent import futures
from pathlib import Path
from typing import IO, Any

import openskelo

#: Variables that the interpreter or its libraries read at their start: with one of these a new interpreter is needed.
READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "TZ", "MALLOC_")
#: It starts threads, so the command that needs it imports it.
NOT_IMPORTED = "openskelo.providers.llama"
#: What our functions import when they first need it, and what takes longest: up to half a second each.
IMPORTED_LATE = (
    "acp.connection",
    "cel_expr_python.ext.ext_bindings",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "mcp",
    "prometheus_client",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai",
    "re2",
)
_MAX_REQUEST = 120_000
#: How long a command may take, and the first one to be started: far above what they take on a busy machine.
_SECONDS = 250


class ForkedProcess:
    """A `skelo` that runs: what tests use of `subprocess.Popen`, with the streams that it was started with."""

    def __init__(self, answers: socket.socket, stdout: IO[str] | None = None, stderr: IO[str] | None = None) -> None:
        self._answers = answers
        self.stdout = stdout
        self.stderr = stderr
        self.pid = self._receive(_SECONDS)
        self.returncode: int | None = None

    def _receive(self, seconds: float | None) -> int:
        self._answers.settimeout(seconds)
        number = array.array("i")
        chunk = self._answers.recv(number.itemsize, socket.MSG_WAITALL)
        assert chunk, "the fork server is gone"
        number.frombytes(chunk)
        return number[0]

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; raise TimeoutExpired if the process has not ended by then."""
        if self.returncode is None:
            try:
                self.returncode = self._receive(timeout)
            except TimeoutError:
                raise subprocess.TimeoutExpired("skelo", timeout or 0) from None
            self._answers.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return the rest of both pipes after the end of the process; raise TimeoutExpired if it is killed for that."""
        assert self.stdout is not None
        assert self.stderr is not None
        with self.stdout, self.stderr, futures.ThreadPoolExecutor() as pool:
            out, err = pool.submit(self.stdout.read), pool.submit(self.stderr.read)
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return out.result(), err.result()

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.001)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


#: A process that tests have started in one way or the other.
Process = ForkedProcess | subprocess.Popen[str]


def run(
    words: Sequence[str],
    *,
    folder: Path,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    seconds: float = _SECONDS,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; raise TimeoutExpired if it takes longer than `seconds`."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        process = _SERVER.start(words, folder, env, (given.fileno(), out.fileno(), err.fileno()))
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, code, _text(out.read()), _text(err.read()))


def start(
    words: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
    terminal: int | None = None,
) -> ForkedProcess:
    """Start a command that runs on; its output goes into `log`, or to the `terminal`, or is read from pipes."""
    if terminal is not None:
        return _SERVER.start(words, folder, env, (terminal, terminal, terminal))
    with Path(os.devnull).open() as nothing:
        if log is not None:
            return _SERVER.start(words, folder, env, (nothing.fileno(), log.fileno(), log.fileno()))
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        process = _SERVER.start(words, folder, env, (nothing.fileno(), out_end, err_end))
    os.close(out_end)
    os.close(err_end)
    process.stdout, process.stderr = os.fdopen(out), os.fdopen(err)
    return process


def shell_command(folder: Path) -> str:
    """Write a `skelo` for shells into the folder; return the address that it needs in SKELO_FORK_SERVER."""
    client = Path(__file__).with_name("forked_client.py").read_text("utf-8")
    script = folder / "skelo"
    script.write_text(f"#!{sys.executable} -IS\n{client}", "utf-8")
    script.chmod(0o755)
    return _SERVER.address


def start_server() -> None:
    """Start the server of a test run."""
    folder = tempfile.mkdtemp(prefix="skelo-fork-")
    _SERVER.address = f"{folder}/fork"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(_SERVER.address)
        listener.listen(64)
        _SERVER.process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked_skelo", str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parents[1],
        )


def server_address() -> str:
    """Return the address of the server, for `use_server` of another process."""
    return _SERVER.address


def use_server(address: str) -> None:
    """Use the server that another process of the test run has started."""
    _SERVER.address = address


def stop_server() -> None:
    """End the server, if this process has started it."""
    if _SERVER.process is not None:
        _SERVER.process.communicate()  # the end of its standard input ends it
        shutil.rmtree(Path(_SERVER.address).parent)


class _ForkServer:
    """The test's side of the server."""

    address: str
    process: subprocess.Popen[bytes] | None = None

    def start(
        self, words: Sequence[str], folder: Path, env: Mapping[str, str] | None, streams: tuple[int, int, int]
    ) -> ForkedProcess:
        environment = dict(os.environ if env is None else env)
        request = json.dumps({"words": list(words), "folder": str(folder), "env": environment}).encode()
        assert len(request) < _MAX_REQUEST
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(self.address)
        socket.send_fds(connection, [request], streams)
        return ForkedProcess(connection)


_SERVER = _ForkServer()


def _text(data: bytes) -> str:
    return data.decode().replace("\r\n", "\n").replace("\r", "\n")  # as `subprocess.run(text=True)` reads it


def serve(listener: socket.socket) -> int:
    """Fork a process for every connection; return only in such a process, with the exit code of its command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the waiters
    has_imported = False
    while True:
        readable, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in readable:
            os._exit(0)
        connection, _ = listener.accept()
        if not has_imported:
            _import_everything()
            gc.freeze()
            has_imported = True
        if os.fork() == 0:
            listener.close()
            return _wait_for_command(connection)
        connection.close()


def _wait_for_command(connection: socket.socket) -> int:
    """In the waiter: fork again, send the process id and then the exit code. In the new process: run the command."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(connection, _MAX_REQUEST, 3)
    if not message:
        os._exit(0)
    child = os.fork()
    if child == 0:
        connection.close()
        return _run_command(json.loads(message), streams)
    for stream in streams:
        os.close(stream)
    connection.send(array.array("i", [child]).tobytes())
    _, status = os.waitpid(child, 0)
    connection.send(array.array("i", [os.waitstatus_to_exitcode(status)]).tobytes())
    os._exit(0)


def _run_command(request: dict[str, Any], streams: Sequence[int]) -> int:
    from openskelo.cli import main

    os.setsid()  # Ctrl-C at the tests' terminal is for the tests
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["folder"])
    sys.argv = ["skelo", *request["words"]]
    return main.main()


def _import_everything() -> None:
    for module in pkgutil.walk_packages(openskelo.__path__, "openskelo."):
        if not module.name.startswith(NOT_IMPORTED):
            importlib.import_module(module.name)
    for name in IMPORTED_LATE:
        importlib.import_module(name)
    assert threading.active_count() == 1, "a thread does not survive a fork"


def _end_at_once(code: int) -> None:
    """End this process as Python does, but do not take its modules apart: that copies all memory of the fork."""
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] -- waits for threads
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _end_at_once(serve(socket.socket(fileno=int(sys.argv[1]))))
