"""The state of a run: what the log so far amounts to. Only `apply` writes to it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Literal

from openskelo.frozen import field, lean, replace
from openskelo.kernel import definition, fresh, inbox
from openskelo.kernel.events import Ending
from openskelo.kernel.flows import dag
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.stall import NO_STREAK, Streak

SlotState = Literal["ready", "running", "waiting", "asking", "done"]
NodeStatus = Literal["waiting", "ready", "resolving", "active", "asking", "done"]
NodeOutcome = Literal["succeeded", "failed", "skipped", "cancelled"]
AttemptId = tuple[str, int, int]  # node key, visit, slot

_UNLIMITED = definition.Limits()
#: The kinds of question that a node asks by itself; others are about what became of its work.
OWN_QUESTIONS = ("approval", "ask_human")


@lean
class Slot:
    """One piece of a node's work: the whole of it, or one item of a foreach.

    `unjudged` are the outputs of its last attempt where the work was done and nobody could be asked to judge it.
    """

    state: SlotState = "ready"
    attempt: int = 0
    failures: int = 0
    repairs: int = 0
    interruptions: int = 0
    outputs: Stored | None = None
    feedback: Json = None
    streak: Streak = NO_STREAK
    unjudged: Stored | None = None


@lean
class NodeState:
    """One node. `slots` are empty until the node is entered; `queue` holds those that may start, the next one last.

    `edited`: the `inputs` are those of a person's answer, and all that there are. `kept_slots` counts the items that
    were taken over from another run; `code` is that of the work on the items, where it is known.
    """

    key: str
    waiting: int
    status: NodeStatus = "waiting"
    outcome: NodeOutcome | None = None
    visit: int = 0
    entered_at: int = 0
    slots: list[Slot] = fresh.NO_LIST
    queue: list[int] = fresh.NO_LIST
    running: int = 0
    done_slots: int = 0
    kept_slots: int = 0
    attempts: int = 0
    inputs: Stored | None = None
    items: Stored | None = None
    granted: bool = False
    edited: bool = False
    feedback: Json = None
    outputs: Stored | None = None
    item_outputs: tuple[Stored, ...] | None = None
    bounced: dict[int, int] | None = None
    loop: Streak = NO_STREAK
    error: JsonObject | None = None
    code: str | None = None

    @property
    def bounces(self) -> Mapping[int, int]:
        """How often each rule of the node has sent the work back; most never do, and have no dict of their own."""
        return self.bounced or {}


@lean
class InFlight:
    """An attempt that was started and has no outcome yet, or (with the `error`) one whose effect is uncertain."""

    node: str
    visit: int
    slot: int
    attempt: int
    item: int | None
    started_at: int
    reserve: definition.Amount
    error: JsonObject | None = None


@lean
class OpenApproval:
    """A question that waits for a person. `kind` is its tool's name."""

    id: str
    kind: str
    node: str
    visit: int
    slot: int
    item: int | None
    digest: str
    approvers: tuple[str, ...]
    expires_at: int | None
    document: JsonObject
    rule: int | None = None


@lean
class Spending:
    """Used so far and reserved by what is in flight."""

    steps: int = 0
    tokens: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0
    wall_ms: int = 0


@lean
class PendingBounce:
    """A bounce that was decided and waits for what it overtakes to be stopped."""

    node: str
    visit: int
    rule: int
    bounce: definition.Bounce
    feedback: Json
    reset: frozenset[str]


@lean
class Course:
    """How far the run of a plan has come: its variables, each as the step that saved it has stored it.

    `trying` is the retry under which a step is tried now; `ended` the step that ended the plan, and how.
    """

    variables: dict[str, Stored] = field(default_factory=fresh.a_dict)
    contexts: Stored | None = None
    trying: str | None = None
    emitted: Stored | None = None
    ended: tuple[str, Ending] | None = None


