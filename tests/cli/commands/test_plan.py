"""`skelo plan`: a model writes, the checker looks, Problems go back, and nothing runs that nobody approved."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

import openskelo
from openskelo.kernel.json import JsonObject
from openskelo.providers import config
from tests import forked_skelo
from tests.cli.conftest import SKELO, Result, Skelo, clean_environment
from tests.cli.terminals import Terminal
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


KEY = {"SOME_KEY": loopback.KEY}


def _plan(skelo: Skelo, *words: str) -> Result:
    return skelo("plan", "double a number", "--expert", "writer", *words, env=KEY)


def _terminal(skelo: Skelo) -> Terminal:
    """`skelo plan` as far as its question."""
    terminal = Terminal(skelo.folder, "plan", "double a number", "--expert", "writer", env=KEY)
    terminal.until("run it now? [y/N] ")
    return terminal


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(skelo: Skelo) -> list[tuple[str, str | None]]:
    """Every run that there is, the oldest first."""
    return [(run["name"], run["ending"]) for run in reversed(skelo("runs", "--json").document["runs"])]


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
    assert _runs(skelo) == [("skelo-plan", "ok")]


@pytest.mark.parametrize(
    ("name", "file", "typed"),
    [
        ("ünï ☃", "ünï.plan.json", "'ünï.plan.json'"),
        ("../evil", "evil.plan.json", "evil.plan.json"),
        ("-x-", "x.plan.json", "x.plan.json"),
        ("☃", "plan.plan.json", "plan.plan.json"),
        ("数" * 90, f"{'数' * 26}.plan.json", f"'{'数' * 26}.plan.json'"),
    ],
)
def test_a_plan_is_written_to_a_file_that_can_be_named(skelo: Skelo, name: str, file: str, typed: str) -> None:
    with _server(skelo, _say({**GOOD, "plan_id": name})):
        done = _plan(skelo)
    assert done.code == 0, done.err
    assert (skelo.folder / file).exists()
    assert f"to run it: skelo run {typed}\n" in done.err


def test_a_file_that_begins_with_a_dash_is_named_so_that_it_can_be_typed(skelo: Skelo) -> None:
    with _server(skelo, _say(GOOD)):
        done = _plan(skelo, "--out=-a b.json")
    assert "to run it: skelo run './-a b.json'\n" in done.err
    assert skelo("run", "./-a b.json", "-q").code == 0


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


def test_what_is_wrong_with_the_last_draft_is_shown_by_its_path_in_the_plan(skelo: Skelo) -> None:
    with _server(skelo, _say(WRONG)):
        done = _plan(skelo, "--repairs", "0")
    assert done.code == 1
    (line,) = [line for line in done.err.splitlines() if " REF_UNKNOWN " in line]
    assert line.startswith("/steps/")


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
        told = skelo("plan", "anything", "--expert", "nobody").err
        assert server.asked == []
    assert told.count("EXPERT_UNKNOWN") == 1
    assert told.endswith("1 problem found, nothing was started\n")
    assert (done.code, done.document["problems"][0]["code"]) == (2, "EXPERT_UNKNOWN")


@pytest.mark.parametrize("word", ["", "n", "of course not"])
def test_only_a_yes_at_the_terminal_runs_the_plan(word: str, skelo: Skelo) -> None:
    with _server(skelo, _say(GOOD)):
        terminal = _terminal(skelo)
        terminal.type(word)
        assert terminal.end() == 0, terminal.seen
    assert "the plan was not run" in terminal.seen
    assert (skelo.folder / "double.plan.json").exists()
    assert _runs(skelo) == [("skelo-plan", "ok")]


def test_a_yes_at_the_terminal_runs_the_plan(skelo: Skelo) -> None:
    with _server(skelo, _say(GOOD)):
        terminal = _terminal(skelo)
        terminal.type("yes")
        assert terminal.end() == 0, terminal.seen
    assert _runs(skelo) == [("skelo-plan", "ok"), ("double", "ok")]
    assert skelo("output", "last", "result").out == "8\n"


def test_ctrl_c_at_the_question_is_a_no(skelo: Skelo) -> None:
    with _server(skelo, _say(GOOD)):
        terminal = _terminal(skelo)
        terminal.interrupt()
        assert terminal.end() == 130, terminal.seen
    assert "the plan was not run" in terminal.seen
    assert "Traceback" not in terminal.seen
    assert (skelo.folder / "double.plan.json").exists()
    assert _runs(skelo) == [("skelo-plan", "ok")]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_what_was_interrupted_goes_on_with_resume_and_only_there(stop: signal.Signals, skelo: Skelo) -> None:
    release = threading.Event()
    with _server(skelo, _say(WRONG), loopback.Hang(release=release), _say(GOOD)) as server:
        words = ["plan", "double a number", "--expert", "writer", "--json"]
        process = forked_skelo.start(words, folder=skelo.folder, env=clean_environment() | KEY)
        _until(lambda: len(server.asked) == 2)
        process.send_signal(stop)
        out, err = process.communicate(timeout=20)
        release.set()
        run_id = skelo("runs", "--json").document["runs"][0]["runId"]
        if stop == signal.SIGINT:
            assert (process.returncode, json.loads(out)["file"]) == (3, None)
            assert f"continue with: skelo plan --resume {run_id[:8]}" in err
        refused = skelo("resume", run_id, "--json", env=KEY)
        assert (refused.code, refused.document["error"]["code"]) == (2, "HANDLER_UNKNOWN")
        assert _runs(skelo) == [("skelo-plan", None)]
        done = skelo("plan", "--resume", run_id, "--json", env=KEY)
        assert len(server.asked) == 3
    assert done.code == 0, done.err
    assert (done.document["runId"], done.document["file"]) == (run_id, "double.plan.json")
    assert json.loads((skelo.folder / "double.plan.json").read_text()) == GOOD
    assert _runs(skelo) == [("skelo-plan", "ok")]
    assert skelo("verify", run_id).code == 0


def test_what_was_written_can_be_had_again(skelo: Skelo) -> None:
    skelo.write("double.plan.json", "mine")
    with _server(skelo, _say(GOOD)) as server:
        done = _plan(skelo, "--json")
        error = done.document["error"]
        assert (done.code, error["code"]) == (2, "FILE_EXISTS")
        words = error["hint"].replace("FILE", "other.json").split()[1:]
        again = skelo(*words, "--json", env=KEY)
        assert len(server.asked) == 1
    assert (again.code, again.document["file"]) == (0, "other.json")
    assert (skelo.folder / "double.plan.json").read_text() == "mine"
    assert json.loads((skelo.folder / "other.json").read_text()) == GOOD


def test_a_run_that_writes_no_plan_is_not_resumed_here(skelo: Skelo) -> None:
    skelo.write("double.json", json.dumps(GOOD))
    assert skelo("run", "double.json").code == 0
    done = skelo("plan", "--resume", "last", "--json")
    assert (done.code, done.document["error"]["code"]) == (2, "USAGE")
    for words in ((), ("a goal", "--resume", "last")):
        assert skelo("plan", *words, "--json").document["error"]["code"] == "USAGE"


@pytest.mark.parametrize(
    "junk", ["I would rather not.", '{"plan": {"steps": "none"}}', '{"plan": {"plan_id": "x", "steps": []}}', "[]", ""]
)
def test_an_expert_that_answers_with_junk_leaves_no_file_and_no_run(junk: str, skelo: Skelo) -> None:
    with _server(skelo, *(loopback.Say(text=junk) for _ in range(20))) as server:
        done = _plan(skelo, "--approve", "--json")
        assert 1 < len(server.asked) < 10
    assert done.code == 1
    assert (done.document["valid"], done.document["file"]) == (False, None)
    assert list(skelo.folder.glob("*.plan.json")) == []
    assert [name for name, _ in _runs(skelo)] == ["skelo-plan"]


def test_an_expert_that_never_gets_it_right_is_never_run_even_with_approve(skelo: Skelo) -> None:
    with _server(skelo, *(_say(WRONG) for _ in range(5))) as server:
        done = _plan(skelo, "--approve", "--repairs", "3")
        assert len(server.asked) == 4
    assert done.code == 1
    assert "REF_UNKNOWN there is no variable 'twise'" in done.err
    assert _runs(skelo) == [("skelo-plan", "ok")]


def test_what_is_asked_leaves_the_embedded_model_most_of_its_window(skelo: Skelo) -> None:
    with _server(skelo, _say(GOOD)) as server:
        assert _plan(skelo).code == 0
        (asked,) = server.asked
    letters = sum(len(message["content"]) for message in asked["messages"])
    assert letters / 3 < config.N_CTX / 3  # a token is three letters and more


@pytest.mark.slow
@pytest.mark.timeout(600)  # a minute alone; the model shares the machine with everything else
def test_the_embedded_model_drafts_a_plan_out_of_the_box(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", "providers: {local: {kind: local, timeout_ms: 540000}}\n")
    words = [SKELO, "plan", "write a haiku about bees", "--repairs", "0", "--json"]
    done = subprocess.run(
        words, cwd=skelo.folder, env=clean_environment(), capture_output=True, text=True, timeout=580, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert "error" not in found
    assert found["plan"]["steps"]
    assert found["valid"] == (done.returncode == 0)
    assert found["valid"] or found["problems"]


def _start_alike(skelo: Skelo, run_id: str) -> str:
    """Start another run whose id begins in the same way, and return its id."""
    twin = f"{run_id[:9]}{'0' if run_id[9] != '0' else '1'}{run_id[10:]}"  # nine characters alike, the tenth is not
    skelo.write("double.json", json.dumps(GOOD))

    async def start() -> None:
        async with await openskelo.Engine.open(openskelo.project_at(skelo.folder)) as engine:
            await engine.start(openskelo.load(skelo.folder / "double.json"), {}, run_id=twin)
            await engine.wait(twin)

    asyncio.run(start())
    return twin


def test_the_commands_that_go_on_name_the_run_among_runs_that_begin_alike(skelo: Skelo) -> None:
    with _server(skelo, _say(WRONG), _say(WRONG)):
        failed = _plan(skelo, "--repairs", "1", "--json").document["runId"]
        twin = _start_alike(skelo, failed)
        in_vain = skelo("plan", "--resume", failed, env=KEY)
        assert (in_vain.code, f"the drafts are kept: skelo show {failed[:10]}\n" in in_vain.err) == (1, True), in_vain
        wrong = skelo("plan", "--resume", twin, env=KEY)
        assert (wrong.code, f"skelo resume {twin[:10]} continues it" in wrong.err) == (2, True), wrong
    with _server(skelo, _say(GOOD)):
        planned = _plan(skelo, "--json").document["runId"]
        _start_alike(skelo, planned)
        taken = skelo("plan", "--resume", planned, env=KEY)
        assert (taken.code, f"skelo plan --resume {planned[:10]} --out FILE" in taken.err) == (2, True), taken
        again = skelo("plan", "--resume", planned, "--out", "again.json", env=KEY)
        assert (again.code, f"its drafts: skelo show {planned[:10]}\n" in again.err) == (0, True), again
