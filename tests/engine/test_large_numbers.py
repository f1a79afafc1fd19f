"""Numbers of every size: the run, its fold from the log, its replay and a fork of it see the same values."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import cast

from hypothesis import example, given, settings
from hypothesis import strategies as st

from openskelo.handlers import context
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical
from tests.engine import stage

# Doubles of every size, integral ones around the limits too, and integers that a double equals.
EXACT_INTEGERS = st.tuples(st.integers(2**52, 2**53), st.integers(0, 30)).map(lambda pair: pair[0] << pair[1])
NUMBERS = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(min_value=2.0**52, max_value=1e22)
    | st.integers(-(2**53), 2**53)
    | EXACT_INTEGERS
)
TYPES = "inputs.numbers.map(n, type(n) == int ? 'int' : 'double')"
FLOW = stage.workflow(
    stage.block(
        "give",
        inputs={"numbers": "number[]", "padding": "integer"},
        outputs={"numbers": "number[]", "python": "string[]", "padding": "string"},
    ),
    stage.block(
        "look",
        effect="pure",
        mode="deterministic",
        inputs={"numbers": {"type": "number[]", "from": "give.numbers"}},
        outputs={"numbers": "number[]", "types": "string[]", "texts": "string[]"},
        deterministic={
            "handler": "builtin:transform",
            "config": {
                "map": {
                    "numbers": "inputs.numbers",
                    "types": TYPES,
                    "texts": "inputs.numbers.map(n, string(n))",
                }
            },
        },
    ),
    stage.block(
        "each",
        inputs={"numbers": {"type": "number[]", "from": "look.numbers"}},
        outputs={"number": "number", "type": "string"},
        foreach={"items": "inputs.numbers", "as": "number"},
    ),
)


async def give(ctx: context.Context) -> JsonObject:
    numbers = cast("list[Json]", ctx.inputs["numbers"])
    padding = "x" * cast("int", ctx.inputs["padding"])
    return {"numbers": numbers, "python": [type(number).__name__ for number in numbers], "padding": padding}


async def each(ctx: context.Context) -> JsonObject:
    return {"number": ctx.item, "type": type(ctx.item).__name__}


def type_of(number: Json) -> str:
    return "int" if isinstance(number, int) else "double"


@settings(max_examples=15, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=8), st.sampled_from([0, 40_000]))
@example([1e17, 2**60, 1e20, 6.022e23, -(2**53), 2**53, 9007199254740994, 0.1, -0.0, sys.float_info.max], 0)
@example([2**60], 40_000)  # large enough for a blob
def test_a_number_is_the_same_in_the_run_its_fold_its_replay_and_its_fork(numbers: list[Json], padding: int) -> None:
    admitted = cast("list[Json]", canonical.admit(numbers))
    python = ["int" if isinstance(number, int) else "float" for number in admitted]

    async def story(root: Path) -> None:
        async with stage.engine(root, give=give, each=each) as engine:
            run_id = await engine.start(FLOW, {"numbers": numbers, "padding": padding})
            lived = await engine.wait(run_id)
            followed = [event async for event in engine.follow(run_id, until_end=False)]
        assert lived["ending"] == "ok"
        looked = cast("JsonObject", stage.node(lived, "look")["outputs"])
        assert repr(looked["numbers"]) == repr(admitted)
        assert looked["types"] == [type_of(number) for number in admitted]
        assert stage.node(lived, "give")["outputs"] == {
            "numbers": admitted,
            "python": python,
            "padding": "x" * padding,
        }
        assert stage.node(lived, "each")["outputs"] == {"number": admitted, "type": python}
        async with stage.engine(root, give=give, each=each) as engine:
            assert repr(await engine.show(run_id)) == repr(lived)
            assert repr([event async for event in engine.follow(run_id, until_end=False)]) == repr(followed)
            forked = await engine.wait(await engine.fork(run_id, node="look"))
            for key in ("give", "look", "each"):
                assert repr(stage.node(forked, key)["outputs"]) == repr(stage.node(lived, key)["outputs"])
            assert (await engine.history.replay(run_id)).document()["counts"] == {
                "same": 1,
                "different": 0,
                "checked": 1 + len(admitted),
                "unchecked": 0,
                "altered": 0,
            }

    with tempfile.TemporaryDirectory() as folder:
        stage.play(lambda: story(Path(folder)))
