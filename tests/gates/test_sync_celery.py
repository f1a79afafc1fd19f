"""The `sync_celery` gate: what it passes and fails, its evidence in the record, and what the model is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.executors.ai import prompt
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import scripted
from tests.engine import stage
from tests.executors import workshop
from tests.executors.test_gate_evaluation import gate, judged

_GOOD = "import requests\n\ndef fetch(url):\n    return requests.get(url, timeout=5)\n"
_UNLIMITED = "import requests\n\ndef fetch(url):\n    return requests.get(url)\n"
_ACCEPTED = "import requests\nrequests.get('u')  # sync-ok: the proxy ends it\n"
_FINDING: JsonObject = {
    "file": "n",
    "line": 4,
    "column": 12,
    "endLine": 4,
    "code": "NO_TIMEOUT",
    "message": "requests.get() has no time limit (timeout=)",
    "hint": "set a time limit where the call can be seen, such as timeout=30",
}
_SUPPRESSED: JsonObject = {"file": "n", "line": 2, "code": "NO_TIMEOUT", "reason": "the proxy ends it"}


def _verdict(folder: Path, code: Json, **parameters: Json) -> JsonObject:
    (verdict,) = judged(folder, {"n": code}, gate("sync_celery", port="n", **parameters)).verdicts
    return verdict


@pytest.mark.parametrize(
    ("code", "parameters", "reason", "evidence"),
    [
        (_GOOD, {}, "", None),
        (
            _UNLIMITED,
            {},
            "'n' cannot run in a synchronous worker: line 4: NO_TIMEOUT, requests.get() has no time limit (timeout=)",
            {"violations": [_FINDING]},
        ),
        (
            _ACCEPTED,
            {},
            "'n' cannot run in a synchronous worker: line 2: NO_TIMEOUT behind `# sync-ok`",
            {"suppressed": [_SUPPRESSED]},
        ),
        (_ACCEPTED, {"accept_suppressed": True}, "", {"suppressed": [_SUPPRESSED]}),
        (
            "x = (\n",
            {"accept_suppressed": True},
            "'n' cannot run in a synchronous worker: line 1: it does not parse: '(' was never closed",
            {"unreadable": [{"file": "n", "line": 1, "message": "it does not parse: '(' was never closed"}]},
        ),
    ],
)
def test_it_says_what_it_found(
    tmp_path: Path, code: str, parameters: JsonObject, reason: str, evidence: JsonObject | None
) -> None:
    verdict = _verdict(tmp_path, code, **parameters)
    assert (verdict["passed"], verdict["reason"], verdict.get("evidence")) == (not reason, reason, evidence)


@pytest.mark.parametrize(
    ("value", "reason"), [(None, "'n' is not a text"), (["x = 1"], "'n' is not a text"), (" \n", "'n' has no code")]
)
def test_it_fails_what_is_no_code(tmp_path: Path, value: Json, reason: str) -> None:
    found = judged(tmp_path, {"n": value}, gate("sync_celery", port="n"))
    assert (workshop.code_of(found), found.verdicts[0]["reason"]) == ("POST_GATE_FAILED", reason)


@pytest.mark.parametrize("code", ["x = 1\0", "#" * (10 * 1024 * 1024), "(" * 5000, "x = " + "-" * 3000 + "1"])
def test_it_fails_what_cannot_be_read(tmp_path: Path, code: str) -> None:
    verdict = _verdict(tmp_path, code)
    evidence = cast("JsonObject", verdict["evidence"])
    assert (verdict["passed"], list(evidence)) == (False, ["unreadable"])


def test_many_findings_are_counted_and_the_first_are_listed(tmp_path: Path) -> None:
    verdict = _verdict(tmp_path, "import os\n" + "os.fork()\n" * 100)
    evidence = cast("dict[str, list[Json]]", verdict["evidence"])
    assert len(evidence["violations"]) == 15
    assert str(verdict["reason"]).endswith("; and 97 more")


def test_the_findings_are_on_record_and_go_back_to_the_model(tmp_path: Path) -> None:
    async def story() -> None:
        provider = scripted.Scripted([{"code": _UNLIMITED}, {"code": _GOOD}])
        block: dict[str, Json] = {
            "id": "write",
            "prompt": "Write a function.",
            "outputs": {"code": "string"},
            "post_gates": [{"name": "worker", "type": "sync_celery", "port": "code"}],
            "on_gate_fail": [{"when_gate": "worker", "route_to": "write", "max_bounces": 1}],
        }
        project = openskelo.Project(root=tmp_path, data_dir=tmp_path / ".skelo")
        async with await openskelo.Engine.open(project, provider=provider) as engine:
            run_id = await engine.start(stage.workflow(block))
            done = await engine.wait(run_id)
            assert (done["ending"], stage.node(done, "write")["outputs"]) == ("ok", {"code": _GOOD})
            first, second = (prompt.text(asked.messages) for asked in provider.asked)
            found = {**_FINDING, "file": "code"}
            assert [str(found[part]) in first for part in ("message", "hint")] == [False, False]
            assert [str(found[part]) in second for part in ("code", "message", "hint")] == [True, True, True]
            failures = [event["data"] async for event in engine.follow(run_id) if event["type"] == "attempt.failed"]
            (verdict,) = cast("list[JsonObject]", cast("JsonObject", failures[0])["verdicts"])
            assert (len(failures), verdict["evidence"]) == (1, {"violations": [found]})

    stage.play(story)
