"""A handler that hangs, in a project that limits its handlers."""

from __future__ import annotations

from tests.cli.conftest import Skelo

FLOW = (
    "blocks: [{id: hang, mode: deterministic, outputs: {n: integer}, deterministic: {handler: handlers/hang.py:f}}]\n"
)


def test_a_handler_that_hangs_is_stopped_after_the_time_of_its_project(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("handlers/hang.py", "import time\n\ndef f(ctx):\n    time.sleep(600)\n")
    skelo.write("skelo.yaml", "handler_timeout_ms: 700\n")
    assert "stopped after 700 ms" in skelo("explain", "flow.yaml").out
    result = skelo("run", "flow.yaml", "--json")
    assert (result.code, result.document["error"]["code"]) == (1, "TIMEOUT")


def test_explain_shows_the_limit_of_a_handler_that_names_none(skelo: Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("handlers/hang.py", "def f(ctx): ...\n")
    assert "stopped after 5 min" in skelo("explain", "flow.yaml").out
