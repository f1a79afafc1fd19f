"""The `skelo` that a test's shell finds: has the fork server of `forked_skelo` run the command, and exits as it does.

It is run by an interpreter without site-packages, so that it starts at once. SKELO_FORK_SERVER names the inherited
socket. A signal to this process does not reach the command: a page that kills `skelo` needs the real one.
"""

import array
import json
import os
import socket
import sys


def main() -> int:
    """Return the exit code of the command, as a shell gives it."""
    number = int(os.environ.pop("SKELO_FORK_SERVER"))
    request = {"words": sys.argv[1:], "folder": os.getcwd(), "env": dict(os.environ)}  # noqa: PTH109 -- starts at once
    ours, theirs = socket.socketpair()
    # The descriptor belongs to the shell, too: it is left open.
    socket.send_fds(socket.socket(fileno=os.dup(number)), [json.dumps(request).encode()], [0, 1, 2, theirs.fileno()])
    theirs.close()
    answer = array.array("i")
    while chunk := ours.recv(answer.itemsize, socket.MSG_WAITALL):  # the process id, then the exit code
        answer.frombytes(chunk)
    code = answer[1]
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
