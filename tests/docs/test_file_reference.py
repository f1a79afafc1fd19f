"""The reference of files names every key that the parser accepts, every gate type and every built-in's config."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import cast

import pytest

from openskelo import gates, ops
from openskelo.handlers import builtin
from openskelo.kernel import definition
from openskelo.workflows.blocks import block, blocks_loader, ports
from openskelo.workflows.plan import plan_loader as plan_file
from openskelo.workflows.plan import step as plan_step
from tests.docs import page
from tests.repo import tracked

_SETS = re.compile(r"_?[A-Za-z_]*keys|_OWN|_COMMON|_AI_ONLY|_ELSEWHERE|_ANY|_REMOTE|_EXPERT", re.IGNORECASE)


def _texts(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Set):
            for element in part.elts:
                if isinstance(element, ast.Constant) and isinstance(element.value, str):
                    yield element.value


def accepted_keys() -> set[str]:
    """The keys in every set that the loader hands to `fields`, or names as keys."""
    found: set[str] = set(block.KEYS | blocks_loader.KEYS)
    for path in tracked.files("src/openskelo/workflows/*.py"):
        if path.parent.name == "plan":  # plans have a page of their own
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="fields")):
                    found.update(*(_texts(argument) for argument in node.args))
                case ast.Assign(targets=[ast.Name(id=name)]) if _SETS.fullmatch(name):
                    found.update(_texts(node.value))
                case _:
                    pass
    return found - {"check", "error"}  # of gates, which have a page of their own


def test_blocks_file_page_names_every_key_the_parser_accepts() -> None:
    keys = accepted_keys()
    assert {"max_wall_ms", "when_gate", "concurrency", "approvers", "private_addresses", "transform"} <= keys
    named = set(re.findall(r"`([^`]+)`", page.text("blocks-file.md") + page.text("agents.md")))
    assert keys - named == set()


def test_blocks_file_page_names_every_type_word() -> None:
    named = set(re.findall(r"`([^`]+)`", page.text("blocks-file.md")))
    assert set(ports.TYPES) - named == set()


@pytest.mark.parametrize("name", gates.GATES)
def test_gate_page_lists_the_parameters_of_a_type(name: str) -> None:
    gate = gates.GATES[name]
    section = page.sections(page.text("gates.md"))[name]
    assert set(page.rows(section)) == set(gate.parameters)
    assert section.lstrip().startswith(gate.summary)


@pytest.mark.parametrize("name", builtin.HANDLERS)
def test_handler_page_lists_the_config_of_a_builtin(name: str) -> None:
    handler = builtin.HANDLERS[name]
    properties = cast("Mapping[str, object]", handler.config["properties"])
    section = page.sections(page.text("builtin-handlers.md"))[name]
    assert set(page.rows(section)) == set(properties)
    assert section.lstrip().startswith(handler.summary)


def test_handler_page_names_every_code_of_the_builtins() -> None:
    source = "".join(path.read_text("utf-8") for path in tracked.files("src/openskelo/handlers/*.py"))
    codes = set(re.findall(r'"((?:DET|HTTP)_[A-Z_]+)"', source))
    text = page.text("builtin-handlers.md")
    assert len(codes) > 10
    assert [code for code in sorted(codes) if f"`{code}`" not in text] == []


def test_plan_page_names_every_key() -> None:
    section = page.sections(page.text("plan.md"))["Keys"]
    assert {*plan_file.KEYS, *plan_step.KEYS} - set(re.findall(r"`([^`]+)`", section)) == set()


@pytest.mark.parametrize("op", ops.OPS)
def test_plan_page_lists_the_arguments_of_an_op(op: definition.Op) -> None:
    section = page.sections(page.text("plan.md"))[op]
    assert page.rows(section) == list(ops.OPS[op].args)
    assert ops.OPS[op].summary[1:] in section