@lean
class Run:
    """A run in memory. The sets (`ready`, `resolving`, `in_flight`, …) are kept by `apply`, never searched for.

    `timers` (retries) and `expiries` (approvals) are heaps whose head always still stands. `ready` is taken from the
    front, where a plain dict would look through everything that was taken before. `course` is that of a plan; without
    one, nodes wait for their sources, and `unfinished` counts those that are not done. `live` is that of a live graph,
    whose nodes come and go, and which is finished when a person says so. `is_dag`: it is neither. `earlier` are items
    that a fork has taken over, by node, until that has items of its own.
    """

    id: str
    workflow: definition.Workflow
    graph: dag.Graph
    nodes: dict[str, NodeState]
    unfinished: int
    limited: bool = False
    created: bool = False
    created_at: int = 0
    updated_at: int = 0
    inputs: Stored = field(default_factory=fresh.a_dict)
    definition: str = ""
    mode: Literal["AUTO", "INTERACTIVE"] = "AUTO"
    global_mode: Literal["PLANNING", "IMPLEMENTATION"] = "IMPLEMENTATION"
    parent: JsonObject | None = None
    no_cache: bool = False
    resolves: frozenset[str] = frozenset()
    ready: OrderedDict[str, None] = field(default_factory=fresh.an_ordered_dict)
    resolving: dict[str, None] = field(default_factory=fresh.a_dict)
    finishing: dict[str, None] = field(default_factory=fresh.a_dict)
    in_flight: dict[AttemptId, InFlight] = field(default_factory=fresh.a_dict)
    lost: dict[AttemptId, InFlight] = field(default_factory=fresh.a_dict)
    uncertain: dict[AttemptId, InFlight] = field(default_factory=fresh.a_dict)
    timers: list[tuple[int, str, int, int]] = field(default_factory=fresh.a_list)
    backing_off: int = 0
    approvals: dict[str, OpenApproval] = field(default_factory=fresh.a_dict)
    expiries: list[tuple[int, str]] = field(default_factory=fresh.a_list)
    asked: int = 0
    skipped: set[str] = field(default_factory=fresh.a_set)
    bouncing: PendingBounce | None = None
    paused: str | None = None
    failed: tuple[str, JsonObject, Ending] | None = None
    ending: Ending | None = None
    ended: bool = False
    error: JsonObject | None = None
    spent: Spending = field(default_factory=Spending)
    reserved: Spending = field(default_factory=Spending)
    active_since: int | None = None
    last_receipt: JsonObject | None = None
    receipts: int = 0
    artifacts: list[JsonObject] = field(default_factory=fresh.a_list)
    course: Course | None = None
    live: inbox.Live | None = None
    is_dag: bool = True
    earlier: dict[str, tuple[JsonObject, ...]] = field(default_factory=fresh.a_dict)


def new(run_id: str, workflow: definition.Workflow, shape: dag.Graph | None = None) -> Run:
    """A run to which nothing has happened yet; `shape` is the workflow's graph where somebody has it already."""
    if workflow.live:  # a copy, to which nodes are added
        workflow, shape = replace(workflow, nodes=dict(workflow.nodes)), None
    shape = shape or dag.graph(workflow)
    nodes = {key: NodeState(key, len(sources)) for key, sources in shape.sources.items()}
    limited = workflow.limits != _UNLIMITED
    run = Run(id=run_id, workflow=workflow, graph=shape, nodes=nodes, unfinished=len(nodes), limited=limited)
    if workflow.plan is not None:
        run.course, run.unfinished, run.is_dag = Course(), 1, False
    if workflow.live:
        run.live, run.unfinished, run.is_dag = inbox.Live(), 1, False
    return run


def is_busy(run: Run) -> bool:
    """Whether the run can move without a person: work in flight, owed, or waiting for its time."""
    if run.ended:
        return False
    if run.in_flight or run.lost or run.ending:
        return True
    return not run.paused and bool(run.ready or run.resolving or run.finishing or run.backing_off or run.bouncing)


def is_under_way(node: NodeState) -> bool:
    """Whether any piece of the node's visit is running, done, or waits for its time or a person: not all may start."""
    return len(node.queue) < len(node.slots)


def has_begun(node: NodeState) -> bool:
    """Whether any piece of the node's visit was ever tried."""
    return any(slot.attempt for slot in node.slots)


def may_have_acted(run: Run, flight: InFlight) -> bool:
    """Whether an attempt that is cut may have had an effect that happens once; one that only judges has none."""
    once = run.workflow.nodes[flight.node].effect == "once"
    return once and run.nodes[flight.node].slots[flight.slot].unjudged is None


def status(run: Run) -> Literal["queued", "running", "paused", "completed", "failed"]:
    """The contract's status."""
    if run.ended:
        return "completed" if run.ending == "ok" else "failed"
    if not run.created:
        return "queued"
    return "running" if is_busy(run) else "paused"
