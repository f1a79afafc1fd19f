"""An error as HTTP answers it: RFC 9457, with a stable code."""

from __future__ import annotations

from openskelo.contract.wire.document import Document


class InvalidPart(Document):
    """One thing that is wrong with what was sent: a JSON pointer to it, and why."""

    pointer: str
    code: str
    message: str


class ProblemDetails(Document):
    """`application/problem+json`. `code` is one of the error codes; `hint` says what to do next."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str | None = None
    instance: str | None = None
    errors: list[InvalidPart] | None = None
