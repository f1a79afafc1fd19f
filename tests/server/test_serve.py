"""`skelo serve` as a process: it says where it is, ends cleanly, and goes on with what was left, whoever left it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
import yaml

from openskelo.cli import project_context
from openskelo.kernel.json import Json
from openskelo.server.telemetry import metrics
from tests import forked_skelo
from tests.server import house

SLOW: dict[str, Json] = {
    "name": "slow",
    "blocks": [
        {
            "id": f"s{number}",
            "mode": "deterministic",
            "after": [f"s{number - 1}"] if number else [],
            "outputs": {"n": "integer"},
            "deterministic": {"handler": "handlers.py:slow"},
        }
        for number in range(6)
    ],
    "outputs": {"n": "s5.n"},
}
HANDLERS = """
import time
from pathlib import Path

def slow(ctx):
    time.sleep(0.15)
    return {"n": int(ctx.block_id[1:])}
"""
AFTER: dict[str, Json] = {
    "id": "after",
    "mode": "deterministic",
    "inputs": {"go": {"type": "boolean", "from": "ask.approved"}},
    "outputs": {"go": "boolean"},
    "deterministic": {"handler": "builtin:pass"},
}
ASKING: dict[str, Json] = {
    "name": "asking",
    "blocks": [
        {"id": "ask", "mode": "approval", "outputs": {"approved": "boolean"}, "approval": {"prompt": "Go on?"}},
        AFTER,
    ],
    "outputs": {"go": "after.go"},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "skelo.yaml").write_text("name: served\n")
    (tmp_path / "handlers.py").write_text(HANDLERS)
    question: dict[str, Json] = {
        "id": "ask",
        "mode": "approval",
        "outputs": {"approved": "boolean"},
        "approval": {"prompt": "Quick?", "timeout_sec": 2, "on_timeout": "approve"},
    }
    expiring: dict[str, Json] = {**ASKING, "name": "expiring", "blocks": [question, AFTER]}
    for name, document in (("slow", SLOW), ("asking", ASKING), ("expiring", expiring)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(document))
    return tmp_path


@pytest.fixture(params=["1", "2"])
def processes(request: pytest.FixtureRequest) -> str:
    """How many of them drive: what holds of a server holds of one with several."""
    return f"--processes={request.param}"


def skelo(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forked_skelo.run(arguments, folder=root)


@contextlib.contextmanager
def served(
    root: Path, *arguments: str, launcher: tuple[str, ...] = ()
) -> Generator[tuple[forked_skelo.Process, httpx.Client]]:
    """A server process and a client of it; the process is ended if the test has not done that."""
    words = ["serve", "--port", "0", "--json", *arguments]
    if launcher:
        command = [*launcher, sys.executable, "-m", "openskelo.cli.main", *words]
        process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    else:
        process = forked_skelo.start(words, folder=root)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        document = json.loads(text)
        headers = {} if document["token"] is None else {"authorization": f"Bearer {document['token']}"}
        with httpx.Client(base_url=document["url"], headers=headers, timeout=20) as client:
            yield process, client
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(20)
        process.stdout.close()
        process.stderr.close()


def stop(process: forked_skelo.Process, number: int) -> int:
    process.send_signal(number)
    return process.wait(20)


def test_a_server_that_is_stopped_loses_nothing_and_the_next_goes_on(root: Path, processes: str) -> None:
    with served(root, processes) as (process, client):
        run_id = house.start(client, "slow.yaml")["id"]
        house.until(client, run_id, lambda found: found["seq"] > 4)
        assert stop(process, signal.SIGTERM) == 0
    shown = json.loads(skelo(root, "show", run_id, "--json").stdout)
    assert (shown["status"], shown["ending"]) == ("paused", None)
    with served(root, processes) as (_, client):
        done = house.until(client, run_id, lambda found: found["ending"] is not None)
        assert (done["ending"], done["outputs"]) == ("ok", {"n": 5})
        assert client.get(f"/api/runs/{run_id}/verify").json()["intact"] is True


def test_a_run_that_a_person_has_paused_stays_paused_over_a_restart(root: Path, processes: str) -> None:
    with served(root, processes) as (process, client):
        run_id = house.start(client, "slow.yaml")["id"]
        paused = client.post(f"/api/runs/{run_id}/pause", json={"reason": "look at this"}).json()
        assert paused["pauseReason"] == "look at this"
        assert paused["status"] in ("running", "paused")  # its attempt is under way, or has just ended
        assert stop(process, signal.SIGTERM) == 0
    with served(root, processes) as (_, client):
        time.sleep(1.5)  # the keeper has looked
        left = client.get(f"/api/runs/{run_id}").json()
        assert (left["status"], left["pauseReason"]) == ("paused", "look at this")
        assert client.post(f"/api/runs/{run_id}/resume").status_code == 200
        assert house.until(client, run_id, lambda found: found["ending"] is not None)["ending"] == "ok"


def test_what_one_server_had_to_stop_another_that_stands_by_goes_on_with(root: Path, processes: str) -> None:
    with served(root, processes) as (_, other):
        with served(root, processes) as (process, client):
            run_id = house.start(client, "slow.yaml")["id"]
            assert stop(process, signal.SIGTERM) == 0
        assert house.until(other, run_id, lambda found: found["ending"] is not None)["ending"] == "ok"
        types = [fact["type"] for fact in other.get(f"/api/runs/{run_id}/events?facts=1").json()["facts"]]
        assert types.count("run.resumed") == 1


def test_a_server_that_is_killed_leaves_runs_that_the_next_takes_up(root: Path, processes: str) -> None:
    with served(root, processes) as (process, client):
        run_id = house.start(client, "slow.yaml")["id"]
        house.until(client, run_id, lambda found: found["seq"] > 4)
        assert stop(process, signal.SIGKILL) == -9
    with served(root, processes) as (_, client):
        done = house.until(client, run_id, lambda found: found["ending"] is not None)
        assert (done["ending"], done["outputs"]) == ("ok", {"n": 5})


def test_an_answer_in_a_terminal_continues_a_run_of_the_server(root: Path, processes: str) -> None:
    with served(root, processes) as (_, client):
        run_id = house.start(client, "asking.yaml")["id"]
        approval = house.asked(client, run_id)["id"]
        time.sleep(3.5)  # so long that the server has put the run aside
        answered = skelo(root, "approve", approval, "--json")
        assert answered.returncode == 0, answered.stderr
        done = house.until(client, run_id, lambda found: found["ending"] is not None)
        assert (done["ending"], done["outputs"]) == ("ok", {"go": True})


def test_a_run_that_a_terminal_left_waiting_is_continued_by_the_server(root: Path, processes: str) -> None:
    left = skelo(root, "run", "asking.yaml", "--json")
    assert left.returncode == 3
    run_id = json.loads(left.stdout)["runId"]
    with served(root, processes) as (_, client):
        assert house.resolve(client, house.asked(client, run_id)["id"]).status_code == 200
        done = house.until(client, run_id, lambda found: found["ending"] is not None)
        assert done["ending"] == "ok"


def test_a_question_that_expires_is_answered_by_the_clock_of_the_server(root: Path, processes: str) -> None:
    left = skelo(root, "run", "expiring.yaml", "--json")
    assert left.returncode == 3, left.stderr
    with served(root, processes) as (_, client):
        run_id = json.loads(left.stdout)["runId"]
        done = house.until(client, run_id, lambda found: found["ending"] is not None)
        assert done["ending"] == "ok"


def lines_of(root: Path, *arguments: str) -> list[str]:
    """What a server without `--json` writes to stderr until it is stopped, right after its start."""
    process = forked_skelo.start(["serve", "--port", "0", *arguments], folder=root)
    assert process.stderr is not None
    first = process.stderr.readline()
    second = process.stderr.readline()
    stop(process, signal.SIGTERM)
    out, err = process.communicate()
    assert out == ""
    return [line for line in (first + second + err).splitlines() if line]


def test_a_server_makes_a_token_of_its_own(root: Path) -> None:
    with served(root) as (_, client):
        token = client.headers.pop("authorization").removeprefix("Bearer ")
        assert house.problem(client.get("/api/runs")) == (401, "TOKEN_REQUIRED")
        client.headers["authorization"] = f"Bearer {token}"
        session = client.get("/api/session").json()
        assert session == {"name": project_context.current_user(), "role": "operator", "csrfToken": None}
        assert not (root / ".skelo" / "tokens.json").exists()
    with served(root) as (_, client):
        assert client.headers["authorization"] != f"Bearer {token}"


def test_a_server_prints_a_link_that_logs_a_browser_in(root: Path) -> None:
    serving, link = lines_of(root)
    url = serving.rpartition(" at ")[2]
    assert serving == f"serving {root / '.skelo'} at {url}"
    assert re.fullmatch(re.escape(f"log in with this link: {url}/login#token=skelo_") + r"[\w-]{43}", link)


def test_a_server_with_tokens_makes_none(root: Path) -> None:
    skelo(root, "token", "add", "ann")
    serving, how = lines_of(root)
    url = serving.rpartition(" at ")[2]
    assert how == f"log in at {url}/login with a token; `skelo token add NAME` creates one"


def test_a_server_without_a_token_is_open_and_says_so(root: Path) -> None:
    with served(root, "--no-token") as (_, client):
        assert "authorization" not in client.headers
        assert client.get("/api/session").json()["role"] == "operator"
    assert lines_of(root, "--no-token")[0] == (
        "WARNING openskelo.server every user and program of this machine can do everything here (--no-token)"
    )


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_json_log_has_no_other_lines(root: Path, command: str) -> None:
    arguments = ("--port", "0") if command == "serve" else ()
    process = forked_skelo.start([command, *arguments, "--log", "json"], folder=root)
    assert process.stderr is not None
    first = json.loads(process.stderr.readline())
    assert set(first) == {"ts", "level", "logger", "message"}
    stop(process, signal.SIGTERM)
    for line in process.communicate()[1].splitlines():
        json.loads(line)


def test_an_error_that_ends_a_server_is_a_line_of_the_json_log(root: Path) -> None:
    done = skelo(root, "serve", "--log", "json", "--host", "0.0.0.0")
    (line,) = map(json.loads, done.stderr.splitlines())
    assert (done.returncode, line["level"], line["code"]) == (2, "error", "TOKEN_REQUIRED")


def test_log_ins_endings_and_requests_leave_lines(root: Path) -> None:
    with served(root, "--log", "json", "--access-log") as (process, client):
        run_id = house.start(client, "slow.yaml")["id"]
        assert client.get("/api/runs?q=private", headers={"authorization": "Bearer wrong"}).status_code == 401
        house.until(client, run_id, lambda found: found["ending"] is not None)
        time.sleep(2 * metrics.POLL_SECONDS)
        stop(process, signal.SIGTERM)
        assert process.stderr is not None
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]
    assert "private" not in str(lines)
    assert [line["message"] for line in lines if line["logger"] == "openskelo.server.auth"] == [
        "a wrong token from 127.0.0.1"
    ]
    (ended,) = [line for line in lines if line["logger"] == "openskelo.runs"]
    assert (ended["runId"], ended["ending"]) == (run_id, "ok")
    started, refused, *_ = [line for line in lines if line["logger"] == "openskelo.access"]
    parts = ("client", "user", "method", "path", "status")
    user = project_context.current_user()
    assert [started[part] for part in parts] == ["127.0.0.1", user, "POST", "/api/runs", 201]
    assert [refused[part] for part in parts] == ["127.0.0.1", None, "GET", "/api/runs", 401]


def test_a_name_of_a_service_is_accepted_where_it_is_allowed(root: Path) -> None:
    with served(root) as (_, client):
        refused = client.get("/api/runs", headers={"host": "skelo:7788"})
        assert house.problem(refused) == (403, "HOST_UNKNOWN")
        assert "--allow-host skelo" in refused.json()["hint"]
    with served(root, "--allow-host", "skelo", "--token", "a-token-for-this-test") as (_, client):
        headers = {"host": "skelo:7788", "authorization": "Bearer a-token-for-this-test"}
        assert client.get("/api/runs", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--host", "0.0.0.0"), "TOKEN_REQUIRED"),
        (("--origin", "https://skelo.example"), "TOKEN_REQUIRED"),
        (("--host", "0.0.0.0", "--no-token"), "TOKEN_REQUIRED"),
        (("--allow-host", "skelo"), "TOKEN_REQUIRED"),
        (("--no-token", "--token", "long-enough-for-this"), "USAGE"),
        (("--allow-host", "skelo:7788"), "HOST_INVALID"),
        (("--trust-proxy", "skelo"), "PROXY_INVALID"),
        (("--origin", "skelo.example"), "ORIGIN_INVALID"),
        (("--token", "short"), "TOKEN_WEAK"),
        (("--host", "192.0.2.77", "--token", "long-enough-for-this"), "ADDRESS_UNUSABLE"),
        (("--port", "99999"), "USAGE"),
        (("--processes", "0"), "USAGE"),
    ],
)
def test_a_careless_set_up_does_not_start(root: Path, arguments: tuple[str, ...], code: str) -> None:
    done = skelo(root, "serve", "--json", *arguments)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, code)
    assert not (root / ".skelo").exists()


def test_tokens_are_made_listed_and_removed(root: Path) -> None:
    made = json.loads(skelo(root, "token", "add", "ann", "--role", "viewer", "--json").stdout)
    assert (made["name"], made["role"], made["token"].startswith("skelo_")) == ("ann", "viewer", True)
    again = skelo(root, "token", "add", "ann", "--json")
    assert (again.returncode, json.loads(again.stdout)["error"]["code"]) == (2, "TOKEN_EXISTS")
    (listed,) = json.loads(skelo(root, "token", "list", "--json").stdout)["tokens"]
    assert (listed["name"], listed["role"], set(listed)) == ("ann", "viewer", {"name", "role", "createdAt"})
    with served(root) as (_, client):
        assert client.get("/api/runs").status_code == 401
        assert client.get("/api/runs", headers={"authorization": f"Bearer {made['token']}"}).status_code == 200
        assert skelo(root, "token", "remove", "ann").returncode == 0
        assert client.get("/api/runs", headers={"authorization": f"Bearer {made['token']}"}).status_code == 401
    for wrong, code in (
        (("remove", "ann"), "TOKEN_NOT_FOUND"),
        (("add", "a b"), "TOKEN_NAME"),
        (("add", "timer"), "NAME_RESERVED"),
        (("add",), "USAGE"),
    ):
        done = skelo(root, "token", *wrong, "--json")
        assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, code)


AHEAD = """\
import time

