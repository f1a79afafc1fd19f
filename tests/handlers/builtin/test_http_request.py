"""`builtin:http-request` against a real server: what is sent, what comes back, and what is refused."""

from __future__ import annotations

import asyncio
import email.utils
import gc
import socket
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from openskelo import errors
from openskelo.executors.attempt import performer as attempt_performer
from openskelo.handlers import http_exchange
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject
from tests.executors import workshop
from tests.handlers import web


@pytest.fixture(name="site")
def _site() -> Iterator[web.Site]:
    with web.serving() as site:
        yield site


def request(root: Path, inputs: JsonObject, **config: Json) -> outcome.Outcome:
    where = workshop.project(root, allow_private_addresses=True, secrets={"KEY": "${env:MY_KEY}"})
    return workshop.outcome_of(where, workshop.task_of(asking(**config), inputs))


def asking(**config: Json) -> definition.Node:
    return definition.Node(
        key="call",
        mode="deterministic",
        handler="builtin:http-request",
        inputs=(workshop.port("v", required=False),),
        outputs=(workshop.port("status"), workshop.port("ok"), workshop.port("body")),
        config=config,
    )


def test_json_comes_back_as_a_value(tmp_path: Path, site: web.Site) -> None:
    found = request(tmp_path, {}, url=f"{site.url}/json")
    assert found.outputs == {"value": {"status": 200, "ok": True, "body": {"a": [True], "b": 1}}}
    (seen,) = site.seen
    assert (seen.method, seen.headers["host"]) == ("GET", f"127.0.0.1:{site.port}")
    assert "idempotency-key" not in seen.headers


def test_text_comes_back_as_text_and_the_url_is_a_template(tmp_path: Path, site: web.Site) -> None:
    found = request(tmp_path, {"v": "a b"}, url=site.url + "/page?q={{ inputs.v }}")
    assert found.outputs == {"value": {"status": 200, "ok": True, "body": "grüße"}}
    assert site.seen[0].path == "/page?q=a%20b"


def test_the_url_may_come_from_a_port(tmp_path: Path, site: web.Site) -> None:
    assert request(tmp_path, {"v": f"{site.url}/a"}, url_from="v", url=f"{site.url}/b").failure is None
    assert request(tmp_path, {}, url_from="v", url=f"{site.url}/b").failure is None
    assert [seen.path for seen in site.seen] == ["/a", "/b"]


def test_a_post_carries_json_and_the_idempotency_key(tmp_path: Path, site: web.Site) -> None:
    request(tmp_path, {"v": {"b": 1, "a": 2}}, url=f"{site.url}/x", method="POST", json_from="v")
    (seen,) = site.seen
    assert (seen.method, seen.body) == ("POST", b'{"a":2,"b":1}')
    assert (seen.headers["content-type"], seen.headers["idempotency-key"]) == ("application/json", workshop.key("call"))


@pytest.mark.parametrize(
    ("inputs", "config", "body"),
    [
        ({"v": "text"}, {"body_from": "v"}, b"text"),
        ({"v": [1]}, {"body_from": "v"}, b"[1]"),
        ({"v": "x"}, {"body": "<{{ inputs.v }}>"}, b"<x>"),
        ({}, {"json": {"a": None}}, b'{"a":null}'),
        ({"v": 'x"'}, {"json": {"{{ a": ["<{{ inputs.v }}>", 1]}}, b'{"{{ a":["<x\\">",1]}'),
        ({}, {"body_from": "v"}, b""),
    ],
)
def test_the_body_comes_from_a_port_or_the_config(
    tmp_path: Path, site: web.Site, inputs: JsonObject, config: dict[str, Json], body: bytes
) -> None:
    request(tmp_path, inputs, url=f"{site.url}/x", method="PUT", **config)
    assert [seen.body for seen in site.seen] == [body]


def test_two_bodies_are_refused_before_anything_is_sent(tmp_path: Path, site: web.Site) -> None:
    found = request(tmp_path, {}, url=f"{site.url}/x", method="PUT", json=1, body="x").failure
    assert found == outcome.Failure(
        code="DET_CONFIG_INVALID", message="a request has one body, not json and body", retryable=False
    )
    assert site.seen == []


