"""Who is let in: by Host, Origin, token, cookie and role; and what nobody gets to see."""

from __future__ import annotations

import html
import re
import socket
import time
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from websockets import exceptions
from websockets.sync import client as websockets

from openskelo import errors
from openskelo.server import middleware, settings
from openskelo.server.auth import guard, tokens
from openskelo.server.stream import routes
from openskelo.structs import replace
from tests.server import conftest, house

ROLES: dict[str, tokens.Role] = {"vera": "viewer", "abel": "approver", "olga": "operator"}


class Locked:
    """A house that demands tokens, and the tokens."""

    def __init__(self, home: house.House, made: dict[str, str]) -> None:
        self.home = home
        self.made = made

    def as_(self, name: str) -> httpx.Client:
        return self.home.client(self.made[name])


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Generator[Locked]:
    made: dict[str, str] = {}
    root = tmp_path_factory.mktemp("locked")

    def patient(found: settings.Settings) -> settings.Settings:
        return replace(house.demanding(found), limits=settings.Limits(wrong_tokens=1000))

    with house.open_house(root, patient, ROLES, made) as home:
        yield Locked(home, made)


# -- where requests come from -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "",
        "127.0.0.1:1@evil.example",
        "127.0.0.1:evil.example",
    ],
)
def test_a_name_that_was_made_to_point_here_is_refused(client: httpx.Client, host: str) -> None:
    assert house.problem(client.get("/api/runs", headers={"host": host})) == (403, "HOST_UNKNOWN")


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:9"])
def test_names_of_this_machine_are_welcome(client: httpx.Client, host: str) -> None:
    assert client.get("/api/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "x"])
def test_other_sites_are_refused(client: httpx.Client, origin: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        answer = client.request(method, "/api/runs", headers={"origin": origin})
        assert house.problem(answer) == (403, "ORIGIN_FOREIGN")
        assert "access-control-allow-origin" not in answer.headers


def test_a_second_origin_is_not_overlooked(home: house.House, client: httpx.Client) -> None:
    for origins in ((home.url, "http://evil.example"), ("http://evil.example", home.url)):
        answer = client.get("/api/runs", headers=[("origin", origin) for origin in origins])
        assert house.problem(answer) == (403, "ORIGIN_FOREIGN")


def test_this_server_s_own_pages_are_welcome(home: house.House, client: httpx.Client) -> None:
    assert client.get("/api/runs", headers={"origin": home.url}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_foreign_page_embeds_is_refused(client: httpx.Client, site: str) -> None:
    answer = client.get("/api/runs", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"})
    assert house.problem(answer) == (403, "ORIGIN_FOREIGN")


def test_a_link_from_elsewhere_leads_to_the_pages_and_not_to_the_api(client: httpx.Client) -> None:
    visit = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=visit).status_code == 200
    assert client.get("/api/runs", headers=visit).status_code == 403


def test_a_socket_from_another_site_is_refused(home: house.House) -> None:
    address = home.url.replace("http", "ws") + "/ws"
    with pytest.raises(exceptions.InvalidStatus) as refused:
        websockets.connect(address, origin="http://evil.example")  # pyright: ignore[reportArgumentType] - a plain text
    assert refused.value.response.status_code == 403
    with websockets.connect(address, origin=home.url) as socket_:  # pyright: ignore[reportArgumentType]
        assert "hello" in str(socket_.recv(5))


# -- tokens -----------------------------------------------------------------------------------------------------------


def test_beyond_this_machine_a_server_without_a_token_does_not_start(tmp_path: Path) -> None:
    none = tokens.Tokens(tmp_path / "tokens.json")
    for careless in (
        settings.Settings(tokens=none, host="0.0.0.0"),
        settings.Settings(tokens=none, host="192.0.2.1"),
        settings.Settings(tokens=none, origins=("https://skelo.example",)),
        settings.Settings(tokens=none),
        settings.Settings(tokens=none, without_token=True, host="0.0.0.0"),
        settings.Settings(tokens=none, without_token=True, origins=("https://skelo.example",)),
        settings.Settings(tokens=none, without_token=True, allowed_hosts=("skelo",)),
    ):
        with pytest.raises(errors.InvalidInput) as refused:
            settings.check(careless)
        assert refused.value.code == "TOKEN_REQUIRED"
    settings.check(settings.Settings(tokens=none, without_token=True))
    settings.check(settings.Settings(tokens=tokens.Tokens(tmp_path / "x", extra="a-long-enough-token"), host="0.0.0.0"))


def test_nobody_comes_in_without_a_token(locked: Locked) -> None:
    with locked.home.client() as client:
        for path in ("/api/runs", "/api/approvals", "/api/version", "/api/openapi.json", "/api/stream", "/metrics"):
            assert house.problem(client.get(path)) == (401, "TOKEN_REQUIRED")
        assert client.get("/api/runs").headers["www-authenticate"].startswith("Bearer")
        assert client.get("/api/health").json() == {"status": "ok"}
        for header in ("Bearer wrong", "Bearer", "Basic abc", "Bearer " + "x" * 5000):
            refused = client.get("/api/runs", headers={"authorization": header})
            assert house.problem(refused) == (401, "TOKEN_UNKNOWN")
    with pytest.raises(exceptions.InvalidStatus) as refused_socket:
        websockets.connect(locked.home.url.replace("http", "ws") + "/ws")
    assert refused_socket.value.response.status_code == 403


def test_a_socket_comes_in_with_a_token(locked: Locked) -> None:
    address = locked.home.url.replace("http", "ws") + "/ws"
    with websockets.connect(address, additional_headers={"authorization": f"Bearer {locked.made['vera']}"}) as socket_:
        assert "hello" in str(socket_.recv(5))


def test_roles_bound_what_a_token_may_do(locked: Locked) -> None:
    with locked.as_("vera") as vera, locked.as_("abel") as abel, locked.as_("olga") as olga:
        run_id = house.start(olga)["id"]
        approval = house.asked(olga, run_id)["id"]
        for client in (vera, abel):
            assert client.get(f"/api/runs/{run_id}").status_code == 200
            begin = client.post("/api/runs", json={"workflow": "review.yaml"})
            assert house.problem(begin) == (403, "ROLE_NOT_ALLOWED")
            for order in ("pause", "resume", "cancel"):
                assert house.problem(client.post(f"/api/runs/{run_id}/{order}")) == (403, "ROLE_NOT_ALLOWED")
            assert house.problem(client.delete(f"/api/runs/{run_id}")) == (403, "ROLE_NOT_ALLOWED")
            assert house.problem(client.patch(f"/api/runs/{run_id}", json={})) == (403, "ROLE_NOT_ALLOWED")
            fork = client.post(f"/api/runs/{run_id}/fork", json={"node": "write"})
            assert house.problem(fork) == (403, "ROLE_NOT_ALLOWED")
        assert house.problem(house.resolve(vera, approval)) == (403, "ROLE_NOT_ALLOWED")
        assert house.resolve(abel, approval).json()["by"] == "abel"
        house.until(olga, run_id, lambda found: found["ending"] is not None)
        facts = olga.get(f"/api/runs/{run_id}/events", params={"facts": 1}).json()["facts"]
        who = {fact["type"]: fact["data"].get("by") for fact in facts if fact.get("data")}
        assert (who["run.created"], who["approval.resolved"]) == ("olga", "abel")


def test_a_token_that_is_removed_is_of_no_use_at_once(locked: Locked) -> None:
    token = locked.home.known.add("guest", "viewer")
    with locked.home.client(token) as guest:
        assert guest.get("/api/session").json() == {"name": "guest", "role": "viewer", "csrfToken": None}
        locked.home.known.remove("guest")
        assert house.problem(guest.get("/api/session")) == (401, "TOKEN_UNKNOWN")


def test_a_stream_ends_with_the_token_that_opened_it(locked: Locked) -> None:
    token = locked.home.known.add("reader", "viewer")
    address = locked.home.url.replace("http", "ws") + "/ws"
    with (
        locked.as_("olga") as olga,
        locked.home.client(token) as reader,
        reader.stream("GET", "/api/stream") as stream,
        websockets.connect(address, additional_headers={"authorization": f"Bearer {token}"}) as socket_,
    ):
        lines = stream.iter_lines()
        assert [str(socket_.recv(5))[:17] for _ in range(2)] == ['{"type":"hello","', '{"type":"snapshot']
        assert next(line for line in lines if line.startswith("event:")) == "event: hello"
        locked.home.known.remove("reader")
        time.sleep(routes.ACCESS_CHECK_SECONDS)
        run_id = house.start(olga)["id"]
        with pytest.raises(exceptions.ConnectionClosedError) as closed:
            socket_.recv(5)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "TOKEN_REQUIRED")
        assert run_id not in "".join(lines)


def test_the_file_of_tokens_holds_no_token_and_is_the_owner_s_alone(locked: Locked) -> None:
    for name in ("tokens.json", "session.key"):
        path = locked.home.root / ".skelo" / name
        assert path.stat().st_mode & 0o777 == 0o600
    text = (locked.home.root / ".skelo" / "tokens.json").read_text()
    assert not any(token in text or token.removeprefix("skelo_") in text for token in locked.made.values())


def test_wrong_tokens_are_tried_a_few_times_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made: dict[str, str] = {}

    def strict(found: settings.Settings) -> settings.Settings:
        return replace(house.demanding(found), limits=settings.Limits(wrong_tokens=3))

    with house.open_house(tmp_path / "own", strict, ROLES, made) as home, home.client() as client:
        wrong = {"authorization": "Bearer wrong"}
        found = [house.problem(client.get("/api/runs", headers=wrong))[0] for _ in range(5)]
        assert found == [401, 401, 401, 429, 429]
        assert client.post("/login", data={"token": "wrong"}).status_code == 429
    logged = [record.getMessage() for record in caplog.records if record.name == "openskelo.server.auth"]
    assert logged == [
        *["a wrong token from 127.0.0.1"] * 3,
        "too many wrong tokens from 127.0.0.1; further ones are not logged for a minute",
    ]


def test_wrong_tokens_of_strangers_lock_out_no_right_one(tmp_path: Path) -> None:
    """Behind a proxy all clients have one address."""
    made: dict[str, str] = {}

    def strict(found: settings.Settings) -> settings.Settings:
        return replace(house.demanding(found), limits=settings.Limits(wrong_tokens=3))

    with (
        house.open_house(tmp_path / "own", strict, ROLES, made) as home,
        home.client(made["vera"]) as vera,
        home.client("wrong") as stranger,
        home.client() as browser,
    ):
        assert [stranger.get("/api/runs").status_code for _ in range(4)] == [401, 401, 401, 429]
        assert vera.get("/api/runs").status_code == 200
        assert browser.post("/login", data={"token": made["abel"]}).status_code == 303
        home.known.remove("vera")
        assert vera.get("/api/runs").status_code == 429


def test_clients_behind_a_trusted_proxy_are_counted_apart(tmp_path: Path) -> None:
    def strict(found: settings.Settings) -> settings.Settings:
        limits = settings.Limits(wrong_tokens=2)
        return replace(house.demanding(found), limits=limits, trusted_proxies=("127.0.0.1",))

    with house.open_house(tmp_path / "own", strict, ROLES, {}) as home, home.client("wrong") as client:

        def statuses(address: str, count: int) -> list[int]:
            headers = {"x-forwarded-for": f"198.51.100.1, {address}"}  # the client has sent the first itself
            return [client.get("/api/runs", headers=headers).status_code for _ in range(count)]

        assert statuses("192.0.2.1", 3) == [401, 401, 429]
        assert statuses("192.0.2.2", 1) == [401]


def test_no_other_client_says_where_a_request_comes_from(tmp_path: Path) -> None:
    def strict(found: settings.Settings) -> settings.Settings:
        return replace(house.demanding(found), limits=settings.Limits(wrong_tokens=2))

    with house.open_house(tmp_path / "own", strict, ROLES, {}) as home, home.client("wrong") as client:
        headers = [{"x-forwarded-for": f"192.0.2.{number}"} for number in range(3)]
        assert [client.get("/api/runs", headers=one).status_code for one in headers] == [401, 401, 429]


# -- browsers ---------------------------------------------------------------------------------------------------------


def test_a_browser_is_led_to_the_login_page(locked: Locked) -> None:
    with locked.home.client() as browser:
        led = browser.get("/", headers={"accept": "text/html"})
        assert (led.status_code, led.headers["location"]) == (303, "/login")
        page = browser.get("/login")
        assert re.findall("<script[^>]*>", page.text) == ['<script src="/login.js" defer>']
        assert (page.status_code, "style=" in page.text) == (200, False)
        assert page.headers["content-security-policy"] == middleware.CONTENT_POLICY
        assert browser.get("/login.css").headers["content-type"].startswith("text/css")
        assert browser.get("/login.js").headers["content-type"].startswith("text/javascript")
        wrong = browser.post("/login", data={"token": "wrong"})
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)


def test_after_the_login_a_person_is_where_they_wanted_to_be(locked: Locked) -> None:
    with locked.home.client() as browser:
        led = browser.get("/approvals/1?run=a b&x=ä", headers={"accept": "text/html"})
        assert led.status_code == 303
        page = browser.get(led.headers["location"])
        (wanted,) = re.findall(r'name="next" value="([^"]*)"', page.text)
        assert wanted == "/approvals/1?run=a%20b&amp;x=%C3%A4"
        again = browser.post("/login", data={"token": "wrong", "next": html.unescape(wanted)})
        assert (again.status_code, wanted in again.text) == (401, True)
        done = browser.post("/login", data={"token": locked.made["vera"], "next": html.unescape(wanted)})
        assert (done.status_code, done.headers["location"]) == (303, "/approvals/1?run=a%20b&x=%C3%A4")


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/login",
        "/api/runs",
        "",
        "x",
        "/a\nb",
        "/" * 3000,
        "/ä",
    ],
)
def test_the_login_leads_to_no_other_site(locked: Locked, wanted: str) -> None:
    with locked.home.client() as browser:
        done = browser.post("/login", data={"token": locked.made["vera"], "next": wanted})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        page = browser.get("/login", params={"next": wanted})
        assert 'name="next" value="/"' in page.text


