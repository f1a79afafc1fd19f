"""What a project registers for its plans, as `skelo.yaml` writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.handlers import project_registry
from openskelo.ops import functions
from openskelo.workflows.project import project_file
from tests.workflows import marking

WHOLE = """\
providers: {r: {kind: recorded, recordings: answers}}
experts: {small: {provider: r}}
modes:
  degraded: {experts: [small], tools: [search, read-file], max_tool_spend_usd: 0.5}
  offline: {tools: []}
tools:
  search: tools/web.py:search
  fetch: {builtin: http-request, config: {method: GET}, effect: idempotent, cost_usd: 0.01, modes: [normal]}
  list: {mcp: files, tool: ls, args: {type: object}, network: false, timeout_ms: 500}
checkers:
  suite: {builtin: tests_pass, config: {argv: [pytest, -q]}, timeout_ms: 1000}
transforms: {short: {python: "tools/web.py:search", args: {type: object}, description: cuts}}
contexts:
  repo_diff: {git_diff: HEAD~1..HEAD, repo: repo, paths: [src]}
  snap:t381: notes/t381.md
  rules: {text: "", max_bytes: 10}
mcp:
  files: {command: [python, -m, server], env: {TOKEN: "${env:TOKEN}"}}
  far: {url: "http://127.0.0.1:8000/mcp", headers: {Authorization: "${secret:KEY}"}}