def test_secrets_in_headers_are_resolved_last_and_only_in_the_authors_text(
    tmp_path: Path, site: web.Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    headers: JsonObject = {"Authorization": "Bearer ${secret:KEY}", "X-Env": "${env:MY_KEY}"}
    found = request(tmp_path, {"v": {"X-Data": "${secret:KEY}"}}, url=site.url, headers=headers, headers_from="v")
    assert found.failure is None
    sent = site.seen[0].headers
    assert (sent["authorization"], sent["x-env"]) == ("Bearer sk-very-secret", "sk-very-secret")
    assert sent["x-data"] == "${secret:KEY}"


@pytest.mark.parametrize(
    ("status", "retryable"), [(500, True), (503, True), (429, True), (404, True), (400, False), (403, False)]
)
def test_an_error_status_fails_the_attempt(tmp_path: Path, site: web.Site, status: int, retryable: bool) -> None:
    assert request(tmp_path, {}, url=f"{site.url}/status/{status}").failure == outcome.Failure(
        code="HTTP_STATUS",
        message=f"the server answered with status {status}",
        retryable=retryable,
        retry_after_ms=7000,
    )


def test_what_a_refusal_says_is_in_the_log_without_secrets(
    tmp_path: Path, site: web.Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    asked = workshop.task_of(asking(url=f"{site.url}/refuse", headers={"X-Key": "key ${env:MY_KEY}"}), {})
    where = workshop.project(tmp_path, allow_private_addresses=True)
    (done,) = workshop.perform(where, asked)
    assert workshop.code_of(done.outcome) == "HTTP_STATUS"
    told = "not with [secret]: " + "x" * 2000
    assert workshop.log_of(done) == f"status 422, text/plain\n{told[:1024]} … {len(told) - 1024} more characters\n"


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("0", 0, 0),
        ("999999999", 86_400_000, 86_400_000),
        pytest.param("9" * 5000, 86_400_000, 86_400_000, id="more digits than Python reads"),
        # Told when the tests are collected: it has an id that is the same in every process, and may be late.
        pytest.param(email.utils.formatdate(time.time() + 3600, usegmt=True), 600_000, 3_600_000, id="in an hour"),
        (email.utils.formatdate(0, usegmt=True), 0, 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400_000, 86_400_000),
    ],
)
def test_the_servers_wish_to_wait_is_passed_on(tmp_path: Path, site: web.Site, value: str, low: int, high: int) -> None:
    found = request(tmp_path, {}, url=f"{site.url}/after/{urllib.parse.quote(value)}")
    assert found.failure is not None
    assert found.failure.retry_after_ms is not None
    assert low <= found.failure.retry_after_ms <= high


@pytest.mark.parametrize("value", ["soon", "-1", "Fri, 99 Foo 2020", ""])
def test_a_wish_that_cannot_be_read_is_none(tmp_path: Path, site: web.Site, value: str) -> None:
    found = request(tmp_path, {}, url=f"{site.url}/after/{urllib.parse.quote(value) or '%20'}")
    assert found.failure is not None
    assert found.failure.retry_after_ms is None


def test_the_item_of_a_foreach_is_seen(tmp_path: Path, site: web.Site) -> None:
    one = workshop.task_of(asking(url=site.url + "/{{ item.id }}"), {}, item={"id": 7}, item_index=0)
    workshop.outcome_of(workshop.project(tmp_path, allow_private_addresses=True), one)
    assert [seen.path for seen in site.seen] == ["/7"]


def test_an_accepted_status_is_an_answer(tmp_path: Path, site: web.Site) -> None:
    found = request(tmp_path, {}, url=f"{site.url}/status/404", accept_status=[404])
    assert found.outputs == {"value": {"status": 404, "ok": False, "body": "told so"}}


def test_redirects_are_followed(tmp_path: Path, site: web.Site) -> None:
    found = request(tmp_path, {}, url=f"{site.url}/redirect/302?to=/json")
    assert found.failure is None
    assert [seen.path for seen in site.seen] == ["/redirect/302?to=/json", "/json"]


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [(303, "PUT", "GET"), (301, "POST", "GET"), (302, "POST", "GET"), (307, "POST", "POST"), (308, "PUT", "PUT")],
)
def test_a_redirect_changes_the_method_where_it_must(
    tmp_path: Path, site: web.Site, status: int, method: str, then: str
) -> None:
    request(tmp_path, {"v": 1}, url=f"{site.url}/redirect/{status}?to=/x", method=method, json_from="v")
    assert [(seen.method, seen.body) for seen in site.seen] == [(method, b"1"), (then, b"1" if then == method else b"")]


