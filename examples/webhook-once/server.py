"""A webhook for the demo, on loopback: keeps each message it is sent once per Idempotency-Key, and tells its count.

Writes its address to server.url, and stops by itself after a minute without a request.
"""

from __future__ import annotations

import http.server
import json
from pathlib import Path

IDLE_SECONDS = 60


class Hook(http.server.BaseHTTPRequestHandler):
    """Answers every POST with what it made of it."""

    seen: dict[str, str]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        authorised = self.headers.get("Authorization") == "Bearer sesame"
        if authorised:
            self.seen[self.headers["Idempotency-Key"]] = body["text"]
        answer = json.dumps({"messages": len(self.seen), "text": body["text"]}).encode()
        self.send_response(200 if authorised else 403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name it has in the library
        """Nothing is printed."""


class Server(http.server.HTTPServer):
    """Remembers whether a request came."""

    idle = False

    def handle_timeout(self) -> None:
        self.idle = True


def main() -> None:
    Hook.seen = {}
    with Server(("127.0.0.1", 0), Hook) as server:
        server.timeout = IDLE_SECONDS
        Path("server.url.new").write_text(f"http://127.0.0.1:{server.server_port}/hook")
        Path("server.url.new").rename("server.url")
        while not server.idle:
            server.handle_request()


if __name__ == "__main__":
    main()