def test_a_link_on_another_site_is_followed_once_more_from_here_so_that_the_cookie_comes_along(locked: Locked) -> None:
    navigation = {"accept": "text/html", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    with locked.home.client() as browser:
        page = browser.get('/runs/"><script>?a=1&b=2', headers=navigation)
        assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
        assert 'content="0;url=/runs/%22%3E%3Cscript%3E?a=1&amp;b=2"' in page.text
        led = browser.get("/runs", headers={**navigation, "sec-fetch-site": "same-origin"})
        assert (led.status_code, led.headers["location"]) == (303, "/login?next=%2Fruns")


def test_a_session_needs_its_csrf_token_for_changes(locked: Locked) -> None:
    with locked.home.client() as browser:
        logged_in = browser.post("/login", data={"token": locked.made["olga"]})
        cookie = logged_in.headers["set-cookie"].lower()
        assert (logged_in.status_code, logged_in.headers["location"]) == (303, "/")
        assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/"))
        assert locked.made["olga"] not in cookie
        session = browser.get("/api/session").json()
        assert (session["name"], session["role"]) == ("olga", "operator")
        body: house.Answer = {"workflow": "each.yaml", "inputs": {"words": []}}
        assert house.problem(browser.post("/api/runs", json=body)) == (403, "CSRF_TOKEN")
        wrong = browser.post("/api/runs", json=body, headers={"x-csrf-token": "0" * 64})
        assert house.problem(wrong) == (403, "CSRF_TOKEN")
        right = browser.post("/api/runs", json=body, headers={"x-csrf-token": session["csrfToken"]})
        assert right.status_code == 201
        browser.post("/logout", headers={"x-csrf-token": session["csrfToken"]})
        assert house.problem(browser.get("/api/session")) == (401, "TOKEN_REQUIRED")


def test_a_copy_of_a_cookie_is_of_no_use_after_the_log_out(tmp_path: Path) -> None:
    made: dict[str, str] = {}
    with house.open_house(tmp_path / "own", house.demanding, ROLES, made) as home, home.client() as browser:
        browser.post("/login", data={"token": made["vera"]})
        jar = dict(browser.cookies)
        csrf = browser.get("/api/session").json()["csrfToken"]
        with home.client() as other:  # a session of the same person goes on
            other.post("/login", data={"token": made["vera"]})
            assert browser.post("/logout", headers={"x-csrf-token": csrf}).status_code == 303
            assert other.get("/api/session").json()["name"] == "vera"
        with home.client() as thief:
            thief.cookies.update(jar)
            assert house.problem(thief.get("/api/session")) == (401, "TOKEN_REQUIRED")
    with house.open_house(tmp_path / "own", house.demanding) as home, home.client() as thief:  # and after a restart
        thief.cookies.update(jar)
        assert house.problem(thief.get("/api/session")) == (401, "TOKEN_REQUIRED")
    assert (tmp_path / "own" / ".skelo" / "sessions.json").stat().st_mode & 0o777 == 0o600


def test_a_form_with_many_fields_is_refused(locked: Locked) -> None:
    with locked.home.client() as browser:
        answer = browser.post("/login", data={f"field{number}": "x" for number in range(50)})
        assert house.problem(answer) == (422, "REQUEST_INVALID")


@pytest.mark.parametrize("cookie", ["x", "a.b", "é", ".", "eyJ9." + "0" * 64, "=" * 10, '"'])
def test_a_forged_cookie_is_no_session(locked: Locked, cookie: str) -> None:
    with locked.home.client() as browser:
        browser.post("/login", data={"token": locked.made["vera"]})
        (name,) = browser.cookies
    with locked.home.client() as browser:
        answer = browser.get("/api/runs", headers=[(b"cookie", f"{name}={cookie}".encode())])
        assert house.problem(answer) == (401, "TOKEN_REQUIRED")


@pytest.mark.parametrize("other", ['prefs={"theme":"dark"}', "odd", "a b=1", "a[b]=1", "ä=1", "=", 'quoted="x;y"'])
def test_a_session_holds_beside_the_cookies_of_other_programs_on_the_host(locked: Locked, other: str) -> None:
    with locked.home.client() as browser:
        browser.post("/login", data={"token": locked.made["vera"]})
        ((name, value),) = browser.cookies.items()
        session = f"{name}={value}"
    with locked.home.client() as browser:
        for given in (f"{other}; {session}", f"{session}; {other}"):
            answered = browser.get("/api/session", headers=[(b"cookie", given.encode())])
            assert (answered.status_code, answered.json().get("name")) == (200, "vera")


def test_servers_of_two_data_dirs_on_one_host_do_not_log_each_other_out(locked: Locked, tmp_path: Path) -> None:
    """Cookies know no ports: a browser has one jar for both."""
    made: dict[str, str] = {}
    with (
        house.open_house(tmp_path / "other", house.demanding, ROLES, made) as other,
        locked.home.client() as browser,
    ):
        browser.post("/login", data={"token": locked.made["vera"]})
        browser.post(f"{other.url}/login", data={"token": made["olga"]})
        here, there = browser.get("/api/session"), browser.get(f"{other.url}/api/session")
        assert (here.status_code, there.status_code) == (200, 200)
        assert (here.json()["name"], there.json()["name"]) == ("vera", "olga")
        browser.post(f"{other.url}/logout", headers={"x-csrf-token": there.json()["csrfToken"]})
        assert browser.get("/api/session").status_code == 200
        assert browser.get(f"{other.url}/api/session").status_code == 401


def test_a_session_holds_at_every_server_of_its_data_dir(tmp_path: Path) -> None:
    made: dict[str, str] = {}
    with house.open_house(tmp_path / "own", house.demanding, ROLES, made) as home, home.client() as browser:
        browser.post("/login", data={"token": made["vera"]})
        jar = dict(browser.cookies)
    with house.open_house(tmp_path / "own", house.demanding) as home, home.client() as browser:
        browser.cookies.update(jar)
        assert browser.get("/api/session").json()["name"] == "vera"


def test_a_session_ends_with_its_token(locked: Locked) -> None:
    token = locked.home.known.add("leaving", "viewer")
    with locked.home.client() as browser:
        browser.post("/login", data={"token": token})
        assert browser.get("/api/session").status_code == 200
        locked.home.known.remove("leaving")
        locked.home.known.add("leaving", "viewer")
        assert house.problem(browser.get("/api/session")) == (401, "TOKEN_REQUIRED")


def test_cookies_are_secure_where_the_public_address_is(tmp_path: Path) -> None:
    made: dict[str, str] = {}

    def public(found: settings.Settings) -> settings.Settings:
        return replace(house.demanding(found), origins=("https://skelo.example",))

    with house.open_house(tmp_path / "own", public, ROLES, made) as home, home.client() as browser:
        proxied = {"host": "skelo.example", "origin": "https://skelo.example"}
        answer = browser.post("/login", data={"token": made["vera"]}, headers=proxied)
        assert "secure" in answer.headers["set-cookie"].lower()
        assert house.problem(browser.get("/api/runs")) == (401, "TOKEN_REQUIRED")


def test_every_answer_says_what_a_browser_may_do(client: httpx.Client) -> None:
    for path in ("/", "/login", "/api/runs", "/api/nothing", "/api/health"):
        found = client.get(path).headers
        assert found["x-content-type-options"] == "nosniff"
        assert found["content-security-policy"] == middleware.CONTENT_POLICY
        assert (found["x-frame-options"], found["referrer-policy"]) == ("DENY", "same-origin")


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Generator[house.House]:
    def change(found: settings.Settings) -> settings.Settings:
        return replace(found, limits=settings.Limits(body_bytes=1000, streams=1, requests=2))

    with house.open_house(tmp_path_factory.mktemp("narrow"), change) as home:
        yield home


def test_a_body_that_is_too_large_is_refused(narrow: house.House) -> None:
    with narrow.client() as client:
        large = client.post("/api/runs", json={"document": {"name": "x" * 2000}})
        assert house.problem(large) == (413, "BODY_TOO_LARGE")


def test_a_body_without_a_length_is_counted(narrow: house.House) -> None:
    def parts() -> Generator[bytes]:
        for _ in range(20):
            yield b" " * 100

    with narrow.client() as client:
        sent = client.post("/api/runs", content=parts(), headers={"content-type": "application/json"})
        assert house.problem(sent) == (413, "BODY_TOO_LARGE")


def test_only_so_many_streams_are_open_at_a_time(narrow: house.House) -> None:
    address = narrow.url.replace("http", "ws") + "/ws"
    with narrow.client() as client, websockets.connect(address):
        assert house.problem(client.get("/api/stream")) == (503, "SERVER_BUSY")
        with pytest.raises(exceptions.InvalidStatus):
            websockets.connect(address)


def test_streams_keep_nobody_from_asking(tmp_path: Path) -> None:
    def change(found: settings.Settings) -> settings.Settings:
        return replace(found, limits=settings.Limits(requests=1, streams=3))

    with (
        house.open_house(tmp_path, change) as home,
        home.client() as client,
        client.stream("GET", "/api/stream") as one,
        client.stream("GET", "/api/stream") as other,
    ):
        assert (one.status_code, other.status_code) == (200, 200)
        assert client.get("/api/health").json() == {"status": "ok"}


def test_what_is_no_http_harms_nobody(home: house.House, client: httpx.Client) -> None:
    host, port = home.url.removeprefix("http://").split(":")
    for noise in (b"\x00\xff\r\n\r\n", b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n", b"POST /api/runs HTTP/1.1\r\n"):
        with socket.create_connection((host, int(port)), timeout=5) as line:
            line.sendall(noise)
            line.shutdown(socket.SHUT_WR)
            line.recv(1000)
    assert client.get("/api/health").status_code == 200


# -- secrets ----------------------------------------------------------------------------------------------------------


def test_a_secret_is_in_no_answer(tmp_path: Path) -> None:
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        run_id = house.start(client)["id"]
        approval = house.asked(client, run_id)
        house.resolve(client, approval["id"])
        run = house.until(client, run_id, lambda found: found["ending"] is not None)
        paths = ["", "/events", "/events?facts=1", "/receipts", "/verify", "/nodes", "/edges", "/artifacts"]
        paths += [f"/nodes/{node}" for node in run["nodes"]]
        paths += [f"/artifacts/{artifact}/content" for artifact in run["artifacts"]]
        texts = [client.get(f"/api/runs/{run_id}{path}") for path in paths]
        texts += [client.get(path) for path in ("/api/runs", "/api/approvals", "/api/workflows", "/api/openapi.json")]
        texts += [client.post("/api/workflows/explain", json={"workflow": "review.yaml"})]
        assert run["artifacts"]
        assert any("wrote with" in answer.text for answer in texts)
        for answer in texts:
            assert (answer.status_code, conftest.PLANTED in answer.text) == (200, False)


def test_the_guard_names_an_address_it_does_not_know() -> None:
    assert guard.client_address({}) == "unknown"
