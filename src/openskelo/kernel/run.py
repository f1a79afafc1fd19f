"""The state of a run in memory: the sum of its events so far.

Only `apply` writes to it; everything else reads. A run has one `NodeState` per node. A visit of a node consists of
slots: one for the whole work, or one per item of a foreach. A slot is tried in attempts, of which at most one is in
flight.

    Run -> NodeState (visit) -> Slot (item) -> Attempt

What the run owes at this moment (attempts to start, nodes to resolve, approvals to answer, timers to fire) stands in
sets that `apply` keeps up to date, so that `follow` and the driver never search. Two kinds of workflow need state of
their own: a plan has a `PlanState`, a live graph a `GraphState`. Their schedulers in `flows` create and change these.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Literal

from openskelo.kernel import definition
from openskelo.kernel.events import Ending, StallKind
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.structs import field, frozen_data, mutable_data

SlotState = Literal["ready", "running", "waiting", "asking", "done"]
NodeStatus = Literal["waiting", "ready", "resolving", "active", "asking", "done"]
NodeOutcome = Literal["succeeded", "failed", "skipped", "cancelled"]
AttemptId = tuple[str, int, int]  # node key, visit, slot

_UNLIMITED = definition.Limits()
#: The kinds of approval that a node requests before its work, or as its work; other kinds are about work that was done.
OWN_QUESTIONS = ("approval", "ask_human")
#: The number of past turns of a live graph's node that are kept for its next one; the log has all of them.
REMEMBERED_TURNS = 20


@frozen_data
class Streak:
    """The number of times in a row that the same failure came back, and whether the output was the same each time.

    An agent never says the same twice in the same words. So for its work there are two more numbers: how often in a row
    it has left the same files, and has failed at the same gates.
    """

    #: The code and the message of the failure.
    verdict: tuple[str, str] = ("", "")
    output: str = ""
    length: int = 0
    same_output: bool = True
    #: The item of a foreach that the failure is about.
    item: int | None = None
    #: The hash of an agent's changes; empty for other work.
    diff: str = ""
    same_diffs: int = 0
    #: The gates that refused an agent's work; empty for other work.
    gates: tuple[str, ...] = ()
    same_gates: int = 0

    def extended(
        self,
        verdict: tuple[str, str],
        output: str,
        item: int | None = None,
        *,
        diff: str = "",
        gates: tuple[str, ...] = (),
    ) -> Streak:
        """Return the streak after one more failure; a failure without output (a crash, a timeout) ends a streak."""
        if not output:
            return NO_STREAK
        is_same = verdict == self.verdict and item == self.item and self.length > 0
        return Streak(
            verdict=verdict,
            output=output,
            length=self.length + 1 if is_same else 1,
            same_output=not is_same or (self.same_output and output == self.output),
            item=item,
            diff=diff,
            same_diffs=_count_same(diff, self.diff, self.same_diffs),
            gates=gates,
            same_gates=_count_same(gates, self.gates, self.same_gates),
        )


def _count_same(value: str | tuple[str, ...], last: str | tuple[str, ...], count: int) -> int:
    """Return how often in a row a value has come, if it came `count` times as `last`; an empty one does not count."""
    if not value:
        return 0
    return count + 1 if value == last else 1


#: No failure yet, or none with an output.
NO_STREAK = Streak()


@mutable_data
class Slot:
    """One piece of a node's work: the whole of it, or one item of a foreach."""

    state: SlotState = "ready"
    attempt: int = 0
    failures: int = 0
    repairs: int = 0
    interruptions: int = 0
    outputs: Stored | None = None
    feedback: Json = None
    streak: Streak = NO_STREAK
    #: The outputs of the last attempt if the work is done but its gates could not be evaluated.
    unjudged: Stored | None = None
    #: Set if the item has failed and its foreach keeps failed items.
    error: JsonObject | None = None
    #: Answers about calls of an agent that came when no attempt was waiting for them, by the digest of the question.
    #: The next attempt uses each of them once.
    grants: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])


