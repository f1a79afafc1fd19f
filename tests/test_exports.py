"""What `import openskelo` offers is a promise: a name is added or taken away on purpose, here and in the changelog."""

from __future__ import annotations

import openskelo

PROMISED = [
    "ApprovalDocument",
    "AttemptFailed",
    "Busy",
    "Context",
    "Engine",
    "InvalidInput",
    "InvalidWorkflow",
    "NodeDocument",
    "NotFound",
    "OpenSkeloError",
    "Problem",
    "Project",
    "Refused",
    "RunDocument",
    "StoreError",
    "Workflow",
    "__version__",
    "check",
    "doctor",
    "from_document",
    "load",
    "plan",
    "project_at",
    "reading",
    "run",
    "verify_file",
]


def test_the_public_names_are_the_promised_ones() -> None:
    assert openskelo.__all__ == PROMISED


def test_every_public_name_is_there() -> None:
    assert [name for name in openskelo.__all__ if not hasattr(openskelo, name)] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(openskelo, "no_such_name")


def test_dir_shows_the_public_names() -> None:
    assert dir(openskelo) == sorted(PROMISED)
