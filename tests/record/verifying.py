"""A whole record verified at once; programs give a `chain.Verifier` one line after the other."""

from __future__ import annotations

from collections.abc import Iterable

from openskelo.kernel import definition
from openskelo.record import chain


def lines(given: Iterable[bytes], *, workflow: definition.Workflow | None = None) -> chain.Verification:
    """What lines without line ends prove, as a store gives them."""
    return text((line + b"\n" for line in given), workflow=workflow)


def text(given: Iterable[bytes], *, workflow: definition.Workflow | None = None) -> chain.Verification:
    """What lines with their line ends prove, as a file opened in binary mode gives them."""
    verifier = chain.Verifier(workflow=workflow)
    for line in given:
        verifier.add(line)
    return verifier.result()


def split(data: bytes) -> list[bytes]:
    """Lines as a binary file gives them."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
