"""What is told about one node: its part of the run's events and facts."""

from __future__ import annotations

import uuid

import httpx

from tests.server import house


def _ended(client: httpx.Client) -> tuple[str, dict[str, str]]:
    run_id = house.start(client, "review.yaml")["id"]
    asked = house.until(client, run_id, lambda found: found["approvals"])["approvals"]
    for approval_id in asked:
        client.post(f"/api/approvals/{approval_id}/resolve", json={"resolution": {"status": "approved"}})
    run = house.until(client, run_id, lambda found: found["ending"] is not None)
    return run_id, {node["key"]: node["id"] for node in run["nodes"].values()}


def test_events_and_facts_of_one_node_are_those_of_the_run_that_are_about_it(client: httpx.Client) -> None:
    run_id, nodes = _ended(client)
    for kind, facts in (("events", 0), ("facts", 1)):
        whole = client.get(f"/api/runs/{run_id}/events", params={"facts": facts, "limit": 2000}).json()[kind]
        for node in nodes.values():
            found = client.get(f"/api/runs/{run_id}/events", params={"facts": facts, "node": node}).json()[kind]
            assert found == [one for one in whole if one.get("nodeId") == node]
            assert found


def test_pages_of_one_node_lead_to_the_end(client: httpx.Client) -> None:
    run_id, nodes = _ended(client)
    for kind, facts in (("events", 0), ("facts", 1)):
        query: dict[str, str | int] = {"facts": facts, "node": nodes["publish"]}
        whole = client.get(f"/api/runs/{run_id}/events", params=query).json()
        since: int | None = 0
        found: list[house.Answer] = []
        while since is not None:
            page = client.get(f"/api/runs/{run_id}/events", params={**query, "since": since, "limit": 2}).json()
            found += page[kind]
            since = page["nextSeq"]
        assert found == whole[kind]
    nobody = client.get(f"/api/runs/{run_id}/events", params={"node": str(uuid.uuid4())}).json()
    assert nobody == {"events": [], "nextSeq": None}
