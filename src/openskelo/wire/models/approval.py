"""An approval: a question to a person, bound by digest to exactly what is asked, and its answer."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from openskelo.wire.models.wire_model import Body, Document, JsonObject, StoredRef, Timestamp, Uuid

Answer: TypeAlias = Literal["approved", "denied", "modified"]
Remember: TypeAlias = Literal["turn", "run"]
ApprovalKind: TypeAlias = Literal["approval", "ask_human", "uncertain", "stalled", "call"]


class Tool(Document):
    """The call or question of an approval. `stored` refers to the arguments if they are too large to be included."""

    id: Uuid
    name: str
    args: JsonObject
    stored: StoredRef | None = None


class Approval(Document):
    """An open approval. `form` is the JSON Schema of `modifiedArgs`; without `approvers`, any person may answer.

    `runName` is the name of the run's workflow. `call` is what a person is shown beside the arguments of an agent's
    call (`kind` is `call`): its `kind`, `why` it is asked about, the `diff` of an edit, and the `rule` that an approval
    for longer would make; `question` if the agent asks on its own.
    """

    id: Uuid
    approval_id: Uuid
    run_id: Uuid
    run_name: str
    node_id: Uuid
    node: str
    kind: ApprovalKind
    tool: Tool
    call: JsonObject | None = None
    context: str
    prompt: str
    form: JsonObject
    approvers: list[str]
    digest: str
    requested_at: Timestamp
    expires_at: Timestamp | None
    visit: int
    item: int | None


class Resolution(Document):
    """The answer to an approval.

    `remember` says for how long calls like the one that was asked about (`rule`) are allowed, if for longer than once.
    """

    status: Answer
    modified_args: JsonObject | None = None
    reason: str | None = None
    stored: StoredRef | None = None
    remember: Remember | None = None
    rule: JsonObject | None = None


class ResolutionBody(Body):
    """A person's answer. `remember` allows an agent's calls like this one until its turn or the run ends."""

    status: Answer
    modified_args: JsonObject | None = None
    reason: Annotated[str, Field(max_length=4000)] | None = None
    remember: Remember | None = None


class ResolveBody(Body):
    """An answer to an approval; with `digest`, only to the approval that has it."""

    resolution: ResolutionBody
    digest: str | None = None
