"""Whatever a handler gives back: an outcome with outputs or a failure with a code, never a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openskelo.executors.attempt import performer as attempt_performer
from openskelo.handlers import context
from openskelo.kernel import definition, outcome
from openskelo.values import canonical
from tests.executors import workshop

CODES = {
    None,
    "HANDLER_RETURN",
    "NUMBER_RANGE",
    "OUTPUT_CONTRACT",
    "HANDLER_RAISED",
    "HANDLER_EXITED",
    "POST_GATE_FAILED",
}

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=8)
    | st.complex_numbers()
    | st.dates()
    | st.just(object())
    | st.just(ValueError)
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.frozensets(st.integers(), max_size=2)
        | st.dictionaries(st.text(st.characters(), max_size=4) | st.integers() | st.none(), inner, max_size=3)
    ),
    max_leaves=8,
)
returned = values | st.dictionaries(st.sampled_from(["y", "z", "\ud800"]), values, max_size=3)
QUIET = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def node(handler: str) -> definition.Node:
    return definition.Node(
        key="it",
        mode="deterministic",
        handler=handler,
        outputs=(workshop.port("y"), workshop.port("z", "string", required=False)),
        post_gates=(definition.Gate(name="g", type="length", params={"port": "y", "max": 3}),),
    )


def judged(found: attempt_performer.AttemptResult) -> None:
    """An outcome is whole: JSON that can be written down, and exactly one of outputs and failure."""
    result = found.outcome
    assert workshop.code_of(result) in CODES
    assert (result.outputs is None) is (result.failure is not None)
    canonical.dumps([result.outputs, list(result.verdicts), result.feedback, result.inputs_hash])
    if result.failure is not None:
        result.failure.message.encode()


@QUIET
@given(value=returned)
def test_any_value_from_an_async_handler(tmp_path: Path, value: object) -> None:
    async def it(ctx: context.Context) -> object:
        return value

    (found,) = workshop.perform(workshop.project(tmp_path), workshop.task_of(node("local:it"), {}), local={"it": it})
    judged(found)


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot say")


@QUIET
@given(
    error=st.sampled_from(
        [Odd(), Exception("\ud800"), Exception(), StopIteration(1), SystemExit("\udfff"), RecursionError("x" * 9000)]
    )
)
def test_any_exception_from_a_handler(tmp_path: Path, error: BaseException) -> None:
    async def it(ctx: context.Context) -> object:
        ctx.log("before \ud800", odd=object(), text="\ud800", key={1: 2})
        raise error

    def plain(ctx: context.Context) -> object:
        raise error

    for handler in (it, plain):
        (found,) = workshop.perform(
            workshop.project(tmp_path), workshop.task_of(node("local:it"), {}), local={"it": handler}
        )
        judged(found)
        assert found.outcome.failure is not None


SOURCE = """
import ast, sys, os
class Odd(Exception):
    def __str__(self): raise RuntimeError("cannot say")
def deep(n):
    value = []
    for _ in range(n): value = [value]
    return value
CASES = [
    lambda: deep(100_000), lambda: {"y": deep(100_000)}, lambda: {"y": 10 ** 400}, lambda: {"y": float("inf")},
    lambda: {"y": "\\ud800"}, lambda: {"\\ud800": 1}, lambda: {1: 1}, lambda: {"y": b"x"}, lambda: {"y": object()},
    lambda: {"y": ...}, lambda: iter(()), lambda: (_ for _ in ()), lambda: type("D", (dict,), {})(y=1),
    lambda: {"y": (1, 2)}, lambda: {"y": True}, lambda: {"y": "x", "z": 3}, lambda: {},
    lambda: deep, lambda: {"y": [None]},
]
def loop():
    value = {}
    value["y"] = value
    return value
CASES.append(loop)
def raising(error):
    raise error
ERRORS = [Odd(), BaseException("b"), KeyboardInterrupt(), GeneratorExit(), SystemExit("\\ud800"), Exception("\\ud800"),
          MemoryError()]
CASES += [lambda error=error: raising(error) for error in ERRORS]
def recursing(n=0): return recursing(n + 1)
CASES.append(recursing)
def handler(ctx):
    ctx.log("odd \\ud800", odd=object(), text="\\ud800", key={1: 2})
    print("\\udcff")
    return CASES[int(ctx.config["case"])]()
"""


def test_any_value_from_a_worker(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(SOURCE)

    async def scenario() -> list[attempt_performer.AttemptResult]:
        performer = attempt_performer.Performer(project=workshop.project(tmp_path), blobs=workshop.MemoryBlobs())
        try:
            found: list[attempt_performer.AttemptResult] = []
            for case in range(28):
                one = definition.Node(
                    key="it",
                    mode="deterministic",
                    handler="odd.py",
                    outputs=(workshop.port("y"), workshop.port("z", "string", required=False)),
                    config={"case": case},
                )
                found.append(await performer.perform(workshop.job_of(one, {})))
            return found
        finally:
            await performer.close()

    found = asyncio.run(scenario())
    for one in found:
        judged(one)
    assert [workshop.code_of(one.outcome) for one in found].count(None) == 4


def without_arguments() -> None:
    """Takes no context."""


def with_more_arguments(a: object, b: object) -> None:
    """Wants too much."""


@pytest.mark.parametrize("handler", [without_arguments, with_more_arguments, "text", 3, type, print, asyncio.sleep])
def test_anything_registered_as_a_handler(tmp_path: Path, handler: Callable[..., object]) -> None:
    (found,) = workshop.perform(
        workshop.project(tmp_path), workshop.task_of(node("local:it"), {}), local={"it": handler}
    )
    assert isinstance(found.outcome, outcome.Outcome)
    assert found.outcome.failure is not None
