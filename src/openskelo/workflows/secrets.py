"""Secrets that a workflow names: those that its project does not declare are told before anybody waits for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from openskelo.handlers import secret
from openskelo.kernel import definition
from openskelo.workflows import cursor, suggest

_BEFORE, _AFTER = "${secret:", "}"


def warn(workflow: definition.Workflow, declared: Collection[str], top: cursor.Cursor) -> None:
    """A warning at every header with an undeclared secret; for one in a file that is used, at the block that uses it.

    No Problem: a program may give the engine a project with more secrets than are in `skelo.yaml`.
    """
    for node in workflow.nodes.values():
        for header, name in _named(node):
            if name not in declared:
                hint = suggest.near(name, declared, otherwise=f"add {name} to `secrets` in skelo.yaml")
                _place(top, node.key, header).warn("SECRET_UNDECLARED", f"no secret {name!r} is declared", hint=hint)


def _named(node: definition.Node) -> Iterator[tuple[str, str]]:
    headers = node.config.get("headers") if node.handler == "builtin:http-request" else None
    if isinstance(headers, Mapping):
        for header, text in headers.items():
            for reference in secret.named(text) if isinstance(text, str) else ():
                if reference.startswith(_BEFORE):
                    yield header, reference.removeprefix(_BEFORE).removesuffix(_AFTER)


def _place(top: cursor.Cursor, key: str, header: str) -> cursor.Cursor:
    """The header in its block, or the block inside of which it is."""
    block, _, inner = key.partition("/")
    listed = top.value.get("blocks") if isinstance(top.value, Mapping) else None
    blocks = listed if isinstance(listed, list) else []
    ids = [found.get("id") if isinstance(found, Mapping) else None for found in blocks]
    path = ("blocks", ids.index(block), *(() if inner else ("deterministic", "config", "headers", header)))
    return cursor.Cursor(None, path, top.report)
