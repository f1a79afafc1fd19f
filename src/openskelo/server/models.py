"""Documents of the REST interface that are not part of the contract: pages, request bodies, reports."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from openskelo.wire.models import approval, events, node, run
from openskelo.wire.models.wire_model import Body, Document, Json, JsonObject, Timestamp, Uuid

Reason = Annotated[str, Field(max_length=4000)]
Path = Annotated[str, Field(min_length=1, max_length=1000)]


class RunPage(Document):
    """Runs, newest first. `nextCursor` is the `cursor` of the next page; null on the last one."""

    runs: list[run.RunSummary]
    next_cursor: str | None


class ApprovalPage(Document):
    """Open approvals, oldest first."""

    approvals: list[approval.Approval]
    next_cursor: str | None


class Answered(Document):
    """An approval and its answer, as their events have them; `withdrawn`: it was closed without an answer."""

    approval: approval.Approval
    resolution: approval.Resolution
    by: str | None
    digest: str | None
    withdrawn: bool
    answered_at: Timestamp


class AnsweredPage(Document):
    """Answered approvals, the most recently requested first."""

    answered: list[Answered]
    next_cursor: str | None


class NodeList(Document):
    """The nodes of a run."""

    nodes: list[node.Node]


class Changes(Document):
    """The changes of a node's agent in its workspace; `diff` is in the unified format."""

    files_changed: list[str]
    insertions: int
    deletions: int
    diff: str


class EdgeList(Document):
    """The edges of a run."""

    edges: list[node.Edge]


class ItemPage(Document):
    """Items of a foreach. `nextAfter` is the `after` of the next page; null on the last one."""

    items: list[node.Item]
    next_after: int | None


class LogSoFar(Document):
    """The log of a running attempt so far; only its end if it is long."""

    visit: int
    attempt: int
    item: int | None
    text: str


class LogList(Document):
    """The logs of a node's running attempts."""

    logs: list[LogSoFar]


class ArtifactList(Document):
    """The artifacts of a run, oldest first."""

    artifacts: list[node.Artifact]


class OutputFile(Document):
    """A file that an output names; `path` is the text of the output."""

    path: str
    name: str
    size: int
    media_type: str


class OutputFiles(Document):
    """The files that a run's outputs name and that exist."""

    files: list[OutputFile]


class Fact(Document):
    """A line of the run's log: its envelope, and the links of its chain. If pruned, `dataHash` replaces `data`."""

    id: str
    run_id: str
    seq: int
    ts: Timestamp
    type: str
    node_id: str | None = None
    data: JsonObject | None = None
    prev: str
    hash: str


class FactPage(Document):
    """A page of a run's log, in order. `nextSeq` is the `since` of the next page; null on the last page."""

    facts: list[Fact]
    next_seq: int | None


class Receipts(Document):
    """The receipts of a run, and a digest that is equal for two runs of the same deterministic work."""

    run_id: Uuid
    digest: str
    receipts: list[run.Receipt]


class Verification(Document):
    """The result of verifying a run's record. `head` is the hash of its last event."""

    run_id: str | None
    intact: bool
    ended: bool
    events: int
    receipts: int
    head: str
    signature: Literal["ok", "partial", "bad", "none"]


class Change(Document):
    """A difference between two values, at a JSON pointer; `before` or `after` is left out if it does not exist."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Json = None
    after: Json = None


class ComparedRun(Document):
    """One of two compared runs, and what it used."""

    run_id: Uuid
    workflow: str
    workflow_hash: str
    status: run.Status
    ending: run.Ending | None
    receipts_digest: str
    attempts: int
    tokens: int
    cost_usd: float
    wall_ms: int


class ComparedSide(Document):
    """A node in one of two runs; `keptFrom` is the run from which a fork kept its result or items."""

    status: str
    outcome: node.Outcome | None
    visits: int
    kept_from: str | None
    kept_items: int
    error: node.Fault | None
    attempts: int
    tokens: int
    cost_usd: float
    wall_ms: int


class ComparedNode(Document):
    """A node in two runs, and how it differs; `inputs` are the inputs that a fork has set."""

    node: str
    same: bool
    verdict: Literal["same", "different", "unfinished", "only_a", "only_b"]
    differs: list[Literal["definition", "inputs", "outcome", "error", "visits", "outputs"]]
    redefined: bool
    a: ComparedSide | None
    b: ComparedSide | None
    inputs: list[Change]
    outputs: list[Change]


class Comparison(Document):
    """Two runs node by node; `sameWork`: their receipts are equal except for times."""

    a: ComparedRun
    b: ComparedRun
    same_work: bool
    same_workflow: bool
    redefined: list[str]
    inputs: list[Change]
    outputs: list[Change]
    nodes: list[ComparedNode]


class Resolved(Document):
    """The answer was accepted and stored."""

    approval_id: Uuid
    run_id: Uuid
    status: approval.Answer
    by: str


class Problem(Document):
    """Something wrong with a workflow file, and where."""

    file: str
    line: int
    column: int
    code: str
    message: str
    path: str
    hint: str | None


class WorkflowFile(Document):
    """A workflow file of the project; `path` is relative to the project's root."""

    path: str
    name: str
    kind: Literal["blocks", "plan", "pipeline"]
    description: str


