"""Messages between the engine and its workers."""

from __future__ import annotations

import socket
import threading

from openskelo.executors.processes import worker


def test_messages_arrive_whole_however_they_come() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for body in (b"one", b"", b"soon"):
            ours.sendall(worker.pack(body))
            assert worker.receive(theirs) == body
        large = b"x" * 300_000  # more than a socket holds
        sender = threading.Thread(target=ours.sendall, args=(worker.pack(large),))
        sender.start()
        assert worker.receive(theirs) == large
        sender.join()
        ours.close()
        assert worker.receive(theirs) is None
