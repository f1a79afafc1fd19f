"""`skelo plan`: a model writes, the checker looks, Problems go back, and nothing runs that nobody approved."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager

from openskelo.kernel.json import JsonObject
from tests.cli.conftest import Result, Skelo
from tests.providers.servers import loopback, openai_chat

GOOD: JsonObject = {
    "plan_id": "double",
    "inputs": {"n": 4},
    "budgets": {"max_steps": 5},
    "steps": [
        {"id": "twice", "op": "transform", "args": {"expr": "input.n * 2"}, "save_as": "twice"},
        {"id": "done", "op": "emit", "args": {"result_ref": "var:twice"}},
    ],
}
#: Right in form, and wrong in what it reads.
WRONG: JsonObject = {
    "plan_id": "double",
    "steps": [{"id": "done", "op": "emit", "args": {"result_ref": "var:twise"}}],
}


def _say(plan: JsonObject) -> loopback.Say:
    return loopback.Say(text=json.dumps({"plan": plan}))


@contextmanager
def _server(skelo: Skelo, *acts: loopback.Act) -> Generator[loopback.Loopback]:
    with loopback.Loopback(openai_chat.OpenAI(), acts).running() as server:
        skelo.write(
            "skelo.yaml",
            "providers:\n"
            f"  there: {{kind: openai, base_url: '{server.base_url}', model: m, api_key: '${{env:SOME_KEY}}'}}\n"
            "experts: {writer: {provider: there}, other: {provider: there}}\n"
            "tools: {act: {builtin: write-file, config: {mkdir: true}}}\n",
        )
        yield server


def _plan(skelo: Skelo, *words: str) -> Result:
    return skelo("plan", "double a number", "--expert", "writer", *words, env={"SOME_KEY": loopback.KEY})


def test_a_good_plan_is_written_shown_and_not_run(skelo: Skelo) -> None:
    with _server(skelo, _say(GOOD)) as server:
        done = _plan(skelo)
        (asked,) = server.asked
    assert done.code == 0, done.err
    assert "double a number" in json.dumps(asked)
    assert '"act"' in asked["messages"][-1]["content"].replace("\\", "")
    assert json.loads((skelo.folder / "double.plan.json").read_text()) == GOOD
    assert "twice" in done.out
    assert "minimum / expected / worst case" in done.out
    assert "skelo run double.plan.json" in done.err
    runs = skelo("runs", "--json").document["runs"]
    assert [(run["name"], run["ending"]) for run in runs] == [("skelo-plan", "ok")]


def test_problems_go_back_word_for_word(skelo: Skelo) -> None:
    with _server(skelo, _say(WRONG), _say(GOOD)) as server:
        done = _plan(skelo, "--json")
        second = json.dumps(server.asked[1])
    assert done.code == 0, done.err
    assert "/steps/0/args/result_ref: REF_UNKNOWN there is no variable 'twise'" in second
    found = done.document
    assert (found["valid"], found["file"], found["plan"], found["problems"]) == (True, "double.plan.json", GOOD, [])
    nodes = skelo("show", found["runId"], "--json").document["nodes"]
    assert {key: node["outcome"] for key, node in nodes.items()} == {
        "draft_1": "succeeded",
        "check_1": "succeeded",
        "draft_2": "succeeded",
        "check_2": "succeeded",
        "draft_3": "skipped",
        "check_3": "skipped",
    }
    assert skelo("verify", found["runId"]).code == 0


def test_after_the_last_repair_nothing_is_written(skelo: Skelo) -> None:
    with _server(skelo, _say(WRONG), _say(WRONG)) as server:
        done = _plan(skelo, "--repairs", "1", "--json")
        assert len(server.asked) == 2
    assert done.code == 1
    assert (done.document["valid"], done.document["file"]) == (False, None)
    assert [one["code"] for one in done.document["problems"]] == ["REF_UNKNOWN"]
    assert list(skelo.folder.glob("*.plan.json")) == []


def test_with_approve_the_plan_is_run(skelo: Skelo) -> None:
    with _server(skelo, _say(GOOD)):
        done = _plan(skelo, "--approve", "--out", "mine.json", "--json")
    assert done.code == 0, done.err
    assert done.document["outputs"] == {"result": 8, "audit": []}
    assert (skelo.folder / "mine.json").exists()


def test_a_file_that_is_there_stays(skelo: Skelo) -> None:
    skelo.write("mine.json", "{}")
    done = _plan(skelo, "--out", "mine.json", "--json")
    assert (done.code, done.document["error"]["code"]) == (2, "FILE_EXISTS")


def test_an_expert_that_is_not_there_is_said_before_anything_is_asked(skelo: Skelo) -> None:
    with _server(skelo) as server:
        done = skelo("plan", "anything", "--expert", "nobody", "--json")
        assert server.asked == []
    assert (done.code, done.document["problems"][0]["code"]) == (2, "EXPERT_UNKNOWN")
