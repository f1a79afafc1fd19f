"""Standard output belongs to the command: what handlers and their programs print never gets into it."""

from __future__ import annotations

import pytest

from tests.cli import conftest

FLOW = """\
name: flow
blocks:
  - id: a
    mode: deterministic
    outputs: {said: string}
    deterministic: {handler: handlers/it.py}
"""
CODE = """\
import asyncio, os, subprocess, sys

{call} handler(ctx):
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    os.system("echo from a shell")
    os.write(1, b"from the handler itself\\n")
    return {{"said": "yes"}}
"""


@pytest.mark.parametrize("call", ["def", "async def"])
def test_the_json_of_a_run_is_one_document_whatever_its_handlers_print(call: str, skelo: conftest.Skelo) -> None:
    skelo.write("flow.yaml", FLOW)
    skelo.write("handlers/it.py", CODE.format(call=call))
    result = skelo("run", "flow.yaml", "--json")
    assert (result.code, result.document["outputs"]) == (0, {"said": "yes"})
    if call == "async def":
        assert {"from a child", "from a shell", "from the handler itself"} <= set(result.err.splitlines())
