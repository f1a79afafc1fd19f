"""tool_call: what is allowed, what is given to a tool, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import pytest

from openskelo import errors
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from tests.executors import workshop
from tests.executors.ops import bench

CODE = """
import os

def echo(ctx):
    return {"got": ctx.inputs, "key": ctx.idempotency_key}

def touch(ctx):
    open("touched", "w").close()
    return "done"

def leak(ctx):
    return os.environ["TOOL_TOKEN"]

def uses_token(ctx):
    return ctx.inputs["token"] == os.environ["TOOL_TOKEN"]

def boom(ctx):
    raise RuntimeError("lost " + os.environ.get("TOOL_TOKEN", ""))

def odd(ctx):
    return float("nan")

def slow(ctx):
    import time
    time.sleep(30)
"""


def tool(function: str, **more: Any) -> project_registry.Tool:
    return project_registry.Tool(name="own", kind="python", target=f"tools/own.py:{function}", **more)


def call(
    root: Path,
    own: project_registry.Tool,
    args: Json,
    *,
    mode: definition.PlanMode = "normal",
    rules: Mapping[str, project_registry.ModeRule] = MappingProxyType({}),
    **project: Any,
) -> bench.Done:
    (root / "tools").mkdir(exist_ok=True)
    (root / "tools" / "own.py").write_text(CODE)
    where = workshop.project(root, registry=project_registry.Registry(tools={own.name: own}, modes=rules), **project)
    return bench.perform(where, "tool_call", {"tool_id": own.name, "args": args}, mode=mode)


SCHEMA: Json = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def test_a_function_gets_its_arguments_and_gives_any_json(tmp_path: Path) -> None:
    done = call(tmp_path, tool("echo", args=SCHEMA), {"q": "bees"})
    assert (done.value, done.failure) == ({"got": {"q": "bees"}, "key": workshop.key("s1")}, None)


def test_what_the_project_fixed_goes_over_what_the_plan_says(tmp_path: Path) -> None:
    done = call(tmp_path, tool("echo", config={"q": "fixed"}), {"q": "plan", "n": 1})
    assert done.value == {"got": {"q": "fixed", "n": 1}, "key": workshop.key("s1")}


@pytest.mark.parametrize("args", [{}, {"q": 1}, None])
def test_arguments_that_break_the_schema_never_reach_the_tool(tmp_path: Path, args: Json) -> None:
    done = call(tmp_path, tool("touch", args=SCHEMA, cost_nanousd=5), args)
    assert done.failure is not None
    assert (done.code, done.failure.retryable) == ("ARGS_INVALID", False)
    assert done.whole.outcome.metrics.tool_nanousd == 0
    assert not (tmp_path / "touched").exists()


def test_a_call_costs_what_the_project_says_also_when_it_fails(tmp_path: Path) -> None:
    assert call(tmp_path, tool("echo", cost_nanousd=2_000_000), {}).whole.outcome.metrics.tool_nanousd == 2_000_000
    failed = call(tmp_path, tool("boom", cost_nanousd=2_000_000), {})
    assert (failed.code, failed.whole.outcome.metrics.tool_nanousd) == ("HANDLER_RAISED", 2_000_000)


def test_what_a_tool_gives_is_held_to_what_it_promised(tmp_path: Path) -> None:
    promised: Json = {"type": "object", "required": ["got"]}
    assert call(tmp_path, tool("echo", returns=promised), {}).failure is None
    assert doubt(call(tmp_path, tool("touch", returns=promised), {})) == ("TOOL_RETURN", "yes")
    assert doubt(call(tmp_path, tool("odd"), {})) == ("HANDLER_RETURN", "yes")


def doubt(found: bench.Done) -> tuple[str, errors.Happened]:
    """The code of a failure, and what it says about the tool's effect."""
    assert found.failure is not None
    return found.failure.code, found.failure.happened


def test_a_tool_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    assert doubt(call(tmp_path, tool("slow", timeout_ms=400), {})) == ("TIMEOUT", "unknown")


def test_a_tool_that_raises_has_said_that_it_failed(tmp_path: Path) -> None:
    assert doubt(call(tmp_path, tool("boom"), {})) == ("HANDLER_RAISED", "no")


