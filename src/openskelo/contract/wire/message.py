"""A message: what a person, a model or the system has said in a run."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from openskelo.contract.wire.document import Body, Document, StoredRef, Timestamp, Uuid

Role: TypeAlias = Literal["user", "assistant", "system"]
MessageStatus: TypeAlias = Literal["final", "interrupted", "failed"]


class Message(Document):
    """A message. `stored` names the content where it is too large to travel along, and is then empty here."""

    id: Uuid
    run_id: Uuid
    node_id: Uuid | None
    role: Role
    content: str
    interrupt: bool
    created_at: Timestamp
    status: MessageStatus | None = None
    stored: StoredRef | None = None


class ChatBody(Body):
    """A message to a node: queued for its next turn, or, with `interrupt`, instead of the one it is in."""

    node_id: Uuid
    content: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    interrupt: bool = False
