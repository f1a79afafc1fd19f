"""The plan of the specification as printed there, and a project that it can be checked in."""

from __future__ import annotations

from pathlib import Path

from openskelo.workflows import load
from openskelo.workflows.text import problems
from tests.workflows import marking

PLAN = """\
{
  "plan_id": "fix_bug_v1",
  "mode": "degraded",
  "budgets": {"max_steps": 18, "max_tokens": 1600, "max_wall_ms": 45000, "max_tool_spend_usd": 0},
  "inputs": {"task": "Patch TypeError in futures component", "context_ref": "ctx:repo_diff", "snapshot_ref": "snap:t381"},
  "variables": {},
  "steps": [
    {"id":"s1","op":"transform","args":{"fn":"assemble_prompt","refs":["ctx:repo_diff","snap:t381"]},"save_as":"prompt"},
    {"id":"s2","op":"route_expert","args":{"expert_id":"slm_code_v1","prompt_ref":"var:prompt","max_new_tokens":220,"temperature":0.0},"save_as":"patch"},
    {"id":"s3","op":"verify","args":{"checker_id":"diff_applies_cleanly","input_ref":"var:patch"},"save_as":"v1"},
    {"id":"s4","op":"branch","args":{"cond":{"ok":"var:v1.ok"},"then":"s7","else":"s5"}},
    {"id":"s5","op":"route_expert","args":{"expert_id":"slm_code_v2","prompt_ref":"var:prompt","max_new_tokens":220,"temperature":0.0},"save_as":"patch2"},
    {"id":"s6","op":"verify","args":{"checker_id":"diff_applies_cleanly","input_ref":"var:patch2"},"save_as":"v2"},
    {"id":"s7","op":"branch","args":{"cond":{"ok":"var:v1.ok"},"then":"s9","else":"s8"}},
    {"id":"s8","op":"branch","args":{"cond":{"ok":"var:v2.ok"},"then":"s10","else":"s12"}},
    {"id":"s9","op":"emit","args":{"result_ref":"var:patch","status":"ok","audit_refs":["var:v1"]}},
    {"id":"s10","op":"emit","args":{"result_ref":"var:patch2","status":"ok","audit_refs":["var:v2"]}},
    {
      "id":"s12","op":"ask_human",
      "args":{"request":{"kind":"needs_context","message":"Both patch attempts failed to apply cleanly. Provide file paths or error output."}}
    }
  ],
  "outputs": {"result_ref":"var:patch", "audit_refs":["var:v1","var:v2"]}
}
"""  # noqa: E501 - as printed

PROJECT = """\
providers:
  here: {kind: recorded, recordings: answers}
  there: {kind: openai, base_url: "http://127.0.0.1:9/v1", model: m}
experts:
  slm_code_v1: {provider: here}
  slm_code_v2: {provider: here}
  far: {provider: there, modes: [normal]}
modes:
  degraded: {max_tool_spend_usd: 1}
tools:
  publish: {python: "tools.py:publish", effect: once, network: false, cost_usd: 0.5}
  look: {python: "tools.py:look", effect: pure, network: false, args: {type: object, properties: {q: {type: string}}, required: [q], additionalProperties: false}}
  fetch: {builtin: http-request}
contexts: {rules: {text: be brief}}
"""  # noqa: E501 - one line an entry


def project(folder: Path, text: str = PROJECT) -> Path:
    """A project with experts, tools and contexts in `folder`."""
    (folder / "skelo.yaml").write_text(text, encoding="utf-8")
    (folder / "tools.py").write_text("def publish(ctx): ...\ndef look(ctx): ...\n")
    return folder


def check(text: str, folder: Path, *, name: str = "plan.json") -> tuple[problems.Problem, ...]:
    """All Problems of a plan with this text in the project."""
    return marking.check(text, project(folder), name=name)


def loaded(text: str, folder: Path) -> str:
    """The hash of a plan that has no errors."""
    (project(folder) / "plan.json").write_text(text, encoding="utf-8")
    return load.load(folder / "plan.json").hash
