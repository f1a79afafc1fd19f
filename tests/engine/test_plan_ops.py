"""Plans through the real engine: a project on disk, its tools, checkers, transforms, contexts, modes, and the log."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import orjson
import pytest

import openskelo
from openskelo import errors
from openskelo.history import replay, verify
from openskelo.history.run_document import RunDocument
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import scripted
from tests.engine import stage
from tests.executors.ops import bench

MCP_DEMO = Path(__file__).parents[1] / "executors" / "mcp_demo.py"
SECRET = "hush-hush-hush"
PROJECT = f"""
allow: {{commands: false}}
secrets: {{TOKEN: "${{env:PLAN_TOKEN}}"}}
providers:
  tape: {{kind: recorded}}
  web: {{kind: openai, base_url: "http://127.0.0.1:9/v1", model: m}}
experts:
  coder: {{provider: tape, max_tokens: 100}}
  second: {{provider: tape, max_tokens: 100}}
  remote: {{provider: web, max_tokens: 100}}
default_expert: coder
tools:
  note: {{python: "tools/own.py:note", effect: idempotent, network: false, cost_usd: 0.001}}
  search: {{python: "tools/own.py:search"}}
  sign: {{python: "tools/own.py:sign", config: {{token: "${{secret:TOKEN}}"}}, network: false, effect: idempotent}}
  leak: {{python: "tools/own.py:leak", config: {{token: "${{secret:TOKEN}}"}}, network: false, effect: idempotent}}
  fail: {{python: "tools/own.py:fail", config: {{token: "${{secret:TOKEN}}"}}, network: false, effect: idempotent}}
  sum: {{mcp: demo, tool: add, network: false, effect: pure}}
checkers:
  applies: {{builtin: diff_applies_cleanly, config: {{repo: code}}}}
  short: "checks.py:short"
transforms:
  first: "checks.py:first"
contexts:
  repo_diff: {{git_diff: "HEAD", repo: code}}
  "snap:t381": {{file: "trace.json"}}
mcp:
  demo: {{command: ["{sys.executable}", "{MCP_DEMO}"]}}
modes:
  degraded: {{max_tool_spend_usd: 1}}
"""

CODE = """
import hashlib

def note(ctx):
    with open("notes.txt", "a") as notes:
        notes.write(ctx.inputs["text"] + "\\n")
    return {"length": len(ctx.inputs["text"])}

def sign(ctx):
    print("signing with", ctx.inputs["token"])
    ctx.log("the token is " + ctx.inputs["token"])
    return {"by": hashlib.sha256(ctx.inputs["token"].encode()).hexdigest(), "length": len(ctx.inputs["token"])}

def leak(ctx):
    return {"token": "it is " + ctx.inputs["token"]}

def fail(ctx):
    raise ValueError("refused with " + ctx.inputs["token"])

def search(ctx):
    raise AssertionError("never called")
"""

CHECKS = """
def short(ctx):
    return {"ok": len(ctx.inputs["input"]) < ctx.inputs["most"]}

def first(ctx):
    return ctx.inputs["refs"][0][:5]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLAN_TOKEN", SECRET)
    (tmp_path / "skelo.yaml").write_text(PROJECT)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "own.py").write_text(CODE)
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "trace.json").write_text('{"error": "TypeError", "line": 3}')
    (tmp_path / "recordings").mkdir()
    bench.repository(tmp_path / "code", file="old\n")
    return tmp_path


def plan(root: Path, *steps: Mapping[str, Json], **top: Json) -> openskelo.Workflow:
    document = {
        "plan_id": "p1",
        "mode": "normal",
        "budgets": {"max_steps": 20},
        "inputs": {"task": "Mend it"},
        "variables": {},
        "steps": list(steps),
        "outputs": {},
        **top,
    }
    path = root / "plan.json"
    path.write_bytes(orjson.dumps(document))
    return openskelo.load(path)


def run(
    root: Path, workflow: openskelo.Workflow, *answers: scripted.Script, contexts: JsonObject | None = None
) -> RunDocument:
    """The document of the finished run, which must verify and replay."""

    async def story() -> RunDocument:
        provider = scripted.Scripted(list(answers))
        async with await openskelo.Engine.open(openskelo.project_at(root), provider=provider) as engine:
            run_id = await engine.start(workflow, contexts=contexts)
            document = await engine.wait(run_id)
            assert (await verify.verify_run(engine.store, run_id)).intact
            assert (await replay.replay(engine.store, run_id, engine.performer)).ok
            log = b"".join([b"\n".join(lines) async for lines in engine.store.read_events(run_id)])
            assert SECRET.encode() not in log
            return document

    return stage.play(story)