@mutable_data
class NodeState:
    """The state of one node."""

    key: str
    waiting: int
    status: NodeStatus = "waiting"
    outcome: NodeOutcome | None = None
    visit: int = 0
    entered_at: int = 0
    #: Empty until the node is entered.
    slots: list[Slot] = field(default_factory=list[Slot])
    #: The indexes of the slots that may start, the next one last.
    queue: list[int] = field(default_factory=list[int])
    running: int = 0
    done_slots: int = 0
    #: The number of items that were taken over from another run.
    kept_slots: int = 0
    #: The number of done items that have failed.
    failed_slots: int = 0
    attempts: int = 0
    inputs: Stored | None = None
    items: Stored | None = None
    granted: bool = False
    #: True if a person's answer has replaced the `inputs`.
    edited: bool = False
    feedback: Json = None
    outputs: Stored | None = None
    #: Set once a foreach is finished; None for a failed item.
    item_outputs: tuple[Stored | None, ...] | None = None
    #: Set once a foreach is finished: `index`, `code` and `message` of the failed items.
    item_errors: tuple[JsonObject, ...] = ()
    #: How often each bounce rule of the node has sent the work back.
    bounces: Mapping[int, int] = field(default_factory=dict[int, int])
    loop: Streak = NO_STREAK
    error: JsonObject | None = None
    #: The digest of the code that works on the items, if it is known.
    code: str | None = None
    #: The retry step of a plan whose retry policy holds for the node instead of its own.
    retried_by: str | None = None
    #: The last conversation of the node's agent; `answered` is the last visit in which it gave a result there.
    session: JsonObject | None = None
    #: The kinds of calls that a person has allowed the agent for the rest of the run.
    call_rules: tuple[JsonObject, ...] = ()
    #: What all attempts of the node have used.
    tokens: int = 0
    #: What all attempts of the node have used.
    cost_nanousd: int = 0


@mutable_data
class Attempt:
    """An attempt that was started and has no outcome yet, or one whose effect is uncertain."""

    node: str
    visit: int
    slot: int
    attempt: int
    item: int | None
    started_at: int
    reserve: definition.Amount
    #: Set if the effect is uncertain.
    error: JsonObject | None = None
    #: The number of calls of its agent about which a person is being asked.
    questions: int = 0
    #: The calls of its agent under way that reach outside of the workspace: the tool of each by its id.
    outside_calls: dict[str, str] = field(default_factory=dict[str, str])


@mutable_data
class OpenApproval:
    """An approval that waits for a person's answer."""

    id: str
    #: The name of its tool.
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


@mutable_data
class Spending:
    """Amounts of the budget: used so far, or reserved by attempts in flight."""

    steps: int = 0
    tokens: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0
    wall_ms: int = 0


@mutable_data
class PendingBounce:
    """A bounce that was decided, and waits until the attempts and approvals of the nodes it resets are stopped."""

    node: str
    visit: int
    rule: int
    bounce: definition.Bounce
    feedback: Json
    reset: frozenset[str]


@mutable_data
class PlanState:
    """The progress of a plan."""

    #: Each variable as the step that saved it has stored it.
    variables: dict[str, Stored] = field(default_factory=dict[str, Stored])
    contexts: Stored | None = None
    #: The retry step under which the current step runs.
    trying: str | None = None
    #: The step at which the plan waits until a person has approved that its loop goes on.
    held: str | None = None
    #: The step that follows the held one; None ends the plan.
    after_held: str | None = None
    #: True if a step has given a failing verdict since a branch has gone back.
    is_judged: bool = False
    emitted: Stored | None = None
    #: The step that ended the plan, and the ending.
    ended: tuple[str, Ending] | None = None


@frozen_data
class InboxMessage:
    """A message to a node of a live graph: from a person, or handed on by another node."""

    id: str
    at: int
    content: Stored
    role: Literal["user", "system"] = "user"
    by: str = ""
    #: The node that handed it on; empty if it is from a person.
    source: str = ""
    edge: str = ""


