"""Money: what an agent's calls use is counted, a budget ends the turn, the key stays outside, and trouble has words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

import openskelo
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json
from openskelo.testing import scripted_model_server
from tests.agents import repository
from tests.cli.conftest import Skelo

#: Three dollars a million in, fifteen out.
PRICES: Json = {"input_usd_per_mtok": 3, "output_usd_per_mtok": 15}
KEY = "sk-the-real-key-0123456789"


@pytest.fixture
def server() -> Generator[scripted_model_server.ScriptedModelServer]:
    with scripted_model_server.serve(tokens_in=100_000, tokens_out=10_000) as running:
        yield running


def _project(folder: Path, server: scripted_model_server.ScriptedModelServer, **settings: Json) -> Path:
    return repository.make(folder, **{"base_url": server.url, "prices": PRICES, **settings})


def _used(document: RunDocument) -> tuple[int, float]:
    budget = cast("dict[str, Any]", document["budget"])
    return budget["tokens"]["used"], budget["costUsd"]["used"]


def _error(document: RunDocument) -> dict[str, Any]:
    return cast("dict[str, Any]", document.get("error"))


def _usage(root: Path, document: RunDocument) -> dict[str, Any]:
    return json.loads(repository.artifact(root, document["runId"], "usage.json"))


def _log(root: Path, document: RunDocument) -> str:
    return repository.artifact(root, document["runId"], "work.log").strip()


# -- counting ---------------------------------------------------------------------------------------------------------


def test_calls_are_counted_by_the_models_figures_and_what_the_agent_reports_is_only_shown(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer
) -> None:
    root = _project(tmp_path, server, model="m-1")
    document = repository.play(root, repository.block("@model @say hi", "@model @say ho", "@cost 7", "@say done"))
    assert document["ending"] == "ok", document.get("error")
    assert _used(document) == (220_000, 0.9)  # twice 100,000 for 3 and 10,000 for 15 dollars a million
    found = _usage(root, document)
    assert found["counted"] == {"tokensIn": 200_000, "tokensOut": 20_000, "costUsd": 0.9, "estimated": False}
    assert found["reported"] == [{"tokensIn": 10, "tokensOut": 5, "costUsd": 7.0}]
    for call in found["calls"]:
        call.pop("ms")
    assert found["calls"] == 2 * [
        {
            "protocol": "chat",
            "model": "m-1",
            "status": 200,
            "tokensIn": 100_000,
            "cachedIn": 0,
            "tokensOut": 10_000,
            "costUsd": 0.45,
            "estimated": False,
        }
    ]


def test_viewers_are_told_what_is_used_while_the_turn_goes_on(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer
) -> None:
    root = _project(tmp_path, server, budget={"max_usd_per_turn": 1})
    told: list[str] = []

    async def story() -> None:
        async with repository.engine(root) as opened:
            opened.listen_status(lambda _request, text: None if text == "answering" else told.append(text))
            lines = ("@model @say hi", "@model @say ho", "@say done")
            await opened.wait(await opened.start(openskelo.from_document(repository.block(*lines), root=root)))

    asyncio.run(asyncio.wait_for(story(), 120))
    assert told == [
        "1 call to the model, 110000 tokens, 0.45 USD",
        "0.9 of 1 USD are used (max_usd_per_turn)",
        "2 calls to the model, 220000 tokens, 0.9 USD",
    ]


def test_a_call_in_flight_counts_when_its_run_is_cancelled(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer
) -> None:
    root = _project(tmp_path, server)
    hanging = "@model @hang " + "x" * 3000

    async def story() -> RunDocument:
        async with repository.engine(root) as opened:
            flow = openskelo.from_document(repository.block("@model @say hi", hanging), root=root)
            run_id = await opened.start(flow)
            await repository.until(lambda: len(server.requests) == 2)
            await opened.cancel(run_id)
            return await opened.wait(run_id)

    document = asyncio.run(asyncio.wait_for(story(), 120))
    assert document["ending"] == "cancelled"
    tokens, usd = _used(document)
    assert 110_000 + 1_000 < tokens < 110_000 + 1_500
    assert 0.45 < usd < 0.46
    assert repository.processes_left(root) == []


# -- caps -------------------------------------------------------------------------------------------------------------

_CALLS = ("@write kept.txt x", *["@model @say hi"] * 6, "@say done")


@pytest.mark.parametrize(
    ("budget", "words", "calls"),
    [
        ({"max_usd_per_turn": 0.91}, "max_usd_per_turn of helper is 0.91 USD; 0.9 used, and the next call to m may", 2),
        ({"max_usd": 1.36}, "max_usd of helper is 1.36 USD; 1.35 used, and the next call to m may need 0.01", 3),
        ({"max_tokens_per_turn": 200_000}, "max_tokens_per_turn of helper is 200000; 220000 used", 2),
        ({"max_tokens": 110_000}, "max_tokens of helper is 110000; 110000 used", 1),
        ({"max_usd_per_call": 0.0001}, "max_usd_per_call of helper is 0.0001 USD; 0 used", 0),
        ({"max_requests_per_turn": 4}, "max_requests_per_turn is 4", 4),
    ],
)
def test_a_cap_that_is_used_up_ends_the_run_with_evidence_and_keeps_the_work(
    tmp_path: Path,
    server: scripted_model_server.ScriptedModelServer,
    budget: Json,
    words: str,
    calls: int,
) -> None:
    # The least that a call may need is 0.0156 USD: an answer of 1,024 tokens, and its request.
    root = _project(tmp_path, server, budget=budget, env={"MAX_TOKENS": "${env:TEN_THOUSAND}"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEN_THOUSAND", "10000")
        document = repository.play(root, repository.block(*_CALLS))
    assert (document["ending"], _error(document)["code"]) == ("budget_exceeded", "BUDGET_EXCEEDED")
    assert words in _error(document)["message"]
    assert len(server.requests) == calls
    assert _used(document)[0] == calls * 110_000
    assert "kept.txt" in repository.artifact(root, document["runId"], "diff.partial.patch")
    assert repository.processes_left(root) == []


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        ({"max_cost_usd": 0.45}, "max_cost_usd is 0.45 USD; 0 used and the next attempt needs 0.45"),
        ({"max_tokens": 110_050}, "max_tokens is 110050; 0 used and the next attempt needs 1101"),
    ],
)
def test_the_limits_of_the_run_hold_for_the_calls_of_its_agents(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer, budgets: Json, words: str
) -> None:
    root = _project(tmp_path, server)
    document = repository.play(root, {**repository.block(*_CALLS), "budgets": budgets})
    assert (document["ending"], _error(document)["code"]) == ("budget_exceeded", "BUDGET_EXCEEDED")
    assert _error(document)["message"].startswith(words)
    assert len(server.requests) == 1


def test_what_earlier_attempts_of_the_node_have_used_counts(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer
) -> None:
    root = _project(tmp_path, server, budget={"max_tokens": 110_100})
    lines = ("@model @say hi", '@json {"answer": "x"}', "@next", "@model @say again", '@json {"answer": 1}')
    document = repository.play(root, repository.block(*lines, outputs={"answer": {"type": "integer"}}))
    assert document["ending"] == "budget_exceeded"
    assert "max_tokens of helper is 110100; 110000 used" in _error(document)["message"]
    assert len(server.requests) == 1


def test_the_log_warns_once_when_most_of_a_cap_is_used(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer
) -> None:
    root = _project(tmp_path, server, budget={"max_usd": 1.1, "max_tokens": 10_000_000})
    document = repository.play(root, repository.block("@model @say a", "@model @say b", "@say done"))
    assert document["ending"] == "ok"
    assert _log(root, document) == "warning: 0.9 of 1.1 USD are used (max_usd)"


def test_a_model_without_a_price_is_refused_if_the_run_has_a_cap_in_usd(tmp_path: Path) -> None:
    root = repository.make(tmp_path, budget={"max_usd": 1}, base_url="http://127.0.0.1:1")
    (root / "flow.yaml").write_text(yaml.safe_dump(repository.block("@say x")))
    refused = Skelo(folder=root)("validate", "flow.yaml")
    assert refused.code == 2
    assert "PRICE_UNKNOWN the price of the model of helper is unknown" in refused.err + refused.out


def test_a_limit_of_the_run_in_usd_needs_the_price_of_its_agents(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    (root / "flow.yaml").write_text(yaml.safe_dump({**repository.block("@say x"), "budgets": {"max_cost_usd": 1}}))
    refused = Skelo(folder=root)("validate", "flow.yaml", "--json")
    assert [(problem["code"], problem["path"]) for problem in refused.document["problems"]] == [
        ("PRICE_UNKNOWN", "/budgets/max_cost_usd")
    ]


# -- the key ----------------------------------------------------------------------------------------------------------


def test_the_key_reaches_the_model_and_nothing_of_the_agent(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REAL_KEY", KEY)
    files: Json = {".agent/settings.json": '{"url": "${model:url}", "key": "${model:key}"}'}
    root = _project(tmp_path, server, api_key="${env:REAL_KEY}", home_files=files)
    document = repository.play(root, repository.block("@env environment.txt", "@model @say hi", "@say done"))
    assert document["ending"] == "ok", document.get("error")
    assert [headers["authorization"] for headers in server.headers] == [f"Bearer {KEY}"]
    data = root / ".skelo"
    (tree,) = data.glob("workspaces/*/*/tree")
    environment = (tree / "environment.txt").read_text()
    assert "OPENAI_BASE_URL=http://127.0.0.1:" in environment
    (settings,) = data.glob("workspaces/*/*/home/.agent/settings.json")
    token = json.loads(settings.read_text())["key"]
    assert f"OPENAI_API_KEY={token}" in environment
    for file in data.rglob("*"):
        if file.is_file() and not file.is_symlink():
            assert KEY.encode() not in file.read_bytes(), file
    assert "\n".join(repository.artifact(root, document["runId"], name) for name in ("transcript.jsonl",))


# -- its own log-in ---------------------------------------------------------------------------------------------------


def test_with_its_own_log_in_there_is_no_gateway_and_usd_are_unknown(tmp_path: Path) -> None:
    root = repository.make(tmp_path, login="own")
    document = repository.play(root, repository.block("@env environment.txt", "@cost 3", "@say done"))
    assert document["ending"] == "ok"
    budget = cast("dict[str, Any]", document["budget"])
    assert budget["tokens"]["used"] == 15
    assert budget["costUsd"] == {"used": 0.0, "limit": None, "unknown": True}
    (tree,) = (root / ".skelo").glob("workspaces/*/*/tree")
    assert "BASE_URL" not in (tree / "environment.txt").read_text()
    found = _usage(root, document)
    assert (found["login"], found["counted"]["costUsd"], found["reported"][0]["costUsd"]) == ("own", None, 3.0)
    shown = Skelo(folder=root)("show", document["runId"])
    assert "USD that are not known (an agent with its own log-in)" in shown.out
    listed = Skelo(folder=root)("agents")
    assert "own log-in (USD unknown)" in listed.out


def test_with_its_own_log_in_the_reported_tokens_are_the_cap(tmp_path: Path) -> None:
    root = repository.make(tmp_path, login="own", budget={"max_tokens": 20}, until="complete", max_turns=5)
    lines = ("@say one", "@next", "@say two", "@next", "@say three")
    document = repository.play(root, repository.block(*lines, outputs={"answer": {"type": "integer"}}))
    assert (document["ending"], _error(document)["code"]) == ("budget_exceeded", "BUDGET_EXCEEDED")
    assert "max_tokens of helper is 20; 30 used" in _error(document)["message"]
    assert _used(document)[0] == 30


# -- trouble ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_the_failure_of_a_turn_says_what_the_model_answered(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer, status: int
) -> None:
    root = _project(tmp_path, server)
    lines = (f"@model @fail {status}", "@error I could not go on.")
    document = repository.play(root, repository.block(*lines, "@next", *lines, retry={"max_attempts": 2}))
    assert document["ending"] == "failed"
    assert "I could not go on." in _error(document)["message"]
    assert f"{status} from the model: scripted failure" in _error(document)["message"]
    assert len(server.requests) == (1 if status in (401, 403) else 2)  # a wrong key stays wrong


def test_a_failure_that_the_agent_has_overcome_is_not_mentioned(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer
) -> None:
    root = _project(tmp_path, server)
    document = repository.play(root, repository.block("@model @fail 500", "@model @say hi", "@error lost", retry={}))
    assert "from the model" not in _error(document)["message"]


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    root = repository.make(tmp_path, base_url="http://127.0.0.1:9", prices=PRICES)
    document = repository.play(root, repository.block("@model @say hi", "@error lost"))
    assert "no connection to the model at 127.0.0.1:9" in _error(document)["message"]


def test_a_model_that_hangs_ends_the_turn_and_the_message_says_so(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer
) -> None:
    root = _project(tmp_path, server, wall_ms=700)
    document = repository.play(root, repository.block("@model @hang", retry={}))
    assert _error(document)["code"] == "TIMEOUT"
    assert repository.processes_left(root) == []


def test_errors_for_ever_are_bounded_by_the_number_of_requests(
    tmp_path: Path, server: scripted_model_server.ScriptedModelServer
) -> None:
    root = _project(tmp_path, server, budget={"max_requests_per_turn": 5})
    document = repository.play(root, repository.block(*["@model @fail 429"] * 50, "@say done"))
    assert (document["ending"], len(server.requests)) == ("budget_exceeded", 5)
    assert "max_requests_per_turn is 5" in _error(document)["message"]