def step(key: str, op: str, args: JsonObject, save_as: str | None = None) -> JsonObject:
    return {"id": key, "op": op, "args": args, **({} if save_as is None else {"save_as": save_as})}


def emit(key: str, result: str, *audit: str, status: str = "ok") -> JsonObject:
    return step(key, "emit", {"result_ref": result, "audit_refs": list(audit), "status": status})


SEED: Sequence[JsonObject] = (
    step("s1", "transform", {"fn": "assemble_prompt", "refs": ["ctx:repo_diff", "snap:t381.error"]}, "prompt"),
    step("s2", "route_expert", {"expert_id": "coder", "prompt_ref": "var:prompt", "max_new_tokens": 50}, "patch"),
    step("s3", "verify", {"checker_id": "applies", "input_ref": "var:patch"}, "v1"),
    step("s4", "branch", {"cond": {"ok": "var:v1.ok"}, "then": "s9", "else": "s5"}),
    step("s5", "route_expert", {"expert_id": "second", "prompt_ref": "var:prompt", "max_new_tokens": 50}, "patch2"),
    step("s6", "verify", {"checker_id": "applies", "input_ref": "var:patch2"}, "v2"),
    step("s8", "branch", {"cond": {"ok": "var:v2.ok"}, "then": "s10", "else": "s12"}),
    emit("s9", "var:patch", "var:v1"),
    emit("s10", "var:patch2", "var:v2"),
    step("s12", "ask_human", {"request": {"message": "Both patches failed."}}, "said"),
)


def test_a_plan_asks_checks_and_branches_as_its_patches_apply(project: Path) -> None:
    (project / "code" / "file").write_text("changed\n")
    workflow = plan(project, *SEED)
    good, bad = bench.patch("file", "changed", "new"), bench.patch("file", "old", "new")
    first = cast("JsonObject", run(project, workflow, good))
    assert first["ending"] == "ok"
    assert first["outputs"] == {"result": good, "audit": [{"ok": True, "files": ["file"]}]}
    second = cast("JsonObject", run(project, workflow, bad, good))
    assert second["outputs"] == {"result": good, "audit": [{"ok": True, "files": ["file"]}]}
    neither = cast("JsonObject", run(project, workflow, bad, bad))
    assert (neither["status"], neither["ending"]) == ("paused", None)


def test_the_prompt_has_the_task_the_diff_and_the_snapshot(project: Path) -> None:
    (project / "code" / "file").write_text("changed\n")
    workflow = plan(project, SEED[0], emit("s9", "var:prompt"))
    document = cast("JsonObject", run(project, workflow))
    prompt = str(cast("JsonObject", document["outputs"])["result"])
    assert prompt.startswith("Mend it\n\n## ctx:repo_diff\n\n```\ndiff --git a/file b/file")
    assert prompt.endswith("## snap:t381.error\n\n```\nTypeError\n```")
    given = cast("JsonObject", run(project, workflow, contexts={"ctx:repo_diff": "as given"}))
    assert "## ctx:repo_diff\n\n```\nas given\n```" in str(cast("JsonObject", given["outputs"])["result"])


def test_tools_of_each_kind_and_functions_of_the_project_work_together(project: Path) -> None:
    workflow = plan(
        project,
        step("t1", "transform", {"fn": "first", "refs": ["input:task"]}, "start"),
        step("t2", "tool_call", {"tool_id": "note", "args": {"text": "var:start"}}, "noted"),
        step("t3", "tool_call", {"tool_id": "sum", "args": {"a": "var:noted.length", "b": 2}}, "total"),
        step("t4", "verify", {"checker_id": "short", "input_ref": "var:start", "most": 9}, "v"),
        step("t5", "tool_call", {"tool_id": "read-file", "args": {"path": "notes.txt"}}, "read"),
        step("t6", "transform", {"expr": "var.read.content + string(var.total.result)"}, "all"),
        emit("t7", "var:all", "var:v"),
    )
    document = cast("JsonObject", run(project, workflow))
    assert document["outputs"] == {"result": "Mend \n7", "audit": [{"ok": True}]}
    budget = cast("Mapping[str, JsonObject]", document["budget"])
    assert budget["toolSpendUsd"]["used"] == 0.001


