"""Relays sockets, applies Landlock, calls the hook or the tools, inside the sandbox: `python inside_sandbox.py …`.

    relay PORT=SOCKET… -- PROGRAM ARG…    carry connections to 127.0.0.1:PORT to a unix socket, and run the program
    landlock RULES -- PROGRAM ARG…        confine this process with Landlock, then become the program
    hook URL                              post standard input to URL, and print the answer
    tools URL                             post each line of standard input to URL, and print the answers

A sandbox without a network has an empty loopback interface. `relay` is how the agent reaches us from there: the unix
sockets are mounted into the sandbox. The agent has the standard input and output of this program, gets its signals,
and gives it its exit code.

`hook` is for agents that ask by running a command. Its token is in SKELO_HOOK_TOKEN. It ends with 2, which agents take
as "do not do it", whenever there is no answer.

`tools` is an MCP server for agents that reach ours only by pipes. Its token is in SKELO_TOOLS_TOKEN.

This file starts with every agent, so it imports only what it uses, from the standard library; nothing of OpenSkelo is
visible in the sandbox.
"""

# ruff: noqa: PLC0415 -- each of the four programs imports its own, to start fast
from __future__ import annotations

import os
import sys

_TYPE_CHECKING = False
if _TYPE_CHECKING:
    import socket
    import threading
    from collections.abc import Mapping, Sequence
    from typing import Any

_NOT_FOUND = 127
_REFUSED = 2
_PIECE = 65_536
#: The variable with the token for our tools.
TOOLS_TOKEN = "SKELO_TOOLS_TOKEN"  # noqa: S105 -- a name


def main() -> None:
    """Run what the first argument names."""
    name, *words = sys.argv[1:]
    if name == "hook":
        sys.exit(run_hook(words[0]))
    if name == "tools":
        run_tools(words[0])
        return
    end = words.index("--")
    options, argv = words[:end], words[end + 1 :]
    if name == "relay":
        run_relay(options, argv)
    else:
        import json

        confine(json.loads(options[0]))
        become(argv)


def become(argv: Sequence[str]) -> None:
    """Replace this process by the program, which is a path; exit with 127 if it cannot be started."""
    try:
        os.execv(argv[0], list(argv))  # noqa: S606 -- an argument vector that the project's author wrote
    except OSError as error:
        sys.stderr.write(f"{argv[0]} cannot be started in the sandbox: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(_NOT_FOUND)


# -- relay ------------------------------------------------------------------------------------------------------------


def run_relay(options: Sequence[str], argv: Sequence[str]) -> None:
    """Listen, run the program to its end, and exit as it did."""
    import signal
    import socket
    import threading

    listening: list[tuple[socket.socket, str]] = []
    for port, _, path in (option.partition("=") for option in options):
        try:
            listening.append((socket.create_server(("127.0.0.1", int(port))), path))
        except OSError as error:
            sys.stderr.write(f"port {port} cannot be opened in the sandbox: {os.strerror(error.errno or 0)}\n")
            sys.exit(_NOT_FOUND)
    passed_on = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
    signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)  # until they can be passed on
    child = os.fork()  # before the first thread
    if child == 0:
        os.setpgid(0, 0)  # a signal to our group reaches the agent once, from us
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):  # ignored by our parent, or by Python
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
        become(argv)
    for number in passed_on:
        signal.signal(number, lambda number, _frame: _pass_on(child, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
    for server, path in listening:
        threading.Thread(target=_accept, args=(server, path), daemon=True).start()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _pass_on(child: int, number: int) -> None:
    import contextlib

    with contextlib.suppress(ProcessLookupError):  # it has ended, and so does this program
        os.kill(child, number)


def _accept(server: socket.socket, path: str) -> None:
    import threading

    while True:
        try:
            connection, _ = server.accept()
        except OSError:  # too many open files: the agent's own doing, and it may get better
            import time

            time.sleep(0.05)
            continue
        threading.Thread(target=_carry, args=(connection, path), daemon=True).start()


def _carry(connection: socket.socket, path: str) -> None:
    """Carry one connection to the unix socket, both ways, until both sides have ended."""
    import socket
    import threading

    with connection, socket.socket(socket.AF_UNIX) as outside:
        try:
            outside.connect(path)
        except OSError:
            return  # the session is closed: so is the connection
        back = threading.Thread(target=_copy, args=(outside, connection), daemon=True)
        back.start()
        _copy(connection, outside)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    import contextlib
    import socket

    with contextlib.suppress(OSError):  # one side is gone: the other is told below
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


# -- hook -------------------------------------------------------------------------------------------------------------


def run_hook(url: str) -> int:
    """Post standard input to `url`, print the answer, and return the exit code."""
    import http.client
    from urllib.parse import urlsplit

    place = urlsplit(url)
    body = sys.stdin.buffer.read()
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('SKELO_HOOK_TOKEN', '')}",
    }
    try:
        connection = http.client.HTTPConnection(place.hostname or "", place.port)
        connection.request("POST", place.path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        sys.stderr.write(f"OpenSkelo did not answer: {error}\n")
        return _REFUSED
    if answer.status != http.client.OK:
        sys.stderr.write(f"OpenSkelo answered with HTTP {answer.status}\n")
        return _REFUSED
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
    return 0


# -- tools ------------------------------------------------------------------------------------------------------------


def run_tools(url: str) -> None:
    """Carry the messages of an MCP client to `url` and back, until it closes the pipe. A question may take days."""
    import threading

    printing = threading.Lock()
    for line in sys.stdin.buffer:
        if line.strip():
            threading.Thread(target=_carry_message, args=(url, line, printing), daemon=True).start()


def _carry_message(url: str, line: bytes, printing: threading.Lock) -> None:
    import http.client
    import json
    from urllib.parse import urlsplit

    place = urlsplit(url)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {os.environ.get(TOOLS_TOKEN, '')}",
    }
    try:
        connection = http.client.HTTPConnection(place.hostname or "", place.port)
        connection.request("POST", place.path, line, headers)
        answer = connection.getresponse()
        body = answer.read().strip()
        failure = "" if answer.status < http.client.BAD_REQUEST else f"HTTP {answer.status}"
    except (OSError, http.client.HTTPException) as error:
        body, failure = b"", str(error)
    if failure:
        try:
            number = json.loads(line).get("id")
        except (ValueError, AttributeError):
            return  # it is no message, so nothing waits for an answer
        if number is None:
            return
        refusal = {"code": -32603, "message": f"OpenSkelo did not answer: {failure}"}
        body = json.dumps({"jsonrpc": "2.0", "id": number, "error": refusal}).encode()
    if body:  # a notification has no answer
        with printing:
            sys.stdout.buffer.write(body + b"\n")
            sys.stdout.buffer.flush()


