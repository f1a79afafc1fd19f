"""The outside: an HTTP server that remembers every request, so that a test can tell what really happened."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as the server saw it, and the idempotency key it carried."""

    method: str
    path: str
    key: str | None


@dataclass(slots=True)
class Site:
    """`/<world>/price` and `/<world>/order` are remembered; `/<world>/orders` only tells how many orders there were.

    `before_answer` is called when a request has been remembered and not yet answered.
    """

    port: int = 0
    seen: list[Request] = field(default_factory=list[Request])
    before_answer: Callable[[Request], None] | None = None

    def url(self, world: str) -> str:
        """Where a world's requests go."""
        return f"http://127.0.0.1:{self.port}/{world}"

    def requests(self, world: str) -> list[Request]:
        """What was asked in one world, in order."""
        return [request for request in self.seen if request.path.startswith(f"/{world}/")]

    def answer(self, request: Request) -> bytes:
        """Remember the request and give the body of its answer."""
        if request.path.endswith("/orders"):
            return str(self.seen_orders(request.path.removesuffix("s"))).encode()
        self.seen.append(request)
        if self.before_answer is not None:
            self.before_answer(request)
        return json.dumps({"price": 3}).encode()

    def seen_orders(self, path: str) -> int:
        """How often an order was placed there."""
        return sum(request.path == path and request.method == "POST" for request in self.seen)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no news; everything else is."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serving() -> Generator[Site]:
    """A running server on the loopback."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            body = site.answer(Request(method=self.command, path=self.path, key=self.headers.get("idempotency-key")))
            self.send_response(201 if self.command == "POST" else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815 -- the names that http.server calls

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name that http.server calls
            """Say nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
