"""A real HTTP server on the loopback, for the tests of everything that speaks HTTP."""

from __future__ import annotations

import contextlib
import ssl
import threading
import urllib.parse
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass(slots=True)
class Seen:
    """One request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Site:
    """The running server: its address and what it was asked."""

    port: int
    seen: list[Seen] = field(default_factory=list[Seen])
    #: Set at the end: until then nothing is answered under /slow.
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def serving(certificate: Path | None = None) -> Generator[Site]:
    """Paths: /json /status/N /refuse /redirect/N?to=… /written/CHARSET /slow /large /gzip /broken /half, else /."""
    site = Site(0)

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            site.seen.append(Seen(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if self.path == "/slow":
                site.closing.wait()
            _respond(self)

        do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer  # noqa: N815 -- the names that http.server calls

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name that http.server calls
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def certificate(folder: Path, name: str) -> Path:
    """A self-signed certificate for `name` with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


def _respond(handler: BaseHTTPRequestHandler) -> None:
    parts = handler.path.partition("?")[0].strip("/").split("/")
    match parts:
        case ["json"]:
            _send(handler, 200, b'{"b": 1.0, "a": [true]}', {"content-type": "application/json; charset=utf-8"})
        case ["badjson"]:
            _send(handler, 200, b"{", {"content-type": "application/json"})
        case ["largenumber"]:
            _send(handler, 200, b'{"id": 9007199254740993}', {"content-type": "application/json"})
        case ["doubledkey"]:
            _send(handler, 200, b'{"id": 1, "id": 2}', {"content-type": "application/json"})
        case ["status", number]:
            _send(handler, int(number), b"told so", {"retry-after": "7"})
        case ["refuse"]:
            told = f"not with {handler.headers['x-key'].removeprefix('key ')}: " + "x" * 2000
            _send(handler, 422, told.encode(), {"content-type": "text/plain"})
        case ["after", value]:
            _send(handler, 503, b"", {"retry-after": urllib.parse.unquote(value)})
        case ["written", charset]:
            named = urllib.parse.unquote(charset)
            _send(handler, 200, "grüße".encode(named.strip('"')), {"content-type": f"text/plain; charset={named}"})
        case ["said", charset]:
            _send(handler, 200, "gr\\u00fcße".encode(), {"content-type": f"text/plain;charset={charset}"})
        case ["redirect", number]:
            _send(handler, int(number), b"", {"location": handler.path.partition("?to=")[2]})
        case ["large"]:
            _send(handler, 200, b"x" * 5000, {})
        case ["gzip"]:
            _send(handler, 200, b"zzz", {"content-encoding": "gzip"})
        case ["slow"]:
            with contextlib.suppress(OSError):
                _send(handler, 200, b"late", {})
        case ["broken"]:
            handler.close_connection = True
        case ["half"]:
            handler.send_response(200)
            handler.send_header("content-length", "9")
            handler.end_headers()
            handler.wfile.write(b"half")
            handler.close_connection = True
        case _:
            _send(handler, 200, "grüße".encode(), {"content-type": "text/plain"})


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)