def test_an_unknown_tool_is_a_failure(tmp_path: Path) -> None:
    done = bench.perform(workshop.project(tmp_path), "tool_call", {"tool_id": "nothing", "args": {}})
    assert done.code == "TOOL_UNKNOWN"


@pytest.mark.parametrize(
    ("own", "mode", "rules", "code"),
    [
        (tool("touch", network=True), "degraded", {}, "MODE_DENIED"),
        (tool("touch", network=True), "offline", {}, "MODE_DENIED"),
        (tool("touch", modes=("normal",)), "degraded", {}, "MODE_DENIED"),
        (tool("touch"), "normal", {"normal": project_registry.ModeRule(tools=())}, "MODE_DENIED"),
        (
            tool("touch", cost_nanousd=1),
            "degraded",
            {"degraded": project_registry.ModeRule(max_tool_nanousd=0)},
            "TOOL_SPEND_DENIED",
        ),
    ],
)
def test_a_denied_tool_is_an_outcome_and_is_not_called(
    tmp_path: Path,
    own: project_registry.Tool,
    mode: definition.PlanMode,
    rules: dict[str, project_registry.ModeRule],
    code: str,
) -> None:
    done = call(tmp_path, own, {}, mode=mode, rules=rules)
    assert done.failure is not None
    assert (done.code, done.failure.denied, done.failure.retryable) == (code, True, False)
    assert done.whole.outcome.metrics.tool_nanousd == 0
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("own", "mode", "rules"),
    [
        (tool("touch", network=True), "normal", {}),
        (tool("touch"), "offline", {}),
        (tool("touch", network=True, modes=("degraded",)), "degraded", {}),
        (tool("touch", network=True), "offline", {"offline": project_registry.ModeRule(tools=("own",))}),
        (tool("touch", cost_nanousd=1), "degraded", {"degraded": project_registry.ModeRule(max_tool_nanousd=1)}),
    ],
)
def test_an_allowed_tool_is_called(
    tmp_path: Path, own: project_registry.Tool, mode: definition.PlanMode, rules: dict[str, project_registry.ModeRule]
) -> None:
    assert call(tmp_path, own, {}, mode=mode, rules=rules).value == "done"
    assert (tmp_path / "touched").exists()


class TestSecrets:
    """The project may name them, a plan may not, and nothing that is kept holds one."""

    SECRETS: ClassVar[dict[str, Any]] = {"secrets": {"TOKEN": "${env:TOOL_TOKEN}"}}

    @pytest.fixture(autouse=True)
    def token(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TOOL_TOKEN", "hush-hush-hush")

    def test_what_the_project_fixed_may_name_one(self, tmp_path: Path) -> None:
        own = tool("uses_token", config={"token": "${secret:TOKEN}"})
        assert call(tmp_path, own, {}, **self.SECRETS).value is True

    def test_what_a_plan_says_stays_text(self, tmp_path: Path) -> None:
        done = call(tmp_path, tool("echo"), {"q": "${env:TOOL_TOKEN} ${secret:TOKEN}"}, **self.SECRETS)
        assert done.value == {"got": {"q": "${env:TOOL_TOKEN} ${secret:TOKEN}"}, "key": workshop.key("s1")}

    def test_an_output_that_holds_one_is_refused(self, tmp_path: Path) -> None:
        assert call(tmp_path, tool("leak"), {}, **self.SECRETS).code == "SECRET_IN_OUTPUT"

    def test_a_message_that_holds_one_is_masked_and_so_is_the_log(self, tmp_path: Path) -> None:
        done = call(tmp_path, tool("boom"), {}, **self.SECRETS)
        assert done.failure is not None
        assert done.failure.message == "RuntimeError: lost [secret]"
        assert not any(b"hush" in data for data in done.whole.blobs.values())
        assert "RuntimeError: lost [secret]" in workshop.log_of(done.whole)

    def test_one_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        assert call(tmp_path, tool("echo", config={"token": "${secret:OTHER}"}), {}).code == "SECRET_MISSING"