# -- Landlock ---------------------------------------------------------------------------------------------------------

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_RULE, _PORT_RULE = 1, 2
_NO_NEW_PRIVS = 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
#: What a rule on a file, rather than on a folder, may hold.
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_CONNECT = 1 << 1
#: The first version that knows a right, and how many rights it knows.
_RIGHTS = ((5, 16), (3, 15), (2, 14), (1, 13))
_ABI_NET, _ABI_SCOPE = 4, 6
_NO_SOCKETS_NO_SIGNALS = 3


def landlock_version() -> int:
    """Return the version of Landlock that the kernel speaks, 0 if it has none."""
    import ctypes

    version = ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, 1)
    return max(0, version)


def confine(rules: Mapping[str, Any]) -> None:
    """Let this process write only below `write`, read only below `read` and `write`, and connect only to `ports`.

    It has no capabilities afterwards, also as root. Exit with 127 if the kernel refuses: a program that was to be
    confined never starts unconfined.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)

    def call(what: str, result: int) -> int:
        if result < 0:
            sys.stderr.write(f"Landlock: {what}: {os.strerror(ctypes.get_errno())}\n")
            sys.stderr.flush()
            os._exit(_NOT_FOUND)
        return result

    version = landlock_version()
    if version == 0:
        call("there is none", -1)
    everything = (1 << next(count for first, count in _RIGHTS if version >= first)) - 1
    ruleset_rights = [everything]
    if version >= _ABI_NET:
        ruleset_rights.append(_CONNECT)
    if version >= _ABI_SCOPE:
        ruleset_rights.append(_NO_SOCKETS_NO_SIGNALS)
    attributes = (ctypes.c_uint64 * len(ruleset_rights))(*ruleset_rights)
    ruleset = call("create", libc.syscall(_CREATE_RULESET, attributes, ctypes.sizeof(attributes), 0))

    class PathRule(ctypes.Structure):
        _pack_ = 1
        _fields_ = (("access", ctypes.c_uint64), ("folder", ctypes.c_int32))

    for paths, access in ((rules["read"], _READ), (rules["write"], everything)):
        for path in paths:
            try:
                folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # what is not there needs no rule
            path_rights = access & everything & (everything if os.path.isdir(path) else _OF_FILES)  # noqa: PTH112
            rule = PathRule(path_rights, folder)
            call(path, libc.syscall(_ADD_RULE, ruleset, _PATH_RULE, ctypes.byref(rule), 0))
            os.close(folder)
    for port in rules["ports"] if version >= _ABI_NET else ():
        rule = (ctypes.c_uint64 * 2)(_CONNECT, port)
        call(f"port {port}", libc.syscall(_ADD_RULE, ruleset, _PORT_RULE, ctypes.byref(rule), 0))
    call("no new privileges", libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    call("restrict", libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)
    _drop_capabilities(libc, call)


def _drop_capabilities(libc: Any, call: Any) -> None:
    """Give up what root may do beyond other users. With "no new privileges" no program gets it back."""
    import ctypes

    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the third version of the call, for this process
    none = (ctypes.c_uint32 * 6)()
    call("capabilities", libc.capset(ctypes.byref(header), ctypes.byref(none)))


if __name__ == "__main__":
    main()
