"""A real HTTP server that plays a model API: each request takes the next act of its script."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import server
from typing import Any, Literal, Protocol

KEY = "key-for-the-loopback-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A whole answer, streamed in pieces; after the first one the server waits until it `may_go_on`."""

    text: str
    finish: Literal["stop", "length"] = "stop"
    may_go_on: threading.Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The model declines, in the way of its protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """An error instead of a stream, in the words of its protocol or with a `body` of its own."""

    status: int
    message: str = "something is wrong"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A stream that stops in the middle: with the connection, or quietly."""

    quietly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Garble:
    """A stream with an event that is not JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A stream of just these bytes, one piece each."""

    events: Sequence[bytes]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """No answer until `release` is set."""

    release: threading.Event


Act = Say | Refuse | Fail | Cut | Garble | Send | Hang


class Speech(Protocol):
    """One protocol: where requests go, where the key is, and what the bytes of each act are."""

    @property
    def kind(self) -> Literal["openai", "anthropic", "gemini", "ollama"]: ...
    @property
    def prefix(self) -> str:
        """What stands in `base_url` behind the address."""
        ...

    def key(self, headers: Mapping[str, str]) -> str: ...
    def answers(self, path: str) -> bool: ...
    def events(self, text: str, finish: str) -> Sequence[bytes]:
        """An answer as server-sent events; the text is in more than one of them."""
        ...

    def refusal(self) -> Sequence[bytes]: ...
    def error(self, status: int, message: str) -> object: ...


class Loopback:
    """The server. `asked` holds the body of every request, `paths` where it went; `requests` counts them all."""

    def __init__(self, speech: Speech, script: Iterable[Act]) -> None:
        self.speech = speech
        self.script = list(script)
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.hung_up = threading.Event()
        self.requests = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.handle(self)

            def do_POST(self) -> None:
                outer.handle(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- its name there
                pass

        self._server = server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.speech.prefix}"

    @contextlib.contextmanager
    def running(self) -> Generator[Loopback]:
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def handle(self, request: server.BaseHTTPRequestHandler) -> None:
        self.requests += 1
        body = request.rfile.read(int(request.headers.get("content-length", "0")))
        path = request.path.split("?")[0]
        if not self.speech.answers(path):
            self._fail(request, Fail(status=404, message=f"nothing at {path}"))
            return
        if self.speech.key(dict(request.headers.items())) != KEY:
            sent = self.speech.key(dict(request.headers.items()))
            self._fail(request, Fail(status=401, message=f"invalid key {sent}"))
            return
        with self._lock:
            self.asked.append(json.loads(body))
            self.paths.append(path)
            act = self.script.pop(0)
        try:
            self._play(request, act)
        except OSError:
            self.hung_up.set()

    def _play(self, request: server.BaseHTTPRequestHandler, act: Act) -> None:
        match act:
            case Fail():
                self._fail(request, act)
            case Hang(release=release):
                release.wait(30)
            case Say(text=text, finish=finish, may_go_on=may_go_on):
                self._stream(request, self.speech.events(text, finish), may_go_on=may_go_on)
            case Refuse():
                self._stream(request, self.speech.refusal())
            case Send(events=events, headers=headers):
                self._stream(request, events, headers=headers)
            case Garble():
                self._stream(request, [self.speech.events("abc", "stop")[0], b"data: {not json\n\n"])
            case Cut(quietly=quietly):
                events = self.speech.events('{"a": "a text that is long enough"}', "stop")
                self._stream(request, events[: len(events) // 2], whole=quietly)

    def _fail(self, request: server.BaseHTTPRequestHandler, act: Fail) -> None:
        data = json.dumps(self.speech.error(act.status, act.message)).encode() if act.body is None else act.body
        request.send_response(act.status)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(len(data)))
        for name, value in act.headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)

    def _stream(
        self,
        request: server.BaseHTTPRequestHandler,
        events: Sequence[bytes],
        *,
        whole: bool = True,
        may_go_on: threading.Event | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        request.send_response(200)
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        request.send_header("content-type", "text/event-stream")
        request.send_header("transfer-encoding", "chunked")
        request.end_headers()
        for number, event in enumerate(events):
            if number == len(events) // 2 and may_go_on is not None:
                may_go_on.wait(30)
            request.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            request.wfile.flush()
        if whole:
            request.wfile.write(b"0\r\n\r\n")
        else:
            request.close_connection = True


def event(data: object, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str) -> list[str]:
    """A text in four or so pieces."""
    size = max(1, len(text) // 4)
    return [text[start : start + size] for start in range(0, len(text), size)]
