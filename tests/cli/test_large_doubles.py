"""Doubles beyond the integers of JSON, through a whole run and its proof."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Skelo

FLOW = """\
name: mole
blocks:
  - id: give
    mode: deterministic
    effect: pure
    inputs: {n: number}
    outputs: {n: number}
    deterministic: {handler: handlers/n.py:give}
  - id: pass
    mode: deterministic
    inputs: {n: {type: number, from: give.n, transform: "value * 1.0"}}
    outputs: {n: number, constant: number}
    deterministic: {handler: "builtin:transform", config: {map: {n: inputs.n, constant: "6.022e23"}}}
    post_gates: [{type: expr, expression: "outputs.n == inputs.n && outputs.n >= 1.0e21"}]
"""


@pytest.mark.parametrize("number", ["6.022e23", "1e300", "1e21", "1.7976931348623157e308"])
def test_a_large_double_is_the_same_in_the_run_its_proof_and_its_replay(number: str, skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("handlers/n.py", "def give(ctx):\n    return {'n': ctx.inputs['n']}\n")
    result = skelo("run", "flow.yaml", "--input", f"n={number}", "--json")
    assert (result.code, result.document["outputs"]) == (0, {"n": float(number), "constant": 6.022e23})
    assert skelo("verify", "last").code == 0
    assert skelo("replay", "last").code == 0


@pytest.mark.parametrize("number", ["1e20", "1000000000000000000000000", "9007199254740993"])
def test_a_number_that_reads_as_another_one_elsewhere_is_refused(number: str, skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("handlers/n.py", "def give(ctx):\n    return {'n': 1}\n")
    result = skelo("run", "flow.yaml", "--input", f"n={number}")
    assert (result.code, "NUMBER_RANGE" in result.err) == (2, True)
    assert "no runs" in skelo("runs").out + skelo("runs").err
