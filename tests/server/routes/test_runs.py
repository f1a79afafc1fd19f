"""Runs over REST: begun, listed, shown, ordered about, deleted; each as the contract shows it."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets import exceptions
from websockets.sync import client as websockets

from openskelo.history import prune
from openskelo.record import line_check
from openskelo.wire.models import run as wire
from tests.server import house
from tests.wire import patching

NOBODY = "00000000-0000-4000-8000-000000000000"


def test_a_run_goes_from_start_to_end_over_rest(client: httpx.Client) -> None:
    begun = client.post("/api/runs", json={"workflow": "review.yaml", "inputs": {"topic": "owls"}})
    assert begun.status_code == 201
    run_id = begun.json()["id"]
    assert begun.headers["location"] == f"/api/runs/{run_id}"
    wire.Run.model_validate(begun.json())
    approval = house.asked(client, run_id)
    assert (approval["prompt"], approval["node"], approval["kind"]) == ("Publish on owls?", "check", "approval")
    answer = house.resolve(client, approval["id"], reason="fine")
    assert answer.json() == {"approvalId": approval["id"], "runId": run_id, "status": "approved", "by": "ann"}
    done = house.until(client, run_id, lambda found: found["ending"] is not None)
    assert (done["status"], done["ending"], done["phase"]) == ("completed", "ok", "DONE")
    assert (done["inputs"], done["outputs"]) == ({"topic": "owls"}, {"text": "published on owls"})
    wire.Run.model_validate(done)


def test_a_workflow_may_come_as_a_document(client: httpx.Client) -> None:
    begun = client.post("/api/runs", json={"document": house.EACH, "inputs": {"words": ["a", "b"]}})
    run = house.until(client, begun.json()["id"], lambda found: found["ending"] is not None)
    assert (run["ending"], run["name"]) == ("ok", "each")


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"inputs": {"a": 1}}, (422, "INPUT_UNKNOWN")),
        ({"workflow": "each.yaml", "name": "other"}, (422, "REQUEST_INVALID")),
        ({"budgets": {"max_steps": "many"}}, (422, "INVALID_WORKFLOW")),
        ({"workflow": "nothing.yaml"}, (404, "WORKFLOW_NOT_FOUND")),
        ({"workflow": "../etc/passwd"}, (404, "WORKFLOW_NOT_FOUND")),
        ({"workflow": "/etc/passwd"}, (404, "WORKFLOW_NOT_FOUND")),
        ({"workflow": ".skelo/version"}, (404, "WORKFLOW_NOT_FOUND")),
        ({"workflow": "\0"}, (404, "WORKFLOW_NOT_FOUND")),
        ({"document": {"blocks": []}}, (422, "INVALID_WORKFLOW")),
        ({"workflow": "each.yaml"}, (422, "INPUT_MISSING")),
        ({"workflow": "each.yaml", "inputs": {"words": 3}}, (422, "INPUT_INVALID")),
        ({"workflow": "each.yaml", "inputs": {"other": 3}}, (422, "INPUT_UNKNOWN")),
        ({"workflow": "each.yaml", "mode": "FAST"}, (422, "REQUEST_INVALID")),
        ({"workflow": "each.yaml", "document": {}}, (422, "REQUEST_INVALID")),
        ({"workflow": "each.yaml", "more": 1}, (422, "REQUEST_INVALID")),
        ([], (422, "REQUEST_INVALID")),
    ],
)
def test_a_body_that_is_wrong_starts_nothing(client: httpx.Client, body: object, wanted: tuple[int, str]) -> None:
    before = client.get("/api/runs").json()
    assert house.problem(client.post("/api/runs", json=body)) == wanted
    assert client.get("/api/runs").json() == before


@pytest.mark.parametrize(
    ("text", "kind", "wanted"),
    [
        ("{", "application/json", (422, "JSON_INVALID")),
        ("{" * 1, "text/plain", (415, "BODY_TYPE")),
        ("workflow=review.yaml", "application/x-www-form-urlencoded", (415, "BODY_TYPE")),
        ('{"workflow": NaN}', "application/json", (422, "JSON_INVALID")),
        ('{"inputs": {"n": 99999999999999999999}}', "application/json", (422, "NUMBER_RANGE")),
        ('{"inputs": {"n": 1, "n": 2}}', "application/json", (422, "DUPLICATE_KEY")),
        ('{"inputs": {"n": ' + "[" * 100 + "]" * 100 + "}}", "application/json", (422, "TOO_DEEP")),
        ("\xff", "application/json", (422, "JSON_INVALID")),
    ],
)
def test_a_body_is_strict_json(client: httpx.Client, text: str, kind: str, wanted: tuple[int, str]) -> None:
    answer = client.post("/api/runs", content=text.encode("latin-1"), headers={"content-type": kind})
    assert house.problem(answer) == wanted


def test_problems_of_a_workflow_are_listed_with_their_places(client: httpx.Client) -> None:
    answer = client.post("/api/runs", json={"document": {"name": "x", "blocks": [{"id": "a", "mode": "wrong"}]}})
    (found,) = answer.json()["errors"]
    assert (answer.status_code, found["code"], found["pointer"]) == (422, "CHOICE", "/blocks/0/mode")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/cancel"),
        ("POST", "/fork"),
        ("GET", "/events"),
        ("GET", "/events?facts=1"),
        ("GET", "/receipts"),
        ("GET", "/verify"),
        ("GET", "/nodes"),
        ("GET", f"/nodes/{NOBODY}"),
        ("GET", f"/nodes/{NOBODY}/items"),
        ("GET", "/edges"),
        ("GET", "/artifacts"),
        ("GET", f"/artifacts/{NOBODY}"),
        ("GET", f"/artifacts/{NOBODY}/content"),
    ],
)
def test_an_unknown_run_is_not_found(client: httpx.Client, method: str, path: str) -> None:
    body = {"node": "write"} if path == "/fork" else {}
    json = body if method in ("POST", "PATCH") else None
    answer = client.request(method, f"/api/runs/{NOBODY}{path}", json=json)
    assert house.problem(answer) == (404, "RUN_NOT_FOUND")


def test_what_is_no_id_is_invalid_and_unknown_paths_and_methods_are_problems(client: httpx.Client) -> None:
    assert house.problem(client.get("/api/runs/last")) == (422, "REQUEST_INVALID")
    assert house.problem(client.get("/api/nothing")) == (404, "PATH_UNKNOWN")
    assert house.problem(client.put("/api/runs")) == (405, "METHOD_NOT_ALLOWED")


def test_runs_are_listed_paged_and_searched(tmp_path: Path) -> None:
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        ids = [house.start(client, "each.yaml", words=[])["id"] for _ in range(5)]
        waiting = house.start(client)["id"]
        house.asked(client, waiting)
        pages: list[str] = []
        cursor: str | None = None
        while True:
            query: dict[str, str | int] = {"limit": 4} | ({"cursor": cursor} if cursor else {})
            page = client.get("/api/runs", params=query).json()
            pages += [run["id"] for run in page["runs"]]
            cursor = page["nextCursor"]
            if cursor is None:
                break
        assert pages == [waiting, *reversed(ids)]
        for run in client.get("/api/runs").json()["runs"]:
            wire.RunSummary.model_validate(run)
        found = [run["id"] for run in client.get("/api/runs", params={"q": "REV"}).json()["runs"]]
        paused = [run["id"] for run in client.get("/api/runs", params={"status": "paused"}).json()["runs"]]
        assert (found, paused) == ([waiting], [waiting])
        assert house.problem(client.get("/api/runs", params={"status": "banana"})) == (422, "REQUEST_INVALID")
        assert house.problem(client.get("/api/runs", params={"limit": 0})) == (422, "REQUEST_INVALID")


def test_a_cursor_that_is_gone_is_not_taken_for_the_end(tmp_path: Path) -> None:
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        runs = [house.start(client, "each.yaml", words=[])["id"] for _ in range(4)]
        for run_id in runs:
            house.until(client, run_id, lambda found: found["ending"] is not None)
        page = client.get("/api/runs", params={"limit": 2}).json()
        assert client.delete(f"/api/runs/{page['nextCursor']}").status_code == 204
        for path in ("/api/runs", "/api/approvals", "/api/approvals/answered"):
            answered = client.get(path, params={"cursor": page["nextCursor"]})
            assert house.problem(answered) == (410, "CURSOR_GONE"), path
        left = client.get("/api/runs", params={"limit": 3}).json()
        assert ({one["id"] for one in left["runs"]}, left["nextCursor"]) == ({*runs} - {page["nextCursor"]}, None)


def test_events_are_paged_and_give_the_snapshot(client: httpx.Client) -> None:
    run_id = house.start(client)["id"]
    house.asked(client, run_id)
    told: list[house.Answer] = []
    since: int | None = 0
    while since is not None:
        page = client.get(f"/api/runs/{run_id}/events", params={"since": since, "limit": 2}).json()
        told += page["events"]
        since = page["nextSeq"]
    whole = client.get(f"/api/runs/{run_id}").json()
    del whole["inputs"], whole["outputs"]
    assert patching.fold(patching.empty(run_id), told) == whole
    assert {event["type"] for event in told} >= {"run.patch", "node.patch", "edge.created", "approval.requested"}


@pytest.mark.parametrize(("answer", "end"), [("approved", "completed"), ("denied", "failed")])
def test_the_events_of_a_call_that_waits_for_a_person(client: httpx.Client, answer: str, end: str) -> None:
    """The proposal and the question name the same call, and the run is paused while it waits, not before it ends."""
    block = {
        "id": "ask",
        "mode": "deterministic",
        "outputs": house.TEXT,
        "inputs": {"text": {"type": "string", "default": "bees"}},
        "deterministic": {"handler": "local:publish"},
        "approval": {"prompt": "Publish?", "timeout_sec": 600},
    }
    run_id = client.post("/api/runs", json={"document": {"name": "asks", "blocks": [block]}}).json()["id"]
    asked = house.asked(client, run_id)
    house.resolve(client, asked["id"], answer)
    house.until(client, run_id, lambda found: found["ending"] is not None)
    told = client.get(f"/api/runs/{run_id}/events").json()["events"]
    statuses = [
        event["patch"]["status"] for event in told if "status" in event.get("patch", {}) and "nodeId" not in event
    ]
    assert statuses == ["queued", "running", "paused", "running", end]
    (proposed,) = [event["tool"] for event in told if event["type"] == "tool.proposed"]
    (question,) = [event["approval"] for event in told if event["type"] == "approval.requested"]
    assert (proposed["id"], proposed["args"]) == (question["tool"]["id"], question["tool"]["args"])
    facts = client.get(f"/api/runs/{run_id}/events", params={"facts": 1}).json()["facts"]
    (fact,) = [fact["data"] for fact in facts if fact["type"] == "approval.requested"]
    assert fact["expiresAt"] == question["expiresAt"] == asked["expiresAt"]


def test_facts_are_the_lines_of_the_log(client: httpx.Client, home: house.House) -> None:
    run_id = house.start(client, "each.yaml", words=["a"])["id"]
    house.until(client, run_id, lambda found: found["ending"] is not None)
    first = client.get(f"/api/runs/{run_id}/events", params={"facts": 1, "limit": 3}).json()
    rest = client.get(f"/api/runs/{run_id}/events", params={"facts": 1, "since": first["nextSeq"]}).json()
    home.run(home.engine.store.flush())
    lines = home.run(home.engine.store.read_event_files(run_id))
    assert len(first["facts"]) == 3
    assert [fact["hash"] for fact in first["facts"] + rest["facts"]] == [
        httpx.Response(200, content=line).json()["hash"] for line in lines
    ]
    assert rest["nextSeq"] is None


def test_pause_resume_and_cancel(client: httpx.Client) -> None:
    run_id = house.start(client)["id"]
    approval = house.asked(client, run_id)
    assert client.post(f"/api/runs/{run_id}/pause", json={"reason": "lunch"}).json()["pauseReason"] == "lunch"
    assert house.resolve(client, approval["id"]).status_code == 200
    held = client.get(f"/api/runs/{run_id}").json()
    assert (held["status"], held["ending"]) == ("paused", None)
    assert client.post(f"/api/runs/{run_id}/resume").status_code == 200
    assert house.until(client, run_id, lambda found: found["ending"] is not None)["ending"] == "ok"
    for order in ("pause", "resume", "cancel"):
        assert house.problem(client.post(f"/api/runs/{run_id}/{order}")) == (409, "RUN_ENDED")
    other = house.start(client)["id"]
    house.asked(client, other)
    client.post(f"/api/runs/{other}/cancel", json={"reason": "no need"})
    ended = house.until(client, other, lambda found: found["ending"] is not None)
    assert (ended["status"], ended["ending"], ended["error"]["message"]) == ("failed", "cancelled", "no need")


def test_modes_and_status_are_changed_by_a_patch(client: httpx.Client) -> None:
    run_id = house.start(client)["id"]
    house.asked(client, run_id)
    patched = client.patch(f"/api/runs/{run_id}", json={"mode": "INTERACTIVE", "globalMode": "PLANNING"}).json()
    assert (patched["mode"], patched["globalMode"]) == ("INTERACTIVE", "PLANNING")
    assert client.patch(f"/api/runs/{run_id}", json={"status": "paused"}).json()["pauseReason"] == "operator"
    assert client.patch(f"/api/runs/{run_id}", json={"status": "running"}).json()["pauseReason"] is None
    for body in ({"status": "banana"}, {"status": "failed"}, {"mode": "auto"}, {"name": "x"}):
        assert house.problem(client.patch(f"/api/runs/{run_id}", json=body)) == (422, "REQUEST_INVALID")
    types = [event["type"] for event in client.get(f"/api/runs/{run_id}/events").json()["events"]]
    assert types.count("run.mode") == 2
    client.post(f"/api/runs/{run_id}/cancel")


def test_a_patch_that_is_refused_has_changed_nothing(client: httpx.Client) -> None:
    run_id = house.start(client)["id"]
    house.asked(client, run_id)
    both = client.patch(f"/api/runs/{run_id}", json={"mode": "INTERACTIVE", "status": "completed"})
    assert house.problem(both) == (422, "REQUEST_INVALID")
    assert client.get(f"/api/runs/{run_id}").json()["mode"] == "AUTO"


EACH: dict[str, Any] = {
    "name": "each",
    "inputs": {"words": {"type": "array"}},
    "blocks": [
        {
            "id": "size",
            "mode": "deterministic",
            "foreach": {"items": "run.inputs.words", "as": "word"},
            "inputs": {"word": "string"},
            "outputs": {"n": "integer"},
            "deterministic": {"handler": "builtin:transform", "config": {"map": {"n": "size(word)"}}},
        }
    ],
}


def test_a_failed_item_that_is_kept_has_its_error(client: httpx.Client) -> None:
    (block,) = EACH["blocks"]
    each = {**block, "foreach": {**block["foreach"], "on_fail": "keep"}, "inputs": {"word": "string"}}
    each["deterministic"] = {"handler": "builtin:transform", "config": {"map": {"n": "int(word)"}}}
    started = client.post("/api/runs", json={"document": {**EACH, "blocks": [each]}, "inputs": {"words": ["1", "b"]}})
    done = house.until(client, started.json()["id"], lambda found: found["ending"] is not None)
    (node,) = done["nodes"].values()
    assert (done["ending"], node["items"]) == ("ok", {"total": 2, "done": 2, "running": 0, "failed": 1})
    items = client.get(f"/api/runs/{done['id']}/nodes/{node['id']}/items").json()["items"]
    failed: dict[str, str] = {"code": "EXPR_FAILED", "message": "`int(word)`: cannot convert string to int"}
    assert items == [
        {"index": 0, "state": "done", "attempts": 1, "outputs": {"n": 1}},
        {"index": 1, "state": "done", "attempts": 1, "error": failed},
    ]
    assert done["outputs"] == {"n": [1, None], "errors": [{"index": 1, **failed}]}


def test_a_fork_does_those_items_again_that_are_named(client: httpx.Client) -> None:
    started = client.post("/api/runs", json={"document": EACH, "inputs": {"words": ["a", "bb", "ccc"]}})
    run_id = started.json()["id"]
    house.until(client, run_id, lambda found: found["ending"] is not None)
    forked = client.post(f"/api/runs/{run_id}/fork", json={"node": "size", "items": [1]})
    assert forked.status_code == 201
    done = house.until(client, forked.json()["id"], lambda found: found["ending"] is not None)
    (node,) = done["nodes"].values()
    assert (done["outputs"], node["attempts"]) == ({"n": [1, 2, 3]}, 1)
    assert node["items"] == {"total": 3, "done": 3, "running": 0, "kept": 2}
    items = client.get(f"/api/runs/{done['id']}/nodes/{node['id']}/items").json()["items"]
    assert [(item["index"], item.get("kept"), item["outputs"]) for item in items] == [
        (0, True, {"n": 1}),
        (1, None, {"n": 2}),
        (2, True, {"n": 3}),
    ]
    compared = client.get(f"/api/runs/{run_id}/diff", params={"other": done["id"]}).json()
    assert (compared["sameWork"], compared["nodes"][0]["b"]["keptItems"]) == (True, 2)
    for wrong, refusal in (([3], "FORK_INVALID"), ("some", "REQUEST_INVALID"), ([-1], "REQUEST_INVALID")):
        body = {"node": "size", "items": wrong}
        assert house.problem(client.post(f"/api/runs/{run_id}/fork", json=body)) == (422, refusal)


def test_a_fork_keeps_what_came_before(client: httpx.Client) -> None:
    run_id = house.start(client, topic="cats")["id"]
    house.resolve(client, house.asked(client, run_id)["id"])
    run = house.until(client, run_id, lambda found: found["ending"] is not None)
    node = next(node for node in run["nodes"].values() if node["key"] == "publish")
    for named in ("publish", node["id"]):
        forked = client.post(f"/api/runs/{run_id}/fork", json={"node": named, "inputs": {"text": "dogs"}})
        parent = {"runId": run_id, "node": "publish", "set": {"text": "dogs"}}
        assert (forked.status_code, forked.json()["parent"]) == (201, parent)
        done = house.until(client, forked.json()["id"], lambda found: found["ending"] is not None)
        assert done["outputs"] == {"text": "published dogs"}
    assert house.problem(client.post(f"/api/runs/{run_id}/fork", json={"node": "x"})) == (404, "NODE_NOT_FOUND")


def test_only_a_run_that_has_ended_can_be_deleted(client: httpx.Client) -> None:
    run_id = house.start(client)["id"]
    house.asked(client, run_id)
    assert house.problem(client.delete(f"/api/runs/{run_id}")) == (409, "RUN_UNFINISHED")
    client.post(f"/api/runs/{run_id}/cancel")
    house.until(client, run_id, lambda found: found["ending"] is not None)
    assert client.delete(f"/api/runs/{run_id}").status_code == 204
    assert house.problem(client.get(f"/api/runs/{run_id}")) == (404, "RUN_NOT_FOUND")


def test_a_run_that_was_deleted_is_shown_nowhere_and_its_followers_are_told(tmp_path: Path) -> None:
    with (
        house.open_house(tmp_path / "a") as home,
        house.open_house(tmp_path / "a") as other,  # another server on the same data dir
        home.client() as client,
        other.client() as elsewhere,
    ):
        run_id = house.start(client, "each.yaml", words=["gone"])["id"]
        house.until(client, run_id, lambda found: found["ending"] is not None)
        address = f"{home.url.replace('http', 'ws')}/ws?runId={run_id}"
        for reader in (client, elsewhere):
            for path in ("nodes", "events"):
                assert reader.get(f"/api/runs/{run_id}/{path}").status_code == 200
        with websockets.connect(address) as socket_:
            assert [json.loads(socket_.recv(5))["type"] for _ in range(2)] == ["hello", "snapshot"]
            assert client.delete(f"/api/runs/{run_id}").status_code == 204
            told = json.loads(socket_.recv(5))
            assert (told["type"], told["code"], told["runId"]) == ("error", "RUN_NOT_FOUND", run_id)
            with pytest.raises(exceptions.ConnectionClosed):
                socket_.recv(5)
        for reader in (client, elsewhere):
            for path in ("", "/nodes", "/edges", "/events", "/artifacts"):
                assert house.problem(reader.get(f"/api/runs/{run_id}{path}")) == (404, "RUN_NOT_FOUND"), path
            assert house.problem(reader.get("/api/stream", params={"runId": run_id})) == (404, "RUN_NOT_FOUND")


def test_what_another_process_has_pruned_is_not_shown_from_memory(client: httpx.Client, home: house.House) -> None:
    run_id = house.start(client, "each.yaml", words=["forgotten"])["id"]
    house.until(client, run_id, lambda found: found["ending"] is not None)
    assert client.get(f"/api/runs/{run_id}/events").status_code == 200
    with client.stream("GET", "/api/stream", params={"runId": run_id}) as stream:
        assert stream.status_code == 200
    home.run(home.engine.store.rewrite_events(run_id, line_check.prune))
    for path in ("/nodes", "/edges", "/events", "/artifacts"):
        assert house.problem(client.get(f"/api/runs/{run_id}{path}")) == (404, "RUN_PRUNED"), path
    assert house.problem(client.get("/api/stream", params={"runId": run_id})) == (404, "RUN_PRUNED")


def test_a_pruned_run_says_so_and_still_has_its_record(client: httpx.Client, home: house.House) -> None:
    run_id = house.start(client, "each.yaml", words=["a"])["id"]
    house.until(client, run_id, lambda found: found["ending"] is not None)
    home.run(prune.prune_run(home.engine.store, run_id, home.engine.project.data_dir))
    with house.open_house(home.root) as other, other.client() as fresh:  # nothing of it in memory
        for path in ("", "/events", "/nodes", "/artifacts"):
            assert house.problem(fresh.get(f"/api/runs/{run_id}{path}")) == (404, "RUN_PRUNED")
        facts = fresh.get(f"/api/runs/{run_id}/events", params={"facts": 1}).json()["facts"]
        assert [fact["seq"] for fact in facts] == list(range(1, len(facts) + 1))
        assert fresh.get(f"/api/runs/{run_id}/verify").json()["intact"] is True


def test_nodes_edges_and_items_are_shown(client: httpx.Client) -> None:
    run_id = house.start(client, "each.yaml", words=["a", "b", "c"])["id"]
    house.until(client, run_id, lambda found: found["ending"] is not None)
    (node,) = client.get(f"/api/runs/{run_id}/nodes").json()["nodes"]
    shown = client.get(f"/api/runs/{run_id}/nodes/{node['id']}").json()
    assert (shown["key"], shown["outcome"], shown["inputs"]) == ("shout", "succeeded", {"words": ["a", "b", "c"]})
    first = client.get(f"/api/runs/{run_id}/nodes/{node['id']}/items", params={"limit": 2}).json()
    rest = client.get(
        f"/api/runs/{run_id}/nodes/{node['id']}/items", params={"limit": 2, "after": first["nextAfter"]}
    ).json()
    assert [item["outputs"] for item in first["items"] + rest["items"]] == [{"text": "A"}, {"text": "B"}, {"text": "C"}]
    assert rest["nextAfter"] is None
    assert client.get(f"/api/runs/{run_id}/edges").json() == {"edges": []}
    unknown = client.get(f"/api/runs/{run_id}/nodes/{uuid.uuid4()}")
    assert house.problem(unknown) == (404, "NODE_NOT_FOUND")


def test_receipts_and_verification(client: httpx.Client) -> None:
    run_id = house.start(client, "each.yaml", words=["a"])["id"]
    house.until(client, run_id, lambda found: found["ending"] is not None)
    receipts = client.get(f"/api/runs/{run_id}/receipts").json()
    assert [receipt["step_id"] for receipt in receipts["receipts"]] == ["shout"]
    proof = client.get(f"/api/runs/{run_id}/verify").json()
    assert (proof["intact"], proof["ended"], proof["runId"]) == (True, True, run_id)
