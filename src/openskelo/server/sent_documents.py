"""Documents that clients send: their paths stay inside the roots that the project declares.

The author of a workflow file may name any path, because a person who can write the project's files can do that anyway.
A document that arrives over HTTP was reviewed by no one, so `confined: true` is set on its built-in handlers that reach
files. The handler checks the path when it runs, so the rule also holds for the forks of such a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from openskelo.handlers import builtin
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows.blocks import blocks_loader


def confine_document(document: JsonObject) -> JsonObject:
    """Return a document whose blocks reach files inside the project's roots only.

    A malformed one, and one that no loader takes because it has too many blocks, is returned as it is.
    """
    blocks = document.get("blocks")
    if not isinstance(blocks, Sequence) or isinstance(blocks, str) or len(blocks) > blocks_loader.MAX_BLOCKS:
        return document
    return {**document, "blocks": [_confine_block(block) for block in blocks]}


def _confine_block(block: Json) -> Json:
    if not isinstance(block, Mapping):
        return block
    work = block.get("deterministic")
    if isinstance(work, Mapping):
        return {**block, "deterministic": confine_work(work)}
    return block


def confine_work(work: JsonObject) -> JsonObject:
    """Return the handler and config of a block, or of a node of a live graph, with `confined` where it applies."""
    config = work.get("config", {})
    if not isinstance(config, Mapping) or not _reaches_files(work.get("handler")):
        return work
    return {**work, "config": {**config, "confined": True}}


def _reaches_files(handler: Json) -> bool:
    builtin_handler = builtin.HANDLERS.get(handler) if isinstance(handler, str) else None
    return builtin_handler is not None and "confined" in cast("JsonObject", builtin_handler.config["properties"])
