"""Code asks a kind of work by name (`node.work.calls_model`) and does not compare its mode with a string.

So a new kind is one line of `WORK_KINDS` and one module of `executors/kinds`. A fact about a kind that other code needs
is a field of `WorkKind` or a method of its executor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import openskelo
from openskelo.kernel import definition

ROOT = Path(openskelo.__file__).parent

#: The registry, the executors themselves, and the parsers, which read the strings that authors write.
ALLOWED = (
    "kernel/definition.py",
    "executors/kinds/",
    "workflows/blocks/",
    "workflows/plan/",
    "workflows/live_graph.py",
)
#: `model` and `handler` are what clients see of two of the kinds (`WorkKind.performer`).
MODES = frozenset({*get_args(definition.Mode), *get_args(definition.Performer), "op", "graph_turn", "skill"})
#: Strings that are nothing but the mode of a node, whatever they are compared with.
ONLY_MODES = frozenset({"ai", "deterministic", "dag"})
#: Names of values that hold a mode. That of an approval's kind is one, too, but its values are kinds of questions.
MODE_NAMES = frozenset({"mode", "node_mode", "op", "performer"})


def _strings(node: ast.AST) -> set[str]:
    """Return the mode strings that an expression consists of, alone or in a tuple, a list or a (frozen) set."""
    match node:
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple" | "list"), args=[inner]):
            return _strings(inner)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            pass
        case _:
            parts = [node]
    texts = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return texts & MODES


def _names(node: ast.AST) -> set[str]:
    """Return the names, attributes and texts that occur in an expression."""
    found: set[str] = set()
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                found.add(name)
            case _:
                pass
    return found


def _is_about_mode(strings: set[str], others: set[str]) -> bool:
    is_kind = "kind" in others and bool(strings - {"approval"})
    return bool(strings & ONLY_MODES) or bool(strings and others & MODE_NAMES) or is_kind


def find_mode_strings(text: str) -> Iterator[int]:
    """Yield the lines that compare a mode with a string, match it, or look something up by it in a dict."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Compare(left=left, comparators=comparators):
                sides = [left, *comparators]
                strings = set[str]().union(*map(_strings, sides))
                others = set[str]().union(*(_names(side) for side in sides if not _strings(side)))
                if _is_about_mode(strings, others):
                    yield node.lineno
            case ast.Match(subject=subject, cases=cases):
                values = [
                    part.value for case in cases for part in ast.walk(case.pattern) if type(part) is ast.MatchValue
                ]
                if _is_about_mode(set[str]().union(*map(_strings, values)), _names(subject)):
                    yield node.lineno
            case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith" | "removeprefix"), args=args):
                if _is_about_mode(set[str]().union(*map(_strings, args)), _names(value)):
                    yield node.lineno
            case (
                ast.Subscript(value=ast.Dict(keys=keys), slice=key)
                | ast.Call(func=ast.Attribute(value=ast.Dict(keys=keys), attr="get"), args=[key, *_])
            ) if _is_about_mode(set[str]().union(*(_strings(key) for key in keys if key)), _names(key)):
                yield node.lineno
            case ast.Subscript(slice=ast.Constant(value=str()) as key) if isinstance(node.ctx, ast.Load):
                if _strings(key) & (ONLY_MODES - {"deterministic"}):  # that is also a section of a block
                    yield node.lineno
            case ast.Dict(keys=keys) if len(set[str]().union(*(_strings(key) for key in keys if key))) > 1:
                yield node.lineno
            case _:
                pass


def test_only_the_registry_the_executors_and_the_parsers_name_a_mode() -> None:
    found = [
        f"{name}:{line}"
        for path in sorted(ROOT.rglob("*.py"))
        if not (name := path.relative_to(ROOT).as_posix()).startswith(ALLOWED)
        for line in find_mode_strings(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'if node.mode == "agent": pass',
        'if "approval" != mode: pass',
        'if document["mode"] in ("ai", "agent"): pass',
        'if node.get("mode") == "skill": pass',
        'if receipt["op"] == "approval": pass',
        'if spec.kind == "agent": pass',
        'match node.mode:\n    case "agent": pass',
        'badges = {"ai": 1, "agent": 2}',
        'if word == "deterministic": pass',
        'if mode in frozenset({"agent"}): pass',
        'if word in frozenset({"ai"}): pass',
        'if mode.startswith("agent"): pass',
        'if word.startswith("ai"): pass',
        'badge = {"agent": 1}[node.mode]',
        'badge = {"agent": 1}.get(mode, 0)',
        'least = ranges["ai"]',
    ],
)
def test_a_mode_string_is_found_in_every_form(text: str) -> None:
    assert list(find_mode_strings(text)) == [1]


@pytest.mark.parametrize(
    "text",
    [
        'if approval.kind == "approval": pass',
        'match approval.kind, status:\n    case "approval", "denied": pass',
        'if length == "turn": pass',
        'section = {"deterministic": handler}',
        'block = {"mode": "ai"}',
        "if node.work.makes_calls: pass",
    ],
)
def test_other_strings_are_left_alone(text: str) -> None:
    assert list(find_mode_strings(text)) == []


def test_every_kind_of_work_has_a_badge_of_its_own() -> None:
    badges = [kind.badge for kind in definition.WORK_KINDS.values()]
    assert all(badges)
    assert len(set(badges)) == len(badges)
