"""Numbers beyond the integers of JSON, through a whole run and its proof."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Skelo

FLOW = """\
name: mole
blocks:
  - id: give
    mode: deterministic
    effect: pure
    inputs: {n: number}
    outputs: {n: number, was: string}
    deterministic: {handler: handlers/n.py:give}
  - id: pass
    mode: deterministic
    inputs: {n: {type: integer, from: give.n, transform: "value * 1.0"}}
    outputs: {n: integer, constant: number, in_text: number}
    deterministic:
      handler: "builtin:transform"
      config: {map: {n: inputs.n, constant: "6.022e23", in_text: "100000000000000000"}}
    post_gates: [{type: expr, expression: "outputs.n == inputs.n && type(outputs.n) == double"}]
  - id: program
    mode: deterministic
    inputs: {n: {type: number, from: pass.n}}
    outputs: {n: number}
    deterministic: {handler: handlers/echo}
    post_gates: [{type: command, argv: [python3, handlers/same.py]}]
"""
ECHO = """\
#!/usr/bin/env python3
import json, sys
print(json.dumps({"n": json.load(sys.stdin)["inputs"]["n"]}))
"""
SAME = "import json, sys\ndocument = json.load(sys.stdin)\nassert document['inputs']['n'] == document['outputs']['n']\n"
GIVE = "def give(ctx):\n    return {'n': ctx.inputs['n'], 'was': type(ctx.inputs['n']).__name__}\n"


def write(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("skelo.yaml", "name: mole\nallow: {commands: true}\n")
    skelo.write("handlers/n.py", GIVE)
    skelo.write("handlers/same.py", SAME)
    skelo.write("handlers/echo", ECHO).chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("number", ["6.022e23", "1e20", "100000000000000000", "1152921504606846976"])
def test_a_large_number_is_the_same_in_the_run_its_proof_and_its_replay(number: str, skelo: Skelo) -> None:
    write(skelo)
    result = skelo("run", "flow.yaml", "--input", f"n={number}", "--json")
    double = float(number)
    assert result.code == 0
    nodes = {key: node["outputs"] for key, node in result.document["nodes"].items()}
    assert nodes == {
        "give": {"n": double, "was": "float"},
        "pass": {"n": double, "constant": 6.022e23, "in_text": 1e17},
        "program": {"n": double},
    }
    shown = skelo("show", "last", "--json").document
    assert repr({key: node["outputs"] for key, node in shown["nodes"].items()}) == repr(nodes)
    assert skelo("verify", "last").code == 0
    assert skelo("replay", "last").code == 0
    forked = skelo("fork", "last", "--from", "pass", "--json").document
    assert repr({key: node["outputs"] for key, node in forked["nodes"].items()}) == repr(nodes)


@pytest.mark.parametrize("number", ["1000000000000000000000001", "9007199254740993", "-9223372036854775809"])
def test_an_integer_that_no_double_equals_is_refused_with_advice(number: str, skelo: Skelo) -> None:
    write(skelo)
    result = skelo("run", "flow.yaml", "--input", f"n={number}", "--json")
    assert (result.code, json.loads(result.out)["error"]) == (
        2,
        {
            "code": "NUMBER_RANGE",
            "message": "n: an integer beyond 2**53 equals no double, so JSON readers disagree on its value",
            "hint": "use a string",
        },
    )
    assert "no runs" in skelo("runs").out + skelo("runs").err
