"""What a run without agents imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_FLOW = """
name: loud
inputs: {topic: string}
blocks:
  - id: shout
    mode: deterministic
    deterministic: {handler: "builtin:transform", config: {template: {text: "{{ inputs.topic }}!"}}}
    inputs: {topic: {type: string, from: inputs.topic}}
    outputs: {text: string}
    post_gates: [{type: not_empty, port: text}]
"""
_PROGRAM = """
import sys
import openskelo
import openskelo.executors.kinds.ai
document = openskelo.run("flow.yaml", {"topic": "bees"})
print(document["nodes"]["shout"]["outputs"]["text"])
print([name for name in sys.modules if name.startswith("openskelo.agents")])
"""


def test_a_run_of_blocks_without_agents_imports_nothing_of_agents(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("allow: {commands: true}\n")
    (tmp_path / "flow.yaml").write_text(_FLOW)
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.returncode) == (["bees!", "[]"], 0), done.stderr
