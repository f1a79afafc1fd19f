"""Documents of the REST interface that are no types of the contract: pages, bodies of orders, reports."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from openskelo.contract.wire import approval, artifact, edge, event, node, receipt, run
from openskelo.contract.wire.document import Body, Document, Json, JsonObject, Timestamp, Uuid

Reason = Annotated[str, Field(max_length=4000)]
Path = Annotated[str, Field(min_length=1, max_length=1000)]


class RunPage(Document):
    """Runs, newest first. `nextCursor` is the `cursor` of the next page; null on the last one."""

    runs: list[run.RunSummary]
    next_cursor: str | None


class ApprovalPage(Document):
    """Open approvals in the order they were asked."""

    approvals: list[approval.Approval]
    next_cursor: str | None


class Answered(Document):
    """A question and its answer, exactly as they were told; `withdrawn`: nobody answered."""

    approval: approval.Approval
    resolution: approval.Resolution
    by: str | None
    digest: str | None
    withdrawn: bool
    answered_at: Timestamp


class AnsweredPage(Document):
    """Answered approvals, the newest question first."""

    answered: list[Answered]
    next_cursor: str | None


class NodeList(Document):
    """The nodes of a run."""

    nodes: list[node.Node]


class EdgeList(Document):
    """The edges of a run."""

    edges: list[edge.Edge]


class ItemPage(Document):
    """Items of a foreach. `nextAfter` is the `after` of the next page; null on the last one."""

    items: list[node.Item]
    next_after: int | None


class ArtifactList(Document):
    """The artifacts of a run, oldest first."""

    artifacts: list[artifact.Artifact]


class Fact(Document):
    """A line of the run's log: its envelope, and the links of its chain. A pruned one has `dataHash` for `data`."""

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
    """A page of a run's log, in order. `nextSeq` is the `since` of the next page; null when there is none yet."""

    facts: list[Fact]
    next_seq: int | None


class Receipts(Document):
    """The receipts of a run, and a digest that is equal for two runs of the same deterministic work."""

    run_id: Uuid
    digest: str
    receipts: list[receipt.Receipt]


class Verification(Document):
    """Whether a run's record is whole and unaltered."""

    run_id: str | None
    intact: bool
    ended: bool


class Change(Document):
    """Where two values part, at a JSON pointer; `before` or `after` is left out where there is none."""

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Json = None
    after: Json = None


class ComparedRun(Document):
    """One of two runs as a whole, and what it took."""

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
    """A node in one of two runs; `keptFrom` is the run that a fork has taken its result, or `keptItems`, over from."""

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
    """A node in two runs, in what it differs, and where its outputs part; `inputs` are those that a fork has set."""

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
    """Two runs node by node; `sameWork`: their receipts are equal but for what the clock adds."""

    a: ComparedRun
    b: ComparedRun
    same_work: bool
    same_workflow: bool
    redefined: list[str]
    inputs: list[Change]
    outputs: list[Change]
    nodes: list[ComparedNode]


class Resolved(Document):
    """An answer was taken and is durable."""

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
    """What is wrong with a workflow; `hash` is what a run of it would pin."""

    valid: bool
    name: str | None
    hash: str | None
    problems: list[Problem]
    warnings: list[Problem]


class Explanation(Document):
    """A workflow taken apart: its ports, blocks, edges and layers, and what a run of it would take."""

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
    """The server answers, and its data dir can be read."""

    status: Literal["ok"]


class Version(Document):
    """Which program this is, and which contract it speaks."""

    version: str
    contract_version: Literal["1"]


class Session(Document):
    """Who asks. `csrfToken` is there for sessions of browsers: changes carry it as `X-CSRF-Token`."""

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
    """A message is durable, and waits for the node's next turn."""

    message_id: Uuid
    run_id: Uuid
    node_id: Uuid
    interrupt: bool


class StartBody(Body):
    """A run to begin: a workflow file of the project, or a workflow as a document, with its inputs.

    Without a workflow it is a live graph: `name` and `budgets` (as in a blocks file) are those of the run then.
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
    """A workflow, and how many items a foreach is counted with."""

    items: Annotated[int, Field(ge=0, le=1_000_000)] = 10


class OrderBody(Body):
    """Why, for the record."""

    reason: Reason | None = None


#: Where an item of a foreach stands in its list.
Index = Annotated[int, Field(ge=0, lt=10_000)]


class ForkBody(Body):
    """From which node (its key or id) a new run does things again, and what changes: inputs of the node or the run.

    `items` says which items of a foreach are done again: `all`, those that are not done, or with those also the ones
    with these indexes. Without it: those that are not done, or all where none is left.
    """

    node: Annotated[str, Field(min_length=1, max_length=200)]
    inputs: dict[str, Json] = Field(default_factory=dict[str, Json])
    workflow: Path | None = None
    items: Literal["all", "unfinished"] | Annotated[list[Index], Field(max_length=10_000)] | None = None


EventPage = event.EventPage