@frozen_data
class PastTurn:
    """An earlier turn of a node: the messages it read and its outputs, None if it failed."""

    messages: tuple[InboxMessage, ...]
    outputs: Stored | None


@frozen_data
class Edge:
    """An edge of a live graph."""

    id: str
    source: str
    target: str
    bidirectional: bool
    type: Literal["handoff", "report"]
    label: str


def _past_turns() -> deque[PastTurn]:
    return deque(maxlen=REMEMBERED_TURNS)


@mutable_data
class Inbox:
    """The unread messages of one node, and what is remembered of its turns."""

    #: In the order of arrival.
    messages: deque[InboxMessage] = field(default_factory=deque[InboxMessage])
    #: The number of messages, from the first, that the current turn reads.
    taken: int = 0
    past_turns: deque[PastTurn] = field(default_factory=_past_turns)
    #: The outputs of the last turn.
    last_outputs: Stored | None = None
    #: The hash of the outputs of the last turns that no person had asked for, and the number of turns in a row with
    #: that hash.
    repeated: tuple[str, int] = ("", 0)
    #: The edges along which a repeated turn is to be handed on once a person has approved it.
    held_edges: tuple[str, ...] | None = None
    #: The next turn forgets those before it.
    reset_due: bool = False

    def turn(self) -> tuple[InboxMessage, ...]:
        """Return the messages of the current turn."""
        return tuple(self.messages[index] for index in range(self.taken))

    def answers_person(self) -> bool:
        """True if the current turn reads a message from a person."""
        return any(not message.source for message in self.turn())


@mutable_data
class GraphState:
    """The state of a live graph."""

    #: By node.
    inboxes: dict[str, Inbox] = field(default_factory=dict[str, Inbox])
    #: By id.
    edges: dict[str, Edge] = field(default_factory=dict[str, Edge])
    #: The ids of the edges at each node.
    edges_of: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    #: The keys of removed nodes, which are not used again.
    removed: set[str] = field(default_factory=set[str])


@mutable_data
class Run:
    """A run in memory."""

    id: str
    workflow: definition.Workflow
    dependencies: definition.Dependencies
    nodes: dict[str, NodeState]
    #: 0 when the run has nothing left to do: the number of nodes that are not done, or 1 while the run goes on. The
    #: scheduler says which.
    unfinished: int = 1
    has_limits: bool = False
    created: bool = False
    created_at: int = 0
    updated_at: int = 0
    inputs: Stored = field(default_factory=dict[str, Json])
    definition: str = ""
    mode: Literal["AUTO", "INTERACTIVE"] = "AUTO"
    global_mode: Literal["PLANNING", "IMPLEMENTATION"] = "IMPLEMENTATION"
    parent: JsonObject | None = None
    no_cache: bool = False
    #: The nodes whose visits begin with a resolution.
    needs_resolution: frozenset[str] = frozenset()
    #: Nodes with a slot that may start. It is an `OrderedDict` because nodes are taken from its front, which a plain
    #: dict does in linear time.
    ready: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])
    #: Nodes that wait for the values of their expressions.
    resolving: dict[str, None] = field(default_factory=dict[str, None])
    #: Foreach nodes whose items are all done.
    finishing: dict[str, None] = field(default_factory=dict[str, None])
    in_flight: dict[AttemptId, Attempt] = field(default_factory=dict[AttemptId, Attempt])
    #: Attempts that were in flight when the driver died.
    lost: dict[AttemptId, Attempt] = field(default_factory=dict[AttemptId, Attempt])
    #: Attempts whose effect may have happened.
    uncertain: dict[AttemptId, Attempt] = field(default_factory=dict[AttemptId, Attempt])
    #: A heap of the retries that wait; `apply` drops obsolete entries from its head.
    timers: list[tuple[int, str, int, int]] = field(default_factory=list[tuple[int, str, int, int]])
    backing_off: int = 0
    approvals: dict[str, OpenApproval] = field(default_factory=dict[str, OpenApproval])
    #: A heap of the approvals that expire; `apply` drops obsolete entries from its head.
    expiries: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    approvals_requested: int = 0
    skipped: set[str] = field(default_factory=set[str])
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
    artifacts: list[JsonObject] = field(default_factory=list[JsonObject])
    plan_state: PlanState | None = None
    graph_state: GraphState | None = None
    #: Items of a foreach that a fork has taken over, by node, until the node has items of its own.
    kept_items: dict[str, tuple[JsonObject, ...]] = field(default_factory=dict[str, tuple[JsonObject, ...]])


