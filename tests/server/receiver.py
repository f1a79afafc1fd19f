"""A receiver of webhooks on the loopback, which answers as it is told to."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """One request."""

    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Receiver:
    """What came, and what is answered to the n-th request: a status, 0 to hang up, or seconds to think first."""

    port: int = 0
    got: list[Got] = field(default_factory=list[Got])
    answers: list[int | float] = field(default_factory=list[int | float])
    usual: int = 204

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def wait(self, count: int, seconds: float = 100.0) -> list[Got]:
        """The first requests, once there are so many."""
        self.until(lambda: len(self.got) >= count, seconds)
        return self.got[:count]

    def until(self, true: Callable[[], bool], seconds: float = 100.0) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, f"only {len(self.got)} came"
            time.sleep(0.01)


@contextlib.contextmanager
def receiving() -> Generator[Receiver]:
    """A receiver that takes everything unless `answers` says otherwise."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            body = self.rfile.read(size)
            if len(body) < size:  # its sender was killed in the middle of it: nothing was told
                self.close_connection = True
                return
            answer = receiver.answers.pop(0) if receiver.answers else receiver.usual
            receiver.got.append(Got(headers={name.lower(): value for name, value in self.headers.items()}, body=body))
            if isinstance(answer, float):
                time.sleep(answer)
                answer = receiver.usual
            if answer == 0:
                self.close_connection = True
                return
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(answer)
                self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name that http.server calls
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
