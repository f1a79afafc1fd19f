"""Approvals over REST: listed, answered once, by somebody who is named, within the form."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest
import yaml

from openskelo.engine.commands import command_router
from openskelo.kernel.json import Json
from openskelo.stores.sqlite import data_dir
from openskelo.wire.models import approval as wire
from tests.server import house

NOBODY = "00000000-0000-4000-8000-000000000000"


def test_open_approvals_are_listed_and_paged(tmp_path: Path) -> None:
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        runs = [house.start(client)["id"] for _ in range(3)]
        wanted = [house.asked(client, run_id)["id"] for run_id in runs]
        page = client.get("/api/approvals", params={"limit": 2}).json()
        rest = client.get("/api/approvals", params={"cursor": page["nextCursor"]}).json()
        found = page["approvals"] + rest["approvals"]
        assert (sorted(one["id"] for one in found), rest["nextCursor"]) == (sorted(wanted), None)
        for one in found:
            wire.Approval.model_validate(one)
            assert client.get(f"/api/approvals/{one['id']}").json() == one
            shown = client.get(f"/api/runs/{one['runId']}").json()["approvals"][one["id"]]
            assert shown == one


def test_an_answered_approval_is_closed_for_good(client: httpx.Client) -> None:
    approval = house.asked(client, house.start(client)["id"])
    assert house.resolve(client, approval["id"]).status_code == 200
    assert house.problem(house.resolve(client, approval["id"])) == (409, "APPROVAL_CLOSED")
    assert house.problem(client.get(f"/api/approvals/{approval['id']}")) == (410, "APPROVAL_CLOSED")


def test_the_fields_of_a_form_keep_their_authors_order_over_a_restart(tmp_path: Path) -> None:
    form: Json = {"properties": {"title": {"type": "string"}, "body": {"type": "string"}, "10": {}, "9": {}}}
    names = ["title", "body", "10", "9"]
    blocks: list[Json] = [
        {"id": "one", "mode": "approval", "approval": {"prompt": "One?", "form": form}},
        {"id": "two", "mode": "approval", "after": ["one"], "approval": {"prompt": "Two?", "form": form}},
    ]
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        (home.root / "two.yaml").write_text(yaml.safe_dump({"name": "two", "blocks": blocks}, sort_keys=False))
        run_id = house.start(client, "two.yaml")["id"]
        house.asked(client, run_id)
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        first = house.asked(client, run_id)
        assert (list(first["form"]["properties"]), first["form"]["x-order"]) == (names, names)
        assert house.resolve(client, first["id"]).status_code == 200
        house.until(client, run_id, lambda found: found["approvals"] and first["id"] not in found["approvals"])
        second = house.asked(client, run_id)
        assert (second["node"], list(second["form"]["properties"])) == ("two", names)
        told = client.get(f"/api/runs/{run_id}/events", params={"limit": 1000}).json()["events"]
        asked = [one["approval"]["form"]["x-order"] for one in told if one["type"] == "approval.requested"]
        assert asked == [names, names]


def test_an_unknown_approval_is_not_found(client: httpx.Client) -> None:
    assert house.problem(house.resolve(client, NOBODY)) == (404, "APPROVAL_NOT_FOUND")
    assert house.problem(client.get(f"/api/approvals/{NOBODY}")) == (404, "APPROVAL_NOT_FOUND")


@pytest.mark.parametrize("values", [{"text": "x"}, {"text": 3}, {"other": "long enough"}])
def test_modified_values_must_fit_the_form(client: httpx.Client, values: dict[str, Json]) -> None:
    approval = house.asked(client, house.start(client)["id"])
    answer = house.resolve(client, approval["id"], "modified", modifiedArgs=values)
    assert house.problem(answer) == (422, "APPROVAL_INVALID")
    assert client.get(f"/api/approvals/{approval['id']}").status_code == 200


def test_modified_values_are_used(client: httpx.Client) -> None:
    run_id = house.start(client)["id"]
    answer = house.resolve(client, house.asked(client, run_id)["id"], "modified", modifiedArgs={"text": "better"})
    assert answer.json()["status"] == "modified"
    done = house.until(client, run_id, lambda found: found["ending"] is not None)
    assert done["outputs"] == {"text": "published better"}


def test_a_denial_ends_the_run_and_says_who(client: httpx.Client) -> None:
    run_id = house.start(client)["id"]
    house.resolve(client, house.asked(client, run_id)["id"], "denied", reason="not good")
    done = house.until(client, run_id, lambda found: found["ending"] is not None)
    assert done["ending"] == "denied"
    events = client.get(f"/api/runs/{run_id}/events").json()["events"]
    (resolved,) = [event for event in events if event["type"] == "approval.resolved"]
    assert (resolved["by"], resolved["resolution"]["status"]) == ("ann", "denied")


def test_an_answer_with_another_digest_is_refused(client: httpx.Client) -> None:
    approval = house.asked(client, house.start(client)["id"])
    path = f"/api/approvals/{approval['id']}/resolve"
    body = {"resolution": {"status": "approved"}, "digest": "sha256:" + "0" * 64}
    assert house.problem(client.post(path, json=body)) == (409, "APPROVAL_DIGEST")
    assert client.post(path, json={**body, "digest": approval["digest"]}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"resolution": {"status": "maybe"}},
        {"resolution": {"status": "approved", "by": "somebody else"}},
        {"resolution": {"status": "approved"}, "runId": NOBODY},
        {"resolution": {"status": "approved", "modifiedArgs": []}},
    ],
)
def test_an_answer_that_is_none_is_refused(client: httpx.Client, body: object) -> None:
    approval = house.asked(client, house.start(client)["id"])
    answer = client.post(f"/api/approvals/{approval['id']}/resolve", json=body)
    assert house.problem(answer) == (422, "REQUEST_INVALID")


def test_answered_approvals_are_kept_as_they_were_asked_and_answered(tmp_path: Path) -> None:
    with house.open_house(tmp_path / "own") as home, home.client() as client:
        asked = [house.asked(client, house.start(client)["id"]) for _ in range(2)]
        house.resolve(client, asked[0]["id"], "modified", modifiedArgs={"text": "better"}, reason="clearer")
        house.resolve(client, asked[1]["id"], "denied", reason="no")
        page = client.get("/api/approvals/answered", params={"limit": 1}).json()
        rest = client.get("/api/approvals/answered", params={"cursor": page["nextCursor"]}).json()
        newest, oldest = page["answered"][0], rest["answered"][0]
        assert ([newest["approval"], oldest["approval"]], rest["nextCursor"]) == (asked[::-1], None)
        assert newest["resolution"] == {"status": "denied", "reason": "no"}
        assert oldest["resolution"] == {"status": "modified", "modifiedArgs": {"text": "better"}, "reason": "clearer"}
        assert (oldest["by"], oldest["withdrawn"], oldest["digest"] == asked[0]["digest"]) == ("ann", False, False)
        assert client.get(f"/api/approvals/{asked[0]['id']}/answer").json() == oldest
        of_run = client.get("/api/approvals/answered", params={"runId": asked[0]["runId"]}).json()
        assert of_run == {"answered": [oldest], "nextCursor": None}


def test_the_answered_approvals_of_one_run_come_in_pages(home: house.House, client: httpx.Client) -> None:
    blocks: list[Json] = [
        {"id": "first", "mode": "approval", "approval": {"prompt": "One?"}},
        {"id": "second", "mode": "approval", "after": ["first"], "approval": {"prompt": "Two?"}},
    ]
    (home.root / "twice.yaml").write_text(json.dumps({"name": "twice", "blocks": blocks}))
    run_id = house.start(client, workflow="twice.yaml")["id"]
    asked: list[str] = []
    for _ in blocks:
        house.until(client, run_id, lambda run: bool(run["approvals"].keys() - asked))
        asked.append(house.asked(client, run_id)["id"])
        assert house.resolve(client, asked[-1]).is_success
    query = {"runId": run_id, "limit": 1}
    first = client.get("/api/approvals/answered", params=query).json()
    second = client.get("/api/approvals/answered", params={**query, "cursor": first["nextCursor"]}).json()
    assert [page["answered"][0]["approval"]["id"] for page in (first, second)] == asked[::-1]
    assert second["nextCursor"] is None


def test_an_approval_that_is_open_has_no_answer(client: httpx.Client) -> None:
    approval = house.asked(client, house.start(client)["id"])
    for one in (approval["id"], NOBODY):
        assert house.problem(client.get(f"/api/approvals/{one}/answer")) == (404, "APPROVAL_NOT_FOUND")


def test_an_answer_that_a_stopped_driver_has_not_taken_is_accepted_and_done_later(
    home: house.House, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_router, "TAKEN_SECONDS", 0.3)
    run_id = house.start(client)["id"]
    approval = house.asked(client, run_id)
    home.run(home.engine.ownership.release_idle())
    sleeper = data_dir.open_store(home.root / ".skelo")  # lives, and does nothing
    try:
        assert asyncio.run(sleeper.claim_run(run_id))
        answer = house.resolve(client, approval["id"])
        assert house.problem(answer) == (202, "COMMAND_WAITING")
        assert client.get(f"/api/approvals/{approval['id']}").status_code == 200
    finally:
        asyncio.run(sleeper.close())
    home.run(home.engine.ownership.take(run_id, check_needs=True))
    done = house.until(client, run_id, lambda found: found["ending"] is not None)
    assert done["outputs"] == {"text": "published on bees"}