def new(run_id: str, workflow: definition.Workflow, dependencies: definition.Dependencies | None = None) -> Run:
    """Return a run without events; a caller that has the workflow's `dependencies` can pass it.

    What only one kind of workflow needs is created by the scheduler, when it applies `run.created`.
    """
    dependencies = dependencies or definition.build_dependencies(workflow)
    nodes = {key: NodeState(key, len(sources)) for key, sources in dependencies.sources.items()}
    return Run(
        id=run_id,
        workflow=workflow,
        dependencies=dependencies,
        nodes=nodes,
        has_limits=workflow.limits != _UNLIMITED,
    )


def is_busy(run: Run) -> bool:
    """True if the run can move without a person: attempts that work, work to start, or a timer to wait for."""
    if run.ended:
        return False
    if run.lost or run.ending or any(not attempt.questions for attempt in run.in_flight.values()):
        return True
    return not run.paused and bool(run.ready or run.resolving or run.finishing or run.backing_off or run.bouncing)


def is_under_way(node: NodeState) -> bool:
    """True if any slot of the node's visit is running, done, or waits for a timer or a person."""
    return len(node.queue) < len(node.slots)


def has_begun(node: NodeState) -> bool:
    """True if any slot of the node's visit has been tried."""
    return any(slot.attempt for slot in node.slots)


def may_have_acted(run: Run, attempt: Attempt) -> bool:
    """True if an attempt that is stopped may have had an effect that happens once; one that only judges has none.

    That is so for a node whose effect happens once, and for an agent that was in the middle of a call which reaches
    outside of its workspace.
    """
    if attempt.outside_calls:
        return True
    acts_once = run.workflow.nodes[attempt.node].effect == "once"
    return acts_once and run.nodes[attempt.node].slots[attempt.slot].unjudged is None


def has_started(run: Run) -> bool:
    """True if any attempt of the run was started, or any person was asked."""
    return bool(run.receipts or run.in_flight or run.lost or run.approvals_requested)


def status(run: Run) -> Literal["queued", "running", "paused", "completed", "failed"]:
    """Return the run's status as the wire has it.

    A run is `queued` until its driver starts the first work, and `paused` while only a person can move it. Between two
    events of one append a run may have nothing to do, and wait for no person: it is `running`, because its end or a
    question is the next event.
    """
    if run.ended:
        return "completed" if run.ending == "ok" else "failed"
    if not run.created:
        return "queued"
    if is_busy(run):
        return "running" if has_started(run) else "queued"
    waits_for_person = run.paused is not None or run.approvals or run.graph_state is not None
    return "paused" if waits_for_person and not _is_over(run) else "running"


def _is_over(run: Run) -> bool:
    """True if the run's end follows by itself: a node has failed, or nothing is left to do."""
    return run.failed is not None or not run.unfinished


def stall_kind(streak: Streak, stall_after: int) -> StallKind | None:
    """Return what repeats if `stall_after` equal failures came in a row; None if the loop goes on (0 never stalls)."""
    if not stall_after:
        return None
    if streak.length >= stall_after:
        return "output" if streak.same_output else "verdict"
    if streak.same_diffs >= stall_after:
        return "diff"
    return "gates" if streak.same_gates >= stall_after else None


def failed_gates(spec: definition.Node, verdicts: tuple[JsonObject, ...]) -> tuple[str, ...]:
    """Return the names of the gates that refused an agent's work; empty for other work."""
    if not spec.work.works_in_workspace:
        return ()
    return tuple(sorted({str(verdict.get("gate")) for verdict in verdicts if verdict.get("passed") is False}))
