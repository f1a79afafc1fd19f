"""`Idempotency-Key`: done once, answered alike, over restarts too."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import signal
import sqlite3
import threading
import uuid
from pathlib import Path

import httpx
import pytest
import yaml

from openskelo.server import idempotency
from openskelo.server.auth import tokens
from openskelo.stores import process_locks
from tests import forked_skelo
from tests.server import house, test_serve

BODY = {"workflow": "each.yaml", "inputs": {"words": ["a"]}}


def _post(client: httpx.Client, key: str, body: object = BODY) -> httpx.Response:
    return client.post("/api/runs", json=body, headers={"idempotency-key": key})


def test_the_same_request_is_done_once(client: httpx.Client) -> None:
    first, second = _post(client, "once"), _post(client, "once")
    assert (first.status_code, second.status_code, second.content) == (201, 201, first.content)
    assert second.headers["idempotent-replayed"] == "true"
    assert second.headers["location"] == first.headers["location"]
    assert _post(client, "another").json()["id"] != first.json()["id"]


def test_another_request_with_the_same_key_is_refused(client: httpx.Client) -> None:
    assert _post(client, "taken").status_code == 201
    other = _post(client, "taken", {"workflow": "review.yaml"})
    assert house.problem(other) == (409, "IDEMPOTENCY_CONFLICT")


def test_an_error_is_answered_alike(client: httpx.Client) -> None:
    wrong = {"workflow": "each.yaml"}
    first, second = _post(client, "wrong", wrong), _post(client, "wrong", wrong)
    assert house.problem(first) == (422, "INPUT_MISSING")
    assert (second.status_code, second.content) == (422, first.content)


@pytest.mark.parametrize(
    "refused",
    [
        {"workflow": "each.yaml"},  # an input is missing
        {"workflow": "nothing.yaml"},
        {"workflow": 1},  # not even of the right form
        {"workflow": "each.yaml", "unknown": 1},
    ],
)
def test_a_refused_request_has_done_nothing_and_leaves_its_key_free(client: httpx.Client, refused: object) -> None:
    key = hashlib.sha256(repr(refused).encode()).hexdigest()
    assert _post(client, key, refused).status_code in (404, 422)
    mended = _post(client, key)
    assert (mended.status_code, mended.headers.get("idempotent-replayed")) == (201, None)
    again = _post(client, key)
    assert (again.content, again.headers["idempotent-replayed"]) == (mended.content, "true")


def test_requests_that_come_together_after_a_refused_one_are_done_once(home: house.House) -> None:
    """Each of them waits for the one before, however that one ended."""

    async def all_at_once() -> list[str]:
        run_id, node_id, _ = await asyncio.to_thread(_live_graph)
        body = {"nodeId": node_id, "content": "hello"}
        async with httpx.AsyncClient(base_url=home.url) as client:

            async def say(content: object) -> None:
                asking = {**body, "content": content}
                await client.post(f"/api/runs/{run_id}/chat", json=asking, headers={"idempotency-key": "said"})

            await asyncio.gather(say(1), *(say("hello") for _ in range(12)))
            told = (await client.get(f"/api/runs/{run_id}/events", params={"limit": 1000})).json()["events"]
            return [one["message"]["content"] for one in told if one["type"] == "message.user"]

    def _live_graph() -> tuple[str, str, str]:
        with home.client() as client:
            return house.live_graph(client)

    assert asyncio.run(all_at_once()) == ["hello"]


def test_requests_that_come_together_are_done_once(home: house.House) -> None:
    async def all_at_once() -> set[str]:
        async with httpx.AsyncClient(base_url=home.url) as client:
            asking = [client.post("/api/runs", json=BODY, headers={"idempotency-key": "crowd"}) for _ in range(8)]
            return {answer.json()["id"] for answer in await asyncio.gather(*asking)}

    assert len(asyncio.run(all_at_once())) == 1


def test_the_answer_is_the_same_after_a_restart(tmp_path: Path) -> None:
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        first = _post(client, "kept")
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        second = _post(client, "kept")
        assert second.content == first.content
        assert len(client.get("/api/runs").json()["runs"]) == 1


def test_a_request_that_was_cut_before_its_answer_was_kept_finds_its_run(tmp_path: Path) -> None:
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        first = _post(client, "cut").json()["id"]

        async def forget_the_answer() -> None:
            store = home.engine.store
            key = "idempotency:" + hashlib.sha256(b"ann\ncut").hexdigest()
            known = await store.read_note(key)
            assert known is not None
            await store.save_note(key, {**known, "answer": None, "owner": uuid.uuid4().hex}, at=1)

        home.run(forget_the_answer())
        again = _post(client, "cut")
        assert (again.status_code, again.json()["id"]) == (201, first)
        assert len(client.get("/api/runs").json()["runs"]) == 1


def test_a_request_that_another_living_server_works_on_has_to_wait(tmp_path: Path) -> None:
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        _post(client, "shared")
        store = home.engine.store
        other = process_locks.ProcessLocks(home.root / ".skelo" / "servers")
        key = "idempotency:" + hashlib.sha256(b"ann\nshared").hexdigest()
        known = home.run(store.read_note(key))
        assert known is not None
        home.run(store.save_note(key, {**known, "answer": None, "owner": other.own_id()}, at=1))
        assert house.problem(_post(client, "shared")) == (409, "IDEMPOTENCY_RUNNING")
        other.release()  # as the operating system does when a process is killed
        assert _post(client, "shared").status_code == 201
    assert list((tmp_path / "own" / ".skelo" / "servers").iterdir()) == []


def test_answers_are_to_one_person_only(tmp_path: Path) -> None:
    made: dict[str, str] = {}
    roles: dict[str, tokens.Role] = {"olga": "operator", "oleg": "operator"}
    with (
        house.open_house(tmp_path / "own", house.demanding, roles, made) as home,
        home.client(made["olga"]) as olga,
        home.client(made["oleg"]) as oleg,
    ):
        assert _post(olga, "same").json()["id"] != _post(oleg, "same").json()["id"]


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb"])
def test_a_key_that_is_none_is_refused(client: httpx.Client, key: str) -> None:
    assert house.problem(_post(client, key)) == (422, "IDEMPOTENCY_KEY")


def test_old_answers_are_forgotten(home: house.House, client: httpx.Client) -> None:
    _post(client, "old")

    async def age() -> int:
        store = home.engine.store
        await store.save_note("idempotency:aged", {"fingerprint": "x"}, at=1)
        own = idempotency.Idempotency(store, home.root / ".skelo")
        await own.delete_old()
        own.close()
        return 0 if await store.read_note("idempotency:aged") is None else 1

    assert home.run(age()) == 0
    assert _post(client, "old").headers["idempotent-replayed"] == "true"


def test_old_answers_are_forgotten_while_the_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "CLEANUP_MS", 0)
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        store = home.engine.store
        home.run(store.save_note("idempotency:aged", {"fingerprint": "x"}, at=1))
        assert _post(client, "new").status_code == 201
        assert home.run(store.read_note("idempotency:aged")) is None
        assert _post(client, "new").headers["idempotent-replayed"] == "true"


def _kill_inside_a_request(root: Path, process: forked_skelo.Process, client: httpx.Client) -> str:
    """Send requests until the server is killed between the note of a key and its answer; return that key."""
    notes = "SELECT document FROM notes WHERE key LIKE 'idempotency:%'"

    def send(key: str) -> None:
        with contextlib.suppress(httpx.TransportError):  # the server is killed
            _post(client, key, {"workflow": "asking.yaml"})

    with contextlib.closing(sqlite3.connect(root / ".skelo" / "log.db", isolation_level=None)) as reading:
        for number in range(500):
            sending = threading.Thread(target=send, args=(f"k{number}",))
            sending.start()
            while sending.is_alive() and len(reading.execute(notes).fetchall()) <= number:
                pass
            process.send_signal(signal.SIGSTOP)  # what it has not answered now, it does not answer
            cut = any("answer" not in json.loads(document) for (document,) in reading.execute(notes))
            process.send_signal(signal.SIGKILL if cut else signal.SIGCONT)
            sending.join()
            if cut:
                return f"k{number}"
    raise AssertionError("no request was cut between its note and its answer")


def test_a_key_whose_server_was_killed_before_it_answered_works_at_the_next_server_at_once(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("name: killed\n")
    (tmp_path / "asking.yaml").write_text(yaml.safe_dump(test_serve.ASKING))
    with test_serve.served(tmp_path) as (process, client):
        key = _kill_inside_a_request(tmp_path, process, client)
        assert process.wait(20) == -9
    with test_serve.served(tmp_path) as (_, client):
        before = len(client.get("/api/runs").json()["runs"])
        first, second = [_post(client, key, {"workflow": "asking.yaml"}) for _ in range(2)]
        assert (first.status_code, second.status_code, second.content) == (201, 201, first.content)
        ids = [run["id"] for run in client.get("/api/runs").json()["runs"]]
        assert ids.count(first.json()["id"]) == 1
        assert len(ids) - before in (0, 1)