_DAY = 24 * 3600
_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() + _DAY
time.time_ns = lambda: _time_ns() + _DAY * 10**9
"""


def test_a_process_whose_clock_is_ahead_makes_no_approval_of_another_run_expire(root: Path) -> None:
    shim = root / "shim"
    shim.mkdir()
    (shim / "sitecustomize.py").write_text(AHEAD)
    (root / "expiring.yaml").write_text(
        (root / "expiring.yaml").read_text().replace("timeout_sec: 2", "timeout_sec: 3600")
    )
    with served(root) as (_, client):
        run_id = house.start(client, "expiring.yaml")["id"]
        asked = house.asked(client, run_id)
        words = [sys.executable, "-m", "openskelo.cli.main", "run", "slow.yaml", "--json"]
        environment = {**os.environ, "PYTHONPATH": str(shim)}
        ahead = subprocess.run(
            words, cwd=root, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert ahead.returncode == 0, ahead.stderr
        ahead_at = json.loads(ahead.stdout)["updatedAt"]
        later = house.start(client, "slow.yaml")["id"]  # the supervisor has looked at the data dir meanwhile
        done = house.until(client, later, lambda found: found["ending"] is not None)
        assert ahead_at > asked["expiresAt"] > client.get(f"/api/runs/{later}").json()["updatedAt"]
        assert done["ending"] == "ok"
        assert house.asked(client, run_id)["id"] == asked["id"]
    with served(root) as (_, client):  # and the next server, which reads everything anew
        assert house.asked(client, run_id)["id"] == asked["id"]
