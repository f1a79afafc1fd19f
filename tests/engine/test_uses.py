"""Sub-workflows through the engine: what is skipped inside is skipped outside, and the rest of the run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

import openskelo
from openskelo.kernel.json import Json
from tests.engine import stage

SUB = """
name: sub
inputs: {n: integer, k: {type: integer, default: 5}}
blocks:
  - {id: w, mode: deterministic, when: inputs.n > 10, inputs: {n: {type: integer, from: inputs.n}},
     outputs: {t: string}, deterministic: {handler: builtin:transform, config: {map: {t: "'big'"}}}}
outputs: {t: w.t, n: inputs.n, k: inputs.k}
"""
MAIN = """
name: main
inputs: {n: integer}
blocks:
  - {id: u, uses: ./sub.yaml, inputs: {n: {from: inputs.n}}}
  - {id: need, mode: deterministic, inputs: {t: {type: string, from: u.t}}, outputs: {t: string},
     deterministic: {handler: builtin:pass}}
  - {id: take, mode: deterministic, inputs: {t: {type: string, required: false, from: u.t},
     k: {type: integer, from: u.k}}, outputs: {r: string},
     deterministic: {handler: builtin:transform, config: {map: {r: "has(inputs.t) ? inputs.t : 'none'"}}}}
"""


@pytest.mark.parametrize(
    ("n", "outcome", "outputs"),
    [(5, "skipped", {"r": "none"}), (50, "succeeded", {"t": "big", "r": "big"})],
)
def test_a_block_that_needs_what_is_skipped_in_another_file_is_skipped(
    tmp_path: Path, n: int, outcome: str, outputs: dict[str, str]
) -> None:
    (tmp_path / "sub.yaml").write_text(SUB)
    (tmp_path / "main.yaml").write_text(MAIN)

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(openskelo.load(tmp_path / "main.yaml"), {"n": n})
            document = await engine.wait(run_id)
            assert (document["ending"], document["outputs"]) == ("ok", outputs)
            assert stage.node(document, "need")["outcome"] == outcome

    stage.play(story)


COUNTED = """
name: counted
inputs: {n: integer}
blocks:
  - {id: one, mode: deterministic, cache: true, inputs: {n: {type: integer, from: inputs.n}}, outputs: {n: integer},
     deterministic: {handler: "local:count"}}
  - {id: two, mode: deterministic, inputs: {n: {type: integer, from: one.n}}, outputs: {n: integer},
     deterministic: {handler: "local:count"}}
outputs: {n: two.n}
"""


def test_a_fork_from_a_block_that_uses_a_file_does_all_of_it_again(tmp_path: Path) -> None:
    (tmp_path / "counted.yaml").write_text(COUNTED)
    calls: list[Json] = []

    async def count(ctx: openskelo.Context) -> dict[str, Json]:
        calls.append(ctx.block_id)
        return {"n": cast("int", ctx.inputs["n"]) + 1}

    first: dict[str, Json] = {"id": "first", "inputs": {"n": {"type": "integer", "from": "inputs.n"}}}
    first |= {"mode": "deterministic", "outputs": {"n": "integer"}, "deterministic": {"handler": "local:count"}}
    used: dict[str, Json] = {"id": "a", "uses": "./counted.yaml", "inputs": {"n": {"from": "first.n"}}}
    flow = openskelo.from_document({"name": "main", "inputs": {"n": "integer"}, "blocks": [first, used]}, root=tmp_path)

    async def story() -> None:
        async with stage.engine(tmp_path, count=count) as engine:
            run_id = await engine.start(flow, {"n": 1})
            assert (await engine.wait(run_id))["outputs"] == {"n": 4}
            for changes, result in (({}, 4), ({"n": 10}, 12)):
                calls.clear()
                forked = await engine.fork(run_id, node="a", inputs=cast("dict[str, Json]", changes))
                assert (await engine.wait(forked))["outputs"] == {"n": result}
                assert calls == ["a/one", "a/two"]

    stage.play(story)


RESULTS = """
name: results
blocks:
  - id: each
    mode: deterministic
    foreach: {items: "[1, 2, 3]"}
    inputs: {item: integer}
    outputs: {n: {$ref: "#/$defs/n", $defs: {n: {type: integer}}}, odd: integer?, never: string?}
    deterministic: {handler: "local:odd"}
outputs: {n: each.n, odd: each.odd, never: each.never}
"""


def test_a_used_file_gives_the_results_of_a_foreach_that_it_gives_alone(tmp_path: Path) -> None:
    (tmp_path / "results.yaml").write_text(RESULTS)
    using = openskelo.from_document({"name": "main", "blocks": [{"id": "u", "uses": "./results.yaml"}]}, root=tmp_path)

    async def odd(ctx: openskelo.Context) -> dict[str, Json]:
        n = cast("int", ctx.inputs["item"])
        return {"n": n, "odd": n} if n % 2 else {"n": n}

    async def story() -> None:
        async with stage.engine(tmp_path, odd=odd) as engine:
            for flow in (openskelo.load(tmp_path / "results.yaml"), using):
                document = await engine.wait(await engine.start(flow))
                given = {"n": [1, 2, 3], "odd": [1, None, 3], "never": [None, None, None]}
                assert (document["ending"], document["outputs"]) == ("ok", given)

    stage.play(story)


INNERMOST = """
name: innermost
inputs: {ns: {type: array, items: {type: integer}}, least: {type: integer, default: 1}}
blocks:
  - id: each
    mode: deterministic
    when: run.inputs.least > 0
    foreach: {items: run.inputs.ns}
    outputs: {n: integer}
    deterministic: {handler: builtin:transform, config: {map: {n: item * 2}}}
    post_gates: [{name: enough, type: expr, expression: outputs.n >= run.inputs.least}]
outputs: {n: each.n}
"""
BETWEEN = """
name: between
inputs: {n: integer, least: integer}
blocks:
  - id: i
    uses: ./innermost.yaml
    when: run.inputs.n < 100
    inputs: {ns: {from: inputs.n, transform: "[value, value + 1]"}}
    post_gates: [{name: two, type: expr, expression: size(outputs.n) == 2 && run.inputs.least == 9}]
outputs: {n: i.n}
"""


def test_the_inputs_of_a_run_are_those_of_the_file_where_one_reads_them(tmp_path: Path) -> None:
    (tmp_path / "innermost.yaml").write_text(INNERMOST)
    (tmp_path / "between.yaml").write_text(BETWEEN)
    ports: dict[str, Json] = {"n": {"type": "integer", "from": "inputs.start"}, "least": {"default": 9}}
    using: dict[str, Json] = {"id": "b", "uses": "./between.yaml", "inputs": ports}
    using |= {"pre_gates": [{"name": "low", "type": "expr", "expression": "run.inputs.least < 0"}]}
    top: dict[str, Json] = {"start": "integer", "least": "integer", "n": {"type": "integer", "default": 500}}
    flow = openskelo.from_document({"name": "main", "inputs": top, "blocks": [using]}, root=tmp_path)

    async def story() -> None:
        async with stage.engine(tmp_path) as engine:
            run_id = await engine.start(flow, {"start": 5, "least": -1})
            document = await engine.wait(run_id)
            assert (document["ending"], document["outputs"]) == ("ok", {"n": [10, 12]})
            assert (await engine.replay(run_id)).ok

    stage.play(story)
    inside = {key: node.inside for key, node in flow.nodes.items() if node.inside}
    assert inside == {"b/i/inputs": "b/inputs", "b/i/each": "b/i/inputs", "b/i": "b/inputs"}
