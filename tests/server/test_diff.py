"""Two runs compared over REST: the document of `skelo diff --json`, and what is no pair of runs."""

from __future__ import annotations

import json

import httpx

from openskelo.history import prune
from openskelo.server import models
from tests import forked_skelo
from tests.server import house

NOBODY = "00000000-0000-4000-8000-000000000000"


def _done(client: httpx.Client, *words: str) -> str:
    run_id = house.start(client, "each.yaml", words=list(words))["id"]
    house.until(client, run_id, lambda found: found["ending"] is not None)
    return run_id


def test_two_runs_are_compared_as_the_command_line_does(client: httpx.Client, home: house.House) -> None:
    first, second = _done(client, "a", "b"), _done(client, "a", "c")
    answer = client.get(f"/api/runs/{first}/diff", params={"other": second})
    assert answer.status_code == 200, answer.text
    said = forked_skelo.run(["diff", first, second, "--json"], folder=home.root)
    assert answer.json() == json.loads(said.stdout)
    found = models.Comparison.model_validate(answer.json())
    assert (found.same_work, found.same_workflow) == (False, True)
    assert [(node.node, node.verdict, node.differs) for node in found.nodes] == [("shout", "different", ["outputs"])]
    change: dict[str, object] = {"path": "/text/1", "kind": "changed", "before": "B", "after": "C"}
    assert answer.json()["nodes"][0]["outputs"] == [change]


def test_a_run_that_waits_is_compared_with_one_that_is_done(client: httpx.Client) -> None:
    waiting, done = (house.start(client)["id"] for _ in range(2))
    house.asked(client, waiting)
    house.resolve(client, house.asked(client, done)["id"])
    house.until(client, done, lambda found: found["ending"] is not None)
    found = client.get(f"/api/runs/{waiting}/diff?other={done}").json()
    assert [(node["node"], node["verdict"]) for node in found["nodes"]] == [
        ("write", "same"),
        ("check", "unfinished"),
        ("publish", "unfinished"),
    ]


def test_what_is_no_pair_of_runs_is_refused(client: httpx.Client, home: house.House) -> None:
    one, gone = _done(client, "a"), _done(client, "b")
    home.run(prune.prune_run(home.engine.store, gone, home.engine.project.data_dir))
    asked = {
        f"{one}/diff": (422, "REQUEST_INVALID"),
        f"{one}/diff?other=": (422, "REQUEST_INVALID"),
        f"{one}/diff?other=last": (422, "REQUEST_INVALID"),
        f"{one}/diff?with={gone}": (400, "PARAMETER_UNKNOWN"),
        f"{one}/diff?other={one}": (422, "RUN_SAME"),
        f"{one}/diff?other={NOBODY}": (404, "RUN_NOT_FOUND"),
        f"{NOBODY}/diff?other={one}": (404, "RUN_NOT_FOUND"),
        f"{one}/diff?other={gone}": (404, "RUN_PRUNED"),
        f"{gone}/diff?other={one}": (404, "RUN_PRUNED"),
    }
    assert {path: house.problem(client.get(f"/api/runs/{path}")) for path in asked} == asked