class WorkflowList(Document):
    """The workflow files of the project, by path."""

    workflows: list[WorkflowFile]


class Checked(Document):
    """The problems of a workflow; `hash` is the one that a run of it would pin."""

    valid: bool
    name: str | None
    hash: str | None
    problems: list[Problem]
    warnings: list[Problem]


class Explanation(Document):
    """The outline of a workflow (ports, blocks, edges, layers), and the estimate for a run of it."""

    name: str
    description: str
    hash: str
    inputs: list[JsonObject]
    outputs: dict[str, str]
    layers: list[list[str]]
    blocks: list[JsonObject]
    edges: list[JsonObject]
    totals: JsonObject


class Health(Document):
    """The server answers, and its store can be read."""

    status: Literal["ok"]


class Version(Document):
    """The version of the program, and of the contract."""

    version: str
    contract_version: Literal["1"]


class Session(Document):
    """The caller. `csrfToken` is set for browser sessions, whose changes must carry it as `X-CSRF-Token`."""

    name: str
    role: Literal["viewer", "approver", "operator"]
    csrf_token: str | None


class WorkflowBody(Body):
    """A workflow: a file of the project, or a document."""

    workflow: Path | None = None
    document: dict[str, Json] | None = None

    @model_validator(mode="after")
    def _one(self) -> WorkflowBody:
        if (self.workflow is None) == (self.document is None):
            raise ValueError("give either workflow (a path) or document")
        return self


class Sent(Document):
    """The message is stored, and waits for the node's next turn.

    `steered`: the turn under way reads it. `reset`: it was a reset command; the next turn begins a new conversation.
    """

    message_id: Uuid
    run_id: Uuid
    node_id: Uuid
    interrupt: bool
    steered: bool
    reset: bool


class StartBody(Body):
    """A run to start: a workflow file of the project, or a workflow as a document, with its inputs.

    Without a workflow the run is a live graph, with this `name` and these `budgets` (as in a blocks file).
    """

    workflow: Path | None = None
    document: dict[str, Json] | None = None
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    budgets: dict[str, Json] | None = None
    inputs: dict[str, Json] = Field(default_factory=dict[str, Json])
    mode: run.Mode = "AUTO"
    global_mode: run.GlobalMode = "IMPLEMENTATION"

    @model_validator(mode="after")
    def _at_most_one(self) -> StartBody:
        if self.workflow is not None and self.document is not None:
            raise ValueError("give workflow (a path) or document, not both")
        if (self.workflow or self.document) is not None and (self.name or self.budgets) is not None:
            raise ValueError("name and budgets are those of a live graph; a workflow has its own")
        return self


class ExplainBody(WorkflowBody):
    """A workflow, and the number of items that a foreach is counted with."""

    items: Annotated[int, Field(ge=0, le=1_000_000)] = 10


class OrderBody(Body):
    """The reason, for the record."""

    reason: Reason | None = None


class PauseBody(OrderBody):
    """With `now`, work in progress is cut, and done again when the run is resumed; otherwise it ends first."""

    now: bool = False


#: The index of an item of a foreach.
Index = Annotated[int, Field(ge=0, lt=10_000)]


class ForkBody(Body):
    """The node (key or id) from which a new run starts, and changed inputs of the node or the run.

    `items` says which items of a foreach are done again: `all`, the unfinished ones, or the unfinished ones and those
    with these indexes. Without it: the unfinished ones, or all if there are no unfinished ones.
    """

    node: Annotated[str, Field(min_length=1, max_length=200)]
    inputs: dict[str, Json] = Field(default_factory=dict[str, Json])
    workflow: Path | None = None
    items: Literal["all", "unfinished"] | Annotated[list[Index], Field(max_length=10_000)] | None = None


EventPage = events.EventPage