def test_private_headers_stay_with_their_origin(
    tmp_path: Path, site: web.Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    headers: JsonObject = {"Authorization": "mine", "X-Key": "${secret:KEY}", "X-Plain": "yes"}
    with web.serving() as other:
        request(tmp_path, {}, url=f"{site.url}/redirect/307?to={other.url}/json", headers=headers)
        (seen,) = other.seen
    assert (seen.headers.get("authorization"), seen.headers.get("x-key")) == (None, None)
    assert seen.headers["x-plain"] == "yes"
    assert site.seen[0].headers["x-key"] == "sk-very-secret"


@pytest.mark.parametrize(
    ("path", "config", "code"),
    [
        ("/large", {"max_bytes": 4999}, "HTTP_TOO_LARGE"),
        ("/slow", {"timeout_ms": 50}, "TIMEOUT"),
        ("/gzip", {}, "HTTP_FAILED"),
        ("/broken", {}, "HTTP_FAILED"),
        ("/badjson", {}, "HTTP_BODY_INVALID"),
        ("/largenumber", {}, "NUMBER_RANGE"),
        ("/doubledkey", {}, "DUPLICATE_KEY"),
        ("/redirect/302?to=file:///etc/passwd", {}, "HTTP_URL_INVALID"),
        ("/redirect/302?to=http://[", {}, "HTTP_FAILED"),
        ("/x", {"headers": {"Host": "elsewhere"}}, "DET_CONFIG_INVALID"),
        ("/x", {"headers": {"X": "a\r\nB: c"}}, "DET_CONFIG_INVALID"),
        ("/x", {"headers": {"bad name": "a"}}, "DET_CONFIG_INVALID"),
        ("/x", {"headers": {"X": "${secret:NONE}"}}, "SECRET_MISSING"),
        ("/x", {"headers": {"X": "${env:NOT_SET_AT_ALL}"}}, "SECRET_MISSING"),
        ("/x", {"headers": {"X": "ü"}}, "DET_CONFIG_INVALID"),
        ("/x", {"metod": "GET"}, "DET_CONFIG_INVALID"),
        ("/x", {"method": "get"}, "DET_CONFIG_INVALID"),
        ("/{{ inputs. }}", {}, "EXPR_INVALID"),
        ("/{{ inputs.none }}", {}, "EXPR_FAILED"),
    ],
)
def test_every_refusal_has_its_code(
    tmp_path: Path, site: web.Site, path: str, config: dict[str, Json], code: str
) -> None:
    found = request(tmp_path, {}, url=site.url + path, **config)
    assert workshop.code_of(found) == code
    assert found.failure is not None
    # the other side may answer better
    again = {"TIMEOUT", "HTTP_FAILED", "HTTP_BODY_INVALID", "NUMBER_RANGE", "DUPLICATE_KEY"}
    assert found.failure.retryable is (code in again)


@pytest.mark.parametrize(
    ("path", "config", "code", "happened"),
    [
        ("/slow", {"timeout_ms": 2_000}, "TIMEOUT", "unknown"),
        ("/broken", {}, "HTTP_FAILED", "unknown"),
        ("/half", {}, "HTTP_FAILED", "unknown"),
        ("/gzip", {}, "HTTP_FAILED", "yes"),
        ("/large", {"max_bytes": 10}, "HTTP_TOO_LARGE", "yes"),
        ("/badjson", {}, "HTTP_BODY_INVALID", "yes"),
        ("/status/503", {}, "HTTP_STATUS", "no"),
        ("/redirect/303?to=/status/503", {}, "HTTP_STATUS", "unknown"),
        ("/redirect/303?to=http://[::1]:1/", {}, "HTTP_FAILED", "unknown"),
        ("/redirect/302?to=http://no-such-host.invalid/", {}, "HTTP_FAILED", "unknown"),
        ("/redirect/307?to=/status/503", {}, "HTTP_STATUS", "no"),
        ("/redirect/307?to=http://[::1]:1/", {}, "HTTP_FAILED", "no"),
        ("/x", {"headers": {"Host": "elsewhere"}}, "DET_CONFIG_INVALID", "no"),
    ],
)
def test_a_failure_says_whether_what_was_asked_for_may_have_happened(
    tmp_path: Path, site: web.Site, path: str, config: dict[str, Json], code: str, happened: errors.Happened
) -> None:
    found = request(tmp_path, {}, url=site.url + path, method="POST", json={"amount": 5}, **config).failure
    assert found is not None
    assert (found.code, found.happened) == (code, happened)


def test_nothing_has_happened_before_a_connection_stands(tmp_path: Path) -> None:
    with socket.socket() as silent:  # it listens, its one place is taken, and the system lets nobody else in
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        port = silent.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        found = request(tmp_path, {}, url=f"http://127.0.0.1:{port}/", method="POST", timeout_ms=200).failure
        for one in waiting:
            one.close()
    assert found == outcome.Failure(code="TIMEOUT", message="no complete answer within 200 ms")


def test_endless_redirects_end(tmp_path: Path, site: web.Site) -> None:
    loop = f"{site.url}/redirect/302?to="
    found = request(tmp_path, {}, url=loop + loop * 8)
    assert workshop.code_of(found) == "HTTP_REDIRECTS"
    assert len(site.seen) == 6


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "ftp://example.org/",
        "http://",
        "http://user:pw@127.0.0.1/",
        "http://[::1",
        "http://a\tb/",
        "http://\ud800/",
        "http://127.0.0.1:99999/",
        "",
        "http://" + "a" * 70 + ".test/",
    ],
)
def test_a_url_that_cannot_be_used_is_refused(tmp_path: Path, url: str) -> None:
    found = request(tmp_path, {"v": url}, url_from="v")
    assert workshop.code_of(found) in {"HTTP_URL_INVALID", "HTTP_FAILED", "INPUT_CONTRACT"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_private_addresses_are_refused_however_they_are_written(tmp_path: Path, site: web.Site, host: str) -> None:
    one = workshop.task_of(asking(url=f"http://{host}:{site.port}/"), {})
    found = workshop.outcome_of(workshop.project(tmp_path), one)
    assert workshop.code_of(found) == "HTTP_ADDRESS_REFUSED"
    assert site.seen == []


def test_a_name_with_several_addresses_reaches_the_one_that_listens(tmp_path: Path, site: web.Site) -> None:
    assert request(tmp_path, {}, url=f"http://localhost:{site.port}/json").failure is None
    assert site.seen[0].headers["host"] == f"localhost:{site.port}"


def test_nobody_listening_is_a_failure_worth_retrying(tmp_path: Path) -> None:
    with web.serving() as gone:
        url = gone.url
    assert request(tmp_path, {}, url=url).failure == outcome.Failure(
        code="HTTP_FAILED", message=f"no answer from 127.0.0.1:{gone.port} (Connection refused)"
    )


@pytest.mark.parametrize("charset", ["iso-8859-1", '"ISO-8859-1"', "windows-1252", "utf-16", "utf-8"])
def test_a_text_is_read_as_the_server_says_that_it_is_written(tmp_path: Path, site: web.Site, charset: str) -> None:
    found = request(tmp_path, {}, url=f"{site.url}/written/{urllib.parse.quote(charset)}")
    assert found.outputs == {"value": {"status": 200, "ok": True, "body": "grüße"}}


@pytest.mark.parametrize("charset", ["unicode_escape", "iso-8859-12", "nobody", "hex"])
def test_an_encoding_that_is_no_texts_is_read_as_utf_8(tmp_path: Path, site: web.Site, charset: str) -> None:
    found = request(tmp_path, {}, url=f"{site.url}/said/{charset}")
    assert found.outputs == {"value": {"status": 200, "ok": True, "body": "gr\\u00fcße"}}


@pytest.mark.parametrize(
    ("found", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("nonsense", False),
    ],
)
def test_only_ordinary_internet_addresses_are_public(found: str, public: bool) -> None:
    assert http_exchange.is_public(found) is public


def test_an_unknown_host_is_a_failure() -> None:
    with pytest.raises(errors.AttemptFailed, match="cannot be resolved"):
        asyncio.run(http_exchange.resolve("no-such-host.invalid", 80, allow_private=False))


def test_cancelling_ends_the_request_at_once(tmp_path: Path, site: web.Site) -> None:
    async def scenario() -> None:
        performer = attempt_performer.Performer(
            project=workshop.project(tmp_path, allow_private_addresses=True), blobs=workshop.MemoryBlobs()
        )
        running = asyncio.create_task(performer.perform(workshop.job_of(asking(url=f"{site.url}/slow"), {})))
        while not site.seen:  # noqa: ASYNC110 -- the server is in another thread
            await asyncio.sleep(0.01)
        running.cancel()
        done, _ = await asyncio.wait([running], timeout=30)  # nobody ever answers
        assert done == {running}
        assert running.cancelled()

    asyncio.run(scenario())


def test_tls_is_checked_against_the_name_although_the_address_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = web.certificate(tmp_path, "localhost")
    with web.serving(certificate) as site:
        url = f"https://localhost:{site.port}/json"
        http_exchange.tls_context.cache_clear()
        assert workshop.code_of(request(tmp_path, {}, url=url)) == "HTTP_FAILED"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        http_exchange.tls_context.cache_clear()
        assert request(tmp_path, {}, url=url).failure is None
        assert workshop.code_of(request(tmp_path, {}, url=url.replace("localhost", "127.0.0.1"))) == "HTTP_FAILED"
        assert [seen.headers["host"] for seen in site.seen] == [f"localhost:{site.port}"]
    http_exchange.tls_context.cache_clear()


def test_the_body_of_a_request_is_gone_with_it(site: web.Site) -> None:
    body = b"x" * 1_000_000
    asked = http_exchange.Request(method="POST", url=f"{site.url}/echo", headers={}, body=body, allow_private=True)
    held = sys.getrefcount(body)
    gc.disable()
    try:
        assert asyncio.run(http_exchange.exchange(asked)).status == 200
        assert sys.getrefcount(body) == held
    finally:
        gc.enable()
    assert site.seen[0].body == body
