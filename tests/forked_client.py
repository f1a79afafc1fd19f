"""The `skelo` that a test's shell finds: has the fork server of `forked_skelo` run the command, and exits as it does.

It is run by an interpreter without site-packages, so that it starts at once. SKELO_FORK_SERVER is the address of the
server. A signal to this process does not reach the command: a page that kills `skelo` needs the real one.
"""

import array
import json
import os
import socket
import sys


def main() -> int:
    """Return the exit code of the command, as a shell gives it."""
    address = os.environ.pop("SKELO_FORK_SERVER")
    request = {"words": sys.argv[1:], "folder": os.getcwd(), "env": dict(os.environ)}  # noqa: PTH109 -- starts at once
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(address)
    socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
    answer = array.array("i")
    while chunk := connection.recv(answer.itemsize, socket.MSG_WAITALL):  # the process id, then the exit code
        answer.frombytes(chunk)
    code = answer[1]
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
