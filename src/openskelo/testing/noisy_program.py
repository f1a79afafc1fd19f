"""Runs a program and writes lines among its output that are no part of the protocol: `python -m … PROGRAM ARGUMENT…`.

The standard input goes to the program untouched. Only for checks of how a client deals with bad output.
"""

from __future__ import annotations

import itertools
import subprocess
import sys

#: What may be among the output of a program: text, other JSON, half messages, bytes that are no text, wrong messages.
NOISE = (
    b"npm warn deprecated: use something else",
    b"",
    b'{"jsonrpc": "2.0", "method": "session/upd',
    b"[1, 2, 3]",
    b"\xff\xfe\x00",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "id": 987654321, "result": {}}',
    b'{"jsonrpc": "2.0", "method": "session/update", "params": 7}',
    b'{"jsonrpc": "2.0", "method": "session/update", "params": {"update": {"sessionUpdate": "of_the_future"}}}',
    b'{"jsonrpc": "2.0", "method": "_vendor/status", "params": {"ok": true}}',
)


def main() -> int:
    """Run the program to its end and return its exit code."""
    noise = itertools.cycle(NOISE)
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) as child:  # noqa: S603 -- the command of a test
        assert child.stdout is not None  # noqa: S101 -- it is a pipe
        for line in child.stdout:
            sys.stdout.buffer.write(next(noise) + b"\n" + line)
            sys.stdout.buffer.flush()
    return child.returncode


if __name__ == "__main__":
    sys.exit(main())
