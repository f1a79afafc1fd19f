"""Live graphs over REST: nodes, edges, chat, interrupts, modes and the end, each against a real server."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from openskelo.wire.models import node
from tests.server import house

HANDLER: house.Answer = {"label": "One", "kind": "handler", "config": {"handler": "local:answer"}}


def begin(client: httpx.Client, **more: Any) -> str:
    begun = client.post("/api/runs", json=more)
    assert (begun.status_code, begun.json()["status"], begun.json()["kind"]) == (201, "paused", "graph")
    return str(begun.json()["id"])


def add(client: httpx.Client, run_id: str, **more: Any) -> house.Answer:
    made = client.post(f"/api/runs/{run_id}/nodes", json={**HANDLER, **more})
    assert made.status_code == 201, made.text
    node.Node.model_validate(made.json())
    return made.json()


def tie(client: httpx.Client, run_id: str, source: str, target: str, **more: Any) -> house.Answer:
    made = client.post(f"/api/runs/{run_id}/edges", json={"from": source, "to": target, **more})
    assert made.status_code == 201, made.text
    node.Edge.model_validate(made.json())
    return made.json()


def say(client: httpx.Client, run_id: str, node_id: str, content: str, **more: Any) -> house.Answer:
    sent = client.post(f"/api/runs/{run_id}/chat", json={"nodeId": node_id, "content": content, **more})
    assert sent.status_code == 202, sent.text
    return sent.json()


def quiet(client: httpx.Client, run_id: str) -> house.Answer:
    return house.until(client, run_id, lambda found: found["status"] == "paused")


def code(answered: httpx.Response) -> tuple[int, str]:
    return answered.status_code, answered.json()["code"]


def types(client: httpx.Client, run_id: str, *, of: str = "") -> list[str]:
    events = client.get(f"/api/runs/{run_id}/events", params={"limit": 2000}).json()["events"]
    return [event["type"] for event in events if not of or event.get("nodeId") == of]


def test_a_message_is_read_in_a_turn_and_handed_on(client: httpx.Client) -> None:
    run_id = begin(client, name="talk")
    one, two = add(client, run_id), add(client, run_id, label="Two")
    assert (one["key"], two["key"], one["status"], one["inboxCount"]) == ("one", "two", "idle", 0)
    tied = tie(client, run_id, one["id"], two["id"])
    assert (tied["type"], tied["label"], tied["bidirectional"], tied["kind"]) == ("handoff", "task", True, "channel")
    sent = say(client, run_id, one["id"], "hello")
    run = quiet(client, run_id)
    said = {found["key"]: found["summary"] for found in run["nodes"].values()}
    assert said == {"one": "one read hello", "two": "two read one read hello"}
    events = client.get(f"/api/runs/{run_id}/events", params={"limit": 2000}).json()["events"]
    (user,) = [event["message"] for event in events if event["type"] == "message.user"]
    assert (user["id"], user["content"], user["nodeId"]) == (sent["messageId"], "hello", one["id"])
    (handed,) = [event["envelope"] for event in events if event["type"] == "handoff.sent"]
    assert (handed["fromNodeId"], handed["toNodeId"], handed["edgeId"]) == (one["id"], two["id"], tied["id"])
    assert handed["payload"]["message"] == "one read hello"
    receipts = client.get(f"/api/runs/{run_id}/receipts").json()["receipts"]
    assert [(found["step_id"], found["status"]) for found in receipts] == [("one", "succeeded"), ("two", "succeeded")]
    ended = client.patch(f"/api/runs/{run_id}", json={"status": "completed"})
    assert (ended.status_code, ended.json()["status"], ended.json()["ending"]) == (200, "completed", "ok")
    assert client.get(f"/api/runs/{run_id}/verify").json()["intact"]
    assert code(client.post(f"/api/runs/{run_id}/chat", json={"nodeId": one["id"], "content": "x"})) == (
        409,
        "RUN_ENDED",
    )


@pytest.mark.parametrize(("role", "addressee"), [("orchestrator", "two"), ("worker", "one")])
def test_a_message_without_a_node_goes_to_the_orchestrator_else_to_the_first_node(
    client: httpx.Client, role: str, addressee: str
) -> None:
    run_id = begin(client)
    ids = {"one": add(client, run_id)["id"], "two": add(client, run_id, label="Two", roleTemplate=role)["id"]}
    sent = client.post(f"/api/runs/{run_id}/chat", json={"content": "hello"})
    assert (sent.status_code, sent.json()["nodeId"]) == (202, ids[addressee])
    run = quiet(client, run_id)
    assert run["nodes"][ids[addressee]]["summary"] == f"{addressee} read hello"


def test_a_message_to_a_graph_without_nodes_is_refused(client: httpx.Client) -> None:
    assert code(client.post(f"/api/runs/{begin(client)}/chat", json={"content": "x"})) == (404, "NODE_NOT_FOUND")


def test_an_edge_to_the_orchestrator_is_a_report_unless_its_type_is_given(client: httpx.Client) -> None:
    run_id = begin(client)
    boss = add(client, run_id, label="Boss", roleTemplate="orchestrator")["id"]
    deputy = add(client, run_id, label="Deputy", roleTemplate="orchestrator")["id"]
    worker = add(client, run_id, label="Worker")["id"]
    tied = [
        tie(client, run_id, worker, boss),
        tie(client, run_id, boss, worker),
        tie(client, run_id, boss, deputy),
        tie(client, run_id, worker, boss, type="handoff"),
        tie(client, run_id, worker, deputy, label="done"),
    ]
    assert [(edge["type"], edge["label"]) for edge in tied] == [
        ("report", "report"),
        ("handoff", "task"),
        ("handoff", "task"),
        ("handoff", "task"),
        ("report", "done"),
    ]


def test_an_answer_goes_back_only_when_it_says_so(client: httpx.Client) -> None:
    run_id = begin(client)
    one, two = add(client, run_id), add(client, run_id, label="Two")
    tie(client, run_id, one["id"], two["id"])
    say(client, run_id, one["id"], "hello")
    quiet(client, run_id)
    assert types(client, run_id).count("handoff.sent") == 1
    say(client, run_id, two["id"], "nothing came along the edge that an answer could go back to, reply or not")
    quiet(client, run_id)
    assert types(client, run_id).count("handoff.sent") == 1


def test_answers_to_answers_come_to_an_end(client: httpx.Client) -> None:
    run_id = begin(client)
    one = add(client, run_id, config={"handler": "local:answer", "max_turns": 3})
    two = add(client, run_id, label="Two")
    tie(client, run_id, one["id"], two["id"])
    say(client, run_id, one["id"], "reply")
    nodes = quiet(client, run_id)["nodes"]
    assert (nodes[one["id"]]["error"]["code"], nodes[two["id"]]["visits"]) == ("TURN_LIMIT", 3)
    assert types(client, run_id).count("handoff.sent") == 6


def test_an_interrupt_stops_the_turn_and_the_next_reads_both(client: httpx.Client) -> None:
    run_id = begin(client)
    slow = add(client, run_id, config={"handler": "local:wait"})
    say(client, run_id, slow["id"], "first")
    house.until(client, run_id, lambda found: found["nodes"][slow["id"]]["status"] == "running")
    say(client, run_id, slow["id"], "queued")
    waiting = client.get(f"/api/runs/{run_id}/nodes/{slow['id']}").json()
    assert (waiting["status"], waiting["inboxCount"], waiting["visits"]) == ("running", 1, 1)
    say(client, run_id, slow["id"], "now", interrupt=True)
    again = house.until(client, run_id, lambda found: found["nodes"][slow["id"]]["visits"] == 2)
    assert again["nodes"][slow["id"]]["inboxCount"] == 0
    inputs = client.get(f"/api/runs/{run_id}/nodes/{slow['id']}").json()["inputs"]
    assert [entry["content"] for entry in inputs["messages"]] == ["first", "queued", "now"]
    assert code(client.patch(f"/api/runs/{run_id}", json={"status": "completed"})) == (409, "RUN_BUSY")
    assert code(client.patch(f"/api/runs/{run_id}/nodes/{slow['id']}", json={"label": "x"})) == (409, "NODE_BUSY")
    gone = client.delete(f"/api/runs/{run_id}/nodes/{slow['id']}")
    assert (gone.status_code, quiet(client, run_id)["nodes"]) == (204, {})
    assert client.get(f"/api/runs/{run_id}/verify").json()["intact"]


def test_a_failed_turn_fails_its_node_and_a_message_tries_again(client: httpx.Client) -> None:
    run_id = begin(client)
    one = add(client, run_id)
    say(client, run_id, one["id"], "fail")
    failed = quiet(client, run_id)["nodes"][one["id"]]
    assert (failed["status"], failed["outcome"], failed["error"]["code"]) == ("failed", "failed", "HANDLER_RAISED")
    say(client, run_id, one["id"], "better")
    mended = quiet(client, run_id)["nodes"][one["id"]]
    assert (mended["status"], mended["outcome"], mended["error"]) == ("idle", "succeeded", None)
    assert mended["summary"] == "one read better"


def test_a_failed_turn_is_taken_again_and_an_idle_node_has_none(client: httpx.Client) -> None:
    run_id = begin(client)
    one = add(client, run_id)
    restart = f"/api/runs/{run_id}/nodes/{one['id']}/restart"
    assert code(client.post(restart)) == (409, "NODE_IDLE")
    sent = say(client, run_id, one["id"], "fail", steer=True)
    assert (sent["steered"], sent["reset"]) == (False, False)
    quiet(client, run_id)
    assert client.post(restart).status_code == 204
    again = house.until(client, run_id, lambda found: found["nodes"][one["id"]]["visits"] == 2)["nodes"][one["id"]]
    assert again["inboxCount"] == 0
    assert client.post(f"/api/runs/{run_id}/nodes/{one['id']}/reset").status_code == 204
    assert types(client, run_id, of=one["id"]).count("message.user") == 1


def test_nodes_and_edges_change_and_go(client: httpx.Client) -> None:
    run_id = begin(client)
    one, two = add(client, run_id), add(client, run_id, label="Two")
    tied = tie(client, run_id, one["id"], two["id"], type="report", bidirectional=False)
    assert (tied["label"], tied["bidirectional"]) == ("report", False)
    changed = client.patch(
        f"/api/runs/{run_id}/nodes/{one['id']}",
        json={"label": "First", "roleTemplate": "writer", "capabilities": {"writeCode": False}},
    ).json()
    assert (changed["label"], changed["roleTemplate"], changed["capabilities"]["writeCode"]) == (
        "First",
        "writer",
        False,
    )
    assert client.delete(f"/api/runs/{run_id}/edges/{tied['id']}").status_code == 204
    assert code(client.delete(f"/api/runs/{run_id}/edges/{tied['id']}")) == (404, "EDGE_NOT_FOUND")
    tie(client, run_id, one["id"], two["id"])
    assert client.delete(f"/api/runs/{run_id}/nodes/{two['id']}").status_code == 204
    run = client.get(f"/api/runs/{run_id}").json()
    assert ([found["label"] for found in run["nodes"].values()], run["edges"]) == (["First"], {})
    assert code(client.post(f"/api/runs/{run_id}/nodes", json={**HANDLER, "key": "two"})) == (409, "NODE_EXISTS")
    assert types(client, run_id).count("edge.deleted") == 2
    assert types(client, run_id).count("node.deleted") == 1


@pytest.mark.parametrize("name", ["spawnNodes", "delegateOnly"])
def test_capabilities_that_no_node_has_are_refused(client: httpx.Client, name: str) -> None:
    run_id = begin(client)
    node = add(client, run_id)
    changed = client.patch(f"/api/runs/{run_id}/nodes/{node['id']}", json={"capabilities": {name: True}})
    assert code(changed) == (422, "REQUEST_INVALID")
    again = client.patch(f"/api/runs/{run_id}/nodes/{node['id']}", json={"capabilities": {name: False}}).json()
    assert again["capabilities"][name] is False


def test_a_gated_node_asks_before_its_turn(client: httpx.Client) -> None:
    run_id = begin(client)
    one = add(client, run_id, permissions={"cliPermissionsMode": "gated"})
    assert one["permissions"]["cliPermissionsMode"] == "gated"
    say(client, run_id, one["id"], "may I?")
    asked = house.asked(client, run_id)
    blocked = client.get(f"/api/runs/{run_id}/nodes/{one['id']}").json()
    assert (blocked["status"], asked["tool"]["args"]["messages"][0]["content"]) == ("blocked", "may I?")
    client.post(f"/api/approvals/{asked['id']}/resolve", json={"resolution": {"status": "approved"}})
    house.until(client, run_id, lambda found: found["nodes"][one["id"]]["outcome"] == "succeeded")
    say(client, run_id, one["id"], "and now?")
    asked = house.asked(client, run_id)
    client.post(f"/api/approvals/{asked['id']}/resolve", json={"resolution": {"status": "denied"}})
    denied = house.until(client, run_id, lambda found: found["nodes"][one["id"]]["outcome"] == "failed")
    assert (denied["status"], denied["nodes"][one["id"]]["error"]["code"]) == ("paused", "APPROVAL_DENIED")


def test_planning_refuses_effects_and_the_graph_goes_on(client: httpx.Client) -> None:
    run_id = begin(client, globalMode="PLANNING")
    one = add(client, run_id)
    say(client, run_id, one["id"], "act")
    failed = quiet(client, run_id)["nodes"][one["id"]]
    assert (failed["status"], failed["error"]["code"]) == ("failed", "PLANNING_MODE")
    assert client.patch(f"/api/runs/{run_id}", json={"globalMode": "IMPLEMENTATION"}).status_code == 200
    say(client, run_id, one["id"], "act now")
    assert quiet(client, run_id)["nodes"][one["id"]]["summary"] == "one read act now"


def test_a_run_of_blocks_is_given_nothing(client: httpx.Client) -> None:
    run = house.start(client)
    house.asked(client, run["id"])
    first = next(iter(client.get(f"/api/runs/{run['id']}").json()["nodes"]))
    base = f"/api/runs/{run['id']}"
    refused = (409, "RUN_NOT_LIVE")
    assert code(client.post(f"{base}/nodes", json=HANDLER)) == refused
    assert code(client.patch(f"{base}/nodes/{first}", json={"label": "x"})) == refused
    assert code(client.delete(f"{base}/nodes/{first}")) == refused
    assert code(client.post(f"{base}/chat", json={"nodeId": first, "content": "x"})) == refused
    assert code(client.patch(base, json={"status": "completed"})) == refused


NOBODY = "11111111-1111-4111-8111-111111111111"


@pytest.mark.parametrize(
    ("method", "path", "body", "wanted"),
    [
        ("POST", "/nodes", {"label": ""}, (422, "REQUEST_INVALID")),
        ("POST", "/nodes", {"label": "x", "kind": "person"}, (422, "REQUEST_INVALID")),
        ("POST", "/nodes", {"label": "x", "kind": "agent"}, (422, "INVALID_WORKFLOW")),
        ("POST", "/nodes", {"label": "x", "kind": "agent", "sessionMode": "yolo"}, (422, "REQUEST_INVALID")),
        ("POST", "/nodes", {**HANDLER, "session": {"resetCommands": [""]}}, (422, "REQUEST_INVALID")),
        ("POST", f"/nodes/{NOBODY}/reset", None, (404, "NODE_NOT_FOUND")),
        ("POST", f"/nodes/{NOBODY}/restart", None, (404, "NODE_NOT_FOUND")),
        ("POST", "/nodes", {"label": "x", "more": 1}, (422, "REQUEST_INVALID")),
        ("POST", "/nodes", {"label": "x", "kind": "handler"}, (422, "INVALID_WORKFLOW")),
        ("POST", "/nodes", {**HANDLER, "config": {"handler": "builtin:nothing"}}, (422, "INVALID_WORKFLOW")),
        ("POST", "/nodes", {**HANDLER, "config": {"handler": "local:answer", "when": "x"}}, (422, "INVALID_WORKFLOW")),
        (
            "POST",
            "/nodes",
            {**HANDLER, "config": {"handler": "local:answer", "max_turns": 0}},
            (422, "INVALID_WORKFLOW"),
        ),
        ("POST", "/nodes", {**HANDLER, "config": {"handler": "a.py", "x": "y" * 70_000}}, (422, "INVALID_WORKFLOW")),
        ("POST", "/nodes", {**HANDLER, "key": "inputs"}, (422, "ID_INVALID")),
        ("POST", "/nodes", {**HANDLER, "key": "one"}, (409, "NODE_EXISTS")),
        ("PATCH", f"/nodes/{NOBODY}", {"label": "x"}, (404, "NODE_NOT_FOUND")),
        ("DELETE", f"/nodes/{NOBODY}", None, (404, "NODE_NOT_FOUND")),
        ("POST", "/edges", {"from": NOBODY, "to": NOBODY}, (404, "NODE_NOT_FOUND")),
        ("POST", "/edges", {"from": "ONE", "to": "ONE"}, (409, "EDGE_INVALID")),
        ("POST", "/edges", {"from": "ONE", "to": "TWO"}, (409, "EDGE_EXISTS")),
        ("POST", "/edges", {"from": "ONE", "to": "TWO", "type": "pipe"}, (422, "REQUEST_INVALID")),
        ("DELETE", f"/edges/{NOBODY}", None, (404, "EDGE_NOT_FOUND")),
        ("POST", "/chat", {"nodeId": NOBODY, "content": "x"}, (404, "NODE_NOT_FOUND")),
        ("POST", "/chat", {"nodeId": "ONE", "content": ""}, (422, "REQUEST_INVALID")),
        ("POST", "/chat", {"text": "x"}, (422, "REQUEST_INVALID")),
        ("POST", "/fork", {"node": "one"}, (422, "FORK_INVALID")),
        ("PATCH", "", {"status": "banana"}, (422, "REQUEST_INVALID")),
    ],
)
def test_what_is_wrong_changes_nothing(
    client: httpx.Client, method: str, path: str, body: Any, wanted: tuple[int, str]
) -> None:
    run_id = begin(client)
    one, two = add(client, run_id), add(client, run_id, label="Two")
    tie(client, run_id, one["id"], two["id"])
    before = client.get(f"/api/runs/{run_id}").json()
    known = {"ONE": one["id"], "TWO": two["id"]}
    if body is not None:
        body = {name: known.get(str(value), value) for name, value in body.items()}
    answered = client.request(method, f"/api/runs/{run_id}{path}", json=body)
    assert code(answered) == wanted, answered.text
    assert client.get(f"/api/runs/{run_id}").json() == before