"""


def _project(folder: Path, text: str) -> Path:
    (folder / "tools").mkdir()
    (folder / "tools" / "web.py").write_text("def search(ctx): ...\n")
    (folder / "skelo.yaml").write_text(text)
    return folder


def test_everything_that_is_registered_is_read(tmp_path: Path) -> None:
    fetch = functions.TOOLS["http-request"]
    assert project_file.load(_project(tmp_path, WHOLE)).registry == project_registry.Registry(
        modes={
            "degraded": project_registry.ModeRule(
                experts=("small",), tools=("search", "read-file"), max_tool_nanousd=500_000_000
            ),
            "offline": project_registry.ModeRule(tools=()),
        },
        tools={
            "search": project_registry.Tool(name="search", kind="python", target="tools/web.py:search", network=True),
            "fetch": project_registry.Tool(
                name="fetch",
                kind="builtin",
                target="http-request",
                args=fetch.args,
                config={"method": "GET"},
                effect="idempotent",
                network=True,
                cost_nanousd=10_000_000,
                modes=("normal",),
            ),
            "list": project_registry.Tool(
                name="list", kind="mcp", target="files", tool="ls", args={"type": "object"}, timeout_ms=500
            ),
        },
        checkers={
            "suite": project_registry.Function(
                name="suite",
                kind="builtin",
                target="tests_pass",
                args=functions.CHECKERS["tests_pass"].args,
                config={"argv": ["pytest", "-q"]},
                timeout_ms=1000,
                needs_input=False,
            )
        },
        transforms={
            "short": project_registry.Function(
                name="short",
                kind="python",
                target="tools/web.py:search",
                args={"type": "object"},
                description="cuts",
            )
        },
        contexts={
            "repo_diff": project_registry.Context(
                name="repo_diff", kind="git_diff", source="HEAD~1..HEAD", repo="repo", paths=("src",)
            ),
            "snap:t381": project_registry.Context(name="snap:t381", kind="file", source="notes/t381.md"),
            "rules": project_registry.Context(name="rules", kind="text", source="", max_bytes=10),
        },
        mcp={
            "files": project_registry.McpServer(
                name="files", command=("python", "-m", "server"), env={"TOKEN": "${env:TOKEN}"}
            ),
            "far": project_registry.McpServer(
                name="far", url="http://127.0.0.1:8000/mcp", headers={"Authorization": "${secret:KEY}"}
            ),
        },
    )


def test_a_context_serves_its_own_name_or_both(tmp_path: Path) -> None:
    found = project_file.load(_project(tmp_path, WHOLE)).registry
    named = {ref: one.name for ref in ("ctx:rules", "snap:rules", "snap:t381") if (one := found.context(ref))}
    assert named == {"ctx:rules": "rules", "snap:rules": "rules", "snap:t381": "snap:t381"}
    assert found.context("ctx:t381") is None


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ("UNKNOWN_KEY", "modes: {‸broken: {}}\n"),
        ("TOOL_UNKNOWN", "modes: {offline: {tools: [‸serch]}}\n"),
        ("EXPERT_UNKNOWN", "providers: {r: {kind: local}}\nmodes: {offline: {experts: [‸x]}}\n"),
        ("EXPERT_UNKNOWN", "modes: {offline: {experts: [‸x]}}\n"),
        ("RANGE", "modes: {offline: {max_tool_spend_usd: ‸-1}}\n"),
        ("HANDLER_FUNCTION_UNKNOWN", "tools: {a: ‸'tools/web.py:find'}\n"),
        ("HANDLER_NOT_FOUND", "tools: {a: {python: ‸'tools/none.py:find'}}\n"),
        ("MISSING_KEY", "tools: {a: ‸{effect: once}}\n"),
        ("CONFLICT", "tools: {a: ‸{builtin: read-file, python: 'tools/web.py:search'}}\n"),
        ("BUILTIN_UNKNOWN", "tools: {a: {builtin: ‸readfile}}\n"),
        ("MCP_UNKNOWN", "tools: {a: {mcp: ‸files}}\n"),
        ("CONFLICT", "tools: {a: {builtin: read-file, ‸tool: b}}\n"),
        ("UNKNOWN_KEY", "tools: {a: {builtin: read-file, config: {‸paht: b}}}\n"),
        ("CONFIG_INVALID", "tools: {a: {builtin: read-file, config: {max_bytes: ‸0}}}\n"),
        ("SCHEMA_INVALID", "tools: {a: {builtin: read-file, args: ‸{type: strin}}}\n"),
        ("CHOICE", "tools: {a: {builtin: read-file, modes: [‸always]}}\n"),
        ("NAME_INVALID", "tools: {‸'a b': {builtin: read-file}}\n"),
        ("BUILTIN_UNKNOWN", "checkers: {a: {builtin: ‸regexp}}\n"),
        ("REGEX_INVALID", "checkers: {a: {builtin: regex, config: {pattern: ‸'('}}}\n"),
        ("SCHEMA_INVALID", "checkers: {a: {builtin: json_schema, config: {schema: ‸{type: strin}}}}\n"),
        ("EXPR_INVALID", "transforms: {a: {builtin: template, config: {template: 'a {{ ‸b }}'}}}\n"),
        ("UNKNOWN_KEY", "transforms: {a: {builtin: join, ‸effect: pure}}\n"),
        ("CONTEXT_INVALID", "contexts: {a: {git_diff: ‸'--output=x'}}\n"),
        ("CONFLICT", "contexts: {a: {file: x, ‸repo: y}}\n"),
        ("EMPTY", "contexts: {a: ‸''}\n"),
        ("NAME_INVALID", "contexts: {‸'var:a': b}\n"),
        ("ADDRESS_INVALID", "mcp: {a: {url: ‸'ftp://x'}}\n"),
        ("ADDRESS_INVALID", "mcp: {a: {url: ‸'http://me:secret@x'}}\n"),
        ("EMPTY", "mcp: {a: {command: ‸[]}}\n"),
        ("TYPE", "mcp: {a: {command: ‸python server.py}}\n"),
        ("TYPE", "mcp: {a: {command: ‸''}}\n"),
        ("CONFLICT", "mcp: {a: {command: [b], ‸headers: {}}}\n"),
        ("TYPE", "mcp: {a: {command: [b], env: {A: ‸1}}}\n"),
    ],
)
def test_a_mistake_is_found_at_its_place(codes: str, text: str, tmp_path: Path) -> None:
    clean, wanted = marking.expected(codes, text)
    assert marking.errors(project_file.check(_project(tmp_path, clean))[1]) == wanted


def test_modes_deny_what_they_do_not_allow() -> None:
    far = project_registry.Tool(name="far", kind="python", target="x.py:y", network=True)
    near = project_registry.Tool(name="near", kind="python", target="x.py:y")
    only = project_registry.Tool(name="only", kind="python", target="x.py:y", modes=("normal",))
    tools = {tool.name: tool for tool in (far, near, only)}
    plain = project_registry.Registry(tools=tools)
    ruled = project_registry.Registry(tools=tools, modes={"degraded": project_registry.ModeRule(tools=("far",))})
    denied = {
        (tool.name, mode): project_registry.tool_denial(plain, mode, tool) is not None
        for tool in (far, near, only)
        for mode in ("normal", "degraded", "offline")
    }
    assert [key for key, no in denied.items() if no] == [
        ("far", "degraded"),
        ("far", "offline"),
        ("only", "degraded"),
        ("only", "offline"),
    ]
    assert project_registry.tool_denial(ruled, "degraded", far) is None
    assert project_registry.tool_denial(ruled, "degraded", near) is not None


def test_a_python_that_is_found_on_path_is_a_warning(tmp_path: Path) -> None:
    text = "mcp:\n  a: {command: [python3, server.py]}\n  b: {command: [/usr/bin/python3, server.py]}\n"
    assert marking.warnings(project_file.check(_project(tmp_path, text))[1]) == [("PROGRAM_ON_PATH", 2, 17)]