def _everything_kept(project: Path) -> bytes:
    """Every byte of every file below the data dir, and every blob as it is read back."""

    async def story() -> list[bytes]:
        found: list[bytes] = []
        async with await openskelo.Engine.open(openskelo.project_at(project)) as engine:
            for row in await engine.store.list_runs():
                events = [event async for event in engine.follow(row.run_id, until_end=False)]
                found.append(orjson.dumps(events))
                made = [event for event in events if event["type"] == "artifact.created"]
                hashes = [cast("Mapping[str, JsonObject]", event["data"])["artifact"]["hash"] for event in made]
                found += [await engine.store.read_blob(str(name)) for name in hashes]
        return found

    kept = stage.play(story)
    return b"\n".join([*kept, *(path.read_bytes() for path in (project / ".skelo").rglob("*") if path.is_file())])


@pytest.mark.parametrize(
    ("tool", "ending", "code"),
    [("sign", "ok", None), ("leak", "failed", "SECRET_IN_OUTPUT"), ("fail", "failed", "HANDLER_RAISED")],
)
def test_a_secret_that_a_tool_is_configured_with_is_used_and_never_kept(
    tool: str, ending: str, code: str | None, project: Path
) -> None:
    workflow = plan(
        project,
        step("t", "tool_call", {"tool_id": tool, "args": {}}, "made"),
        emit("e", "var:made"),
    )
    document = cast("JsonObject", run(project, workflow))
    assert document["ending"] == ending
    if code is None:
        by = hashlib.sha256(SECRET.encode()).hexdigest()
        assert document["outputs"] == {"result": {"by": by, "length": len(SECRET)}, "audit": []}
    else:
        assert cast("JsonObject", document["error"])["code"] == code
    assert SECRET not in orjson.dumps(document).decode()
    kept = _everything_kept(project)
    assert b"tool_call" in kept
    assert (b"the token is" in kept) == (tool == "sign")
    assert SECRET.encode() not in kept


@pytest.mark.parametrize("op", ["tool", "expert"])
def test_a_denial_goes_where_the_plan_says_and_leaves_its_reason(project: Path, op: str) -> None:
    denied: JsonObject = (
        {"tool_id": "search", "args": {}} if op == "tool" else {"expert_id": "remote", "prompt_ref": "input:task"}
    )
    workflow = plan(
        project,
        step("d1", "tool_call" if op == "tool" else "route_expert", {**denied, "on_denied": "d3"}, "found"),
        emit("d2", "var:found"),
        emit("d3", "var:found", status="denied"),
        mode="offline",
    )

    async def story() -> RunDocument:
        async with await openskelo.Engine.open(openskelo.project_at(project)) as engine:
            return await engine.wait(await engine.start(workflow))

    document = stage.play(story)
    result = cast("JsonObject", document["outputs"]["result"])
    assert (document["ending"], result["denied"], result["code"]) == ("denied", True, "MODE_DENIED")


def test_a_context_may_be_what_another_run_has_kept(project: Path) -> None:
    async def story() -> RunDocument:
        ask = plan(
            project,
            step("a", "route_expert", {"expert_id": "coder", "prompt_ref": "input:task"}, "x"),
            emit("e", "var:x"),
        )
        where = openskelo.project_at(project)
        async with await openskelo.Engine.open(where, provider=scripted.Scripted(["answer"])) as engine:
            first = await engine.start(ask)
            await engine.wait(first)
            text = (project / "skelo.yaml").read_text()
            kept = f'  old: {{artifact: "artifact://{first}/a:prompt.full.txt"}}\n'
            (project / "skelo.yaml").write_text(text.replace("contexts:\n", f"contexts:\n{kept}"))
        use = plan(project, step("e", "emit", {"result_ref": "ctx:old"}))
        async with await openskelo.Engine.open(openskelo.project_at(project)) as engine:
            return await engine.wait(await engine.start(use))

    document = stage.play(story)
    result = str(document["outputs"]["result"])
    assert result.endswith("=== user ===\nMend it\n")


def test_a_context_that_cannot_be_read_starts_nothing(project: Path) -> None:
    workflow = plan(project, step("e", "emit", {"result_ref": "snap:t381"}))
    (project / "trace.json").unlink()

    async def story() -> tuple[str, int]:
        async with await openskelo.Engine.open(openskelo.project_at(project)) as engine:
            with pytest.raises(errors.InvalidInput) as raised:
                await engine.start(workflow)
            return raised.value.code, len(await engine.store.list_runs())

    assert stage.play(story) == ("CONTEXT_FAILED", 0)
