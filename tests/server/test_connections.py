"""Slow, half-sent and too many requests: they cost the server a bounded number of descriptors, and no run its steps."""

from __future__ import annotations

import contextlib
import re
import resource
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from openskelo import http_connections
from openskelo.kernel.json import Json
from openskelo.server import middleware, settings
from openskelo.structs import replace
from tests.server import house, test_serve

HALF = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20)


def read_all(client: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(65536):
            data += part
    return data


def read_one(client: socket.socket) -> bytes:
    """The beginning of what the server sends first."""
    return client.recv(65536)


@pytest.fixture
def small(tmp_path: Path) -> Generator[house.House]:
    """A server with few connections, which takes small bodies."""

    def change(found: settings.Settings) -> settings.Settings:
        return replace(found, limits=settings.Limits(connections=4, body_bytes=1000, body_seconds=0.3))

    with house.open_house(tmp_path / "small", change) as home:
        yield home


# -- deadlines --------------------------------------------------------------------------------------------------------


def test_a_head_that_does_not_arrive_in_time_is_a_408(small: house.House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HEAD_SECONDS", 0.3)
    with connect(small.url) as client:
        client.sendall(HALF)
        for _ in range(3):  # more bytes do not move the deadline
            time.sleep(0.05)
            client.sendall(b"x")
        assert read_all(client).startswith(b"HTTP/1.1 408 Request Timeout\r\n")


def test_a_connection_without_a_byte_is_closed(small: house.House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HEAD_SECONDS", 0.2)
    with connect(small.url) as client:
        assert read_all(client) == b""


def test_the_second_request_of_a_connection_has_the_deadline_too(
    small: house.House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connections, "HEAD_SECONDS", 0.3)
    with connect(small.url) as client:
        client.sendall(HALF + b"\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
        client.sendall(HALF)
        assert b"HTTP/1.1 408 Request Timeout\r\n" in read_all(client)


def test_a_body_that_does_not_arrive_in_time_is_a_408(small: house.House) -> None:
    with connect(small.url) as client:
        client.sendall(b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b'"code":"BODY_TOO_LATE"' in answer


# -- the limit --------------------------------------------------------------------------------------------------------


def test_half_sent_requests_make_room_for_whole_ones(small: house.House) -> None:
    with contextlib.ExitStack() as opened:
        slow = [opened.enter_context(connect(small.url)) for _ in range(12)]
        for client in slow:
            client.sendall(HALF)
        with small.client() as client:
            assert client.get("/api/health").status_code == 200
        closed = [client for client in slow[:8] if read_all(client) == b""]
        assert len(closed) == 8  # the oldest


def test_a_server_whose_connections_are_all_in_use_says_so(small: house.House) -> None:
    with contextlib.ExitStack() as opened:
        for _ in range(4):
            stream = opened.enter_context(connect(small.url))
            stream.sendall(b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert stream.recv(15) == b"HTTP/1.1 200 OK"
        late = opened.enter_context(connect(small.url))
        assert read_all(late).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")


@pytest.mark.parametrize(("wanted", "expected"), [(10, 10), (100_000, 20_000 - 256 - 64)])
def test_connections_leave_descriptors_to_the_runs(monkeypatch: pytest.MonkeyPatch, wanted: int, expected: int) -> None:
    def limits(_: int) -> tuple[int, int]:
        return (20_000, 20_000)

    monkeypatch.setattr(http_connections.resource, "getrlimit", limits)
    assert http_connections.max_connections(wanted) == expected


# -- log-ins, which need no token -------------------------------------------------------------------------------------

#: The head of a log-in whose form does not come.
LOG_IN = (
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: %d\r\n\r\n"
)


@contextlib.contextmanager
def narrow_house(root: Path) -> Generator[tuple[house.House, str]]:
    """A server that takes two requests at a time, and a token of an operator."""
    tokens_made: dict[str, str] = {}

    def change(found: settings.Settings) -> settings.Settings:
        return replace(found, without_token=False, limits=settings.Limits(requests=2))

    with house.open_house(root, change, {"olga": "operator"}, tokens_made) as home:
        yield home, tokens_made["olga"]


def test_slow_log_ins_keep_nobody_out_who_has_a_token(tmp_path: Path) -> None:
    with contextlib.ExitStack() as opened:
        home, token = opened.enter_context(narrow_house(tmp_path / "narrow"))
        slow = [opened.enter_context(connect(home.url)) for _ in range(middleware.LOGIN_LIMITS.requests)]
        for client in slow:
            client.sendall(LOG_IN % 100 + b"t")
        client = opened.enter_context(home.client(token))
        while client.post("/login", data={"token": token}).status_code != 503:  # until all slow ones are read
            time.sleep(0.02)
        assert client.get("/api/runs").status_code == 200
        assert client.get("/api/health").status_code == 200
        assert all(read_all(one).startswith(b"HTTP/1.1 408 ") for one in slow)
        assert client.post("/login", data={"token": token}).status_code == 303


def test_a_log_in_has_a_small_body(tmp_path: Path) -> None:
    with narrow_house(tmp_path / "narrow") as (home, _), connect(home.url) as client:
        client.sendall(LOG_IN % 100_000 + b"t")
        assert read_one(client).startswith(b"HTTP/1.1 413 ")


def test_bodies_that_are_dropped_hold_few_connections(tmp_path: Path) -> None:
    with contextlib.ExitStack() as opened:
        home, token = opened.enter_context(narrow_house(tmp_path / "narrow"))
        head = b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"
        slow = [opened.enter_context(connect(home.url)) for _ in range(middleware.MAX_DROPS + 1)]
        for client in slow:
            client.sendall(head)
        assert read_one(slow[-1]).startswith(b"HTTP/1.1 413 ")
        assert opened.enter_context(home.client(token)).get("/api/runs").status_code == 200


def test_a_log_in_that_is_broken_off_is_no_defect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def change(found: settings.Settings) -> settings.Settings:
        return replace(found, access_log=True)

    caplog.set_level("INFO")
    with house.open_house(tmp_path / "left", change) as home:
        with connect(home.url) as client:
            client.sendall(LOG_IN % 100 + b"t")
        end = time.monotonic() + 20
        while not (lines := [record for record in caplog.records if record.name == "openskelo.access"]):
            assert time.monotonic() < end
            time.sleep(0.02)
    assert "POST /login 400 " in lines[0].getMessage()
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
    assert "Traceback" not in capfd.readouterr().err


# -- bodies that are too large ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2000, 5_000_000])
def test_a_client_that_sends_all_of_a_large_body_gets_the_413(small: house.House, size: int) -> None:
    """`urllib` sends the whole body first, and `Connection: close`."""
    request = urllib.request.Request(
        f"{small.url}/api/runs", data=b" " * size, headers={"content-type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    with refused.value as answer:
        assert (answer.code, b'"code":"BODY_TOO_LARGE"' in answer.read()) == (413, True)


def test_a_body_without_an_end_is_cut(small: house.House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "MAX_DROPPED_BYTES", 300_000)
    with connect(small.url) as client:
        client.sendall(b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            client.sendall(chunk * 500)


# -- a process with few descriptors -----------------------------------------------------------------------------------

FILES: dict[str, Json] = {
    "name": "files",
    "blocks": [
        {
            "id": f"s{number}",
            "mode": "deterministic",
            "after": [f"s{number - 1}"] if number else [],
            "outputs": {"n": "integer"},
            "deterministic": {"handler": "handlers.py:touch"},
        }
        for number in range(8)
    ],
    "outputs": {"n": "s7.n"},
}
HANDLERS = """
import asyncio
from pathlib import Path

async def touch(ctx):
    await asyncio.sleep(0.05)
    files = [open(f"file{number}", "w") for number in range(10)]
    await asyncio.sleep(0.05)
    for file in files:
        file.close()
    return {"n": int(ctx.block_id[1:])}
"""


#: How many half-sent requests are held open beside a running workflow.
HALF_SENT = 2000


@contextlib.contextmanager
def enough_descriptors(wanted: int) -> Generator[None]:
    """Let this process, which is the attacker, have this many files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_a_flood_of_half_sent_requests_fails_no_step(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("name: few\n")
    (tmp_path / "handlers.py").write_text(HANDLERS)
    (tmp_path / "files.yaml").write_text(yaml.safe_dump(FILES))
    with contextlib.ExitStack() as opened:
        opened.enter_context(enough_descriptors(HALF_SENT + 200))
        launcher = ("sh", "-c", 'ulimit -n 200 && exec "$@"', "sh")
        process, client = opened.enter_context(test_serve.served(tmp_path, launcher=launcher))
        run_id = house.start(client, "files.yaml")["id"]
        for _ in range(HALF_SENT):
            slow = opened.enter_context(connect(str(client.base_url)))
            slow.sendall(HALF)
        ended = house.until(client, run_id, lambda found: found["ending"] is not None)
        assert (ended["ending"], ended["outputs"]) == ("ok", {"n": 7})
        nodes = client.get(f"/api/runs/{run_id}/events", params={"limit": 500}).text
        assert "Too many open files" not in nodes
        assert test_serve.stop(process, signal.SIGTERM) == 0
        assert process.stderr is not None
        log = process.stderr.read()
    assert len(re.findall("out of system resource", log)) <= 1
    assert len(re.findall("connections are taken", log)) == 1
