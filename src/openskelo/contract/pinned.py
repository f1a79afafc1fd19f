"""The workflow that a run pinned, read back from its bytes and held to its own hash."""

from __future__ import annotations

from typing import cast

from openskelo import errors
from openskelo.frozen import replace
from openskelo.kernel import codec, definition
from openskelo.kernel.json import JsonObject
from openskelo.values import canonical


def read(data: bytes) -> definition.Workflow:
    """The workflow behind the bytes of a definition blob (InvalidInput DEFINITION_INVALID)."""
    found = canonical.loads(data)
    if not isinstance(found, dict):
        raise errors.InvalidInput("the definition is not a workflow", code="DEFINITION_INVALID")
    workflow = codec.decode(cast("JsonObject", found))
    if hash_of(workflow) != workflow.hash:
        raise errors.InvalidInput(
            "the definition's hash is not that of its content: it was changed", code="DEFINITION_INVALID"
        )
    return workflow


def hash_of(workflow: definition.Workflow) -> str:
    """What `Workflow.hash` must be."""
    return canonical.digest(codec.encode(replace(workflow, hash="")))
