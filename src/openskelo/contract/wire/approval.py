"""An approval: a question to a person, bound by digest to exactly what is asked, and its answer."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from openskelo.contract.wire.document import Body, Document, JsonObject, StoredRef, Timestamp, Uuid

Answer: TypeAlias = Literal["approved", "denied", "modified"]
ApprovalKind: TypeAlias = Literal["approval", "ask_human", "uncertain", "stalled"]


class Tool(Document):
    """What is called or asked for. `stored` names the arguments where they are too large to travel along."""

    id: Uuid
    name: str
    args: JsonObject
    stored: StoredRef | None = None


class Approval(Document):
    """An open question. `form` is the JSON Schema of `modifiedArgs`; no `approvers` means anybody may answer."""

    id: Uuid
    approval_id: Uuid
    run_id: Uuid
    node_id: Uuid
    node: str
    kind: ApprovalKind
    tool: Tool
    context: str
    prompt: str
    form: JsonObject
    approvers: list[str]
    digest: str
    requested_at: Timestamp | None
    expires_at: Timestamp | None
    visit: int | None
    item: int | None


class Resolution(Document):
    """How a question ended."""

    status: Answer
    modified_args: JsonObject | None = None
    reason: str | None = None
    stored: StoredRef | None = None


class ResolutionBody(Body):
    """A person's answer."""

    status: Answer
    modified_args: JsonObject | None = None
    reason: Annotated[str, Field(max_length=4000)] | None = None


class ResolveBody(Body):
    """An answer to a question; with `digest`, only to the question that has it."""

    resolution: ResolutionBody
    digest: str | None = None
