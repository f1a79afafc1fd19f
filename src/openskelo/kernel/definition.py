"""The definition of a workflow after its text has been checked: frozen values that a run pins by hash.

`workflow_codec` writes these classes as JSON under the names of their fields, without defaults. So the name of a field
is part of every stored hash and is never changed, and a new field needs a default.

`Dependencies` says which node waits for which. A node waits until each of its sources is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Literal, TypeAlias, cast

from openskelo.kernel.events import Ending
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen_data

#: Which scheduler a run has: blocks that wait for their sources, a plan, or a live graph.
Kind = Literal["blocks", "plan", "graph"]
Mode = Literal["ai", "agent", "deterministic", "approval", "dag"]
Effect = Literal["pure", "idempotent", "once"]
#: What works for a node, as clients see it.
Performer = Literal["model", "handler", "approval", "agent"]
PortKind = Literal["json", "file", "artifact"]
Backoff = Literal["none", "linear", "exponential"]
Composition = Literal["all", "any"]
OnFail = Literal["stop", "keep"]
#: The name of an op of plans: a module of `openskelo.ops`, checked when a plan is loaded. The kernel itself knows only
#: `branch`, `retry`, `ask_human` and `emit`, which decide where a run goes, and `verify`, whose check a retry awaits.
Op: TypeAlias = str
PlanMode = Literal["normal", "degraded", "offline"]


@frozen_data
class WorkKind:
    """The facts about one kind of work that readers of a workflow need without loading its executor."""

    #: The short label that people see.
    badge: str = ""
    #: The word for what works for the node, as clients see it.
    performer: Performer = "handler"
    #: The node asks a model of the project: it has a prompt, costs tokens, and its answers are repaired.
    calls_model: bool = False
    #: It is told what to do in words, by a model of the project or by a coding agent.
    has_prompt: bool = False
    #: In PLANNING mode its executor keeps it from any effect, so that it may be started.
    can_plan: bool = False
    #: A person answers; no executor performs it.
    asks_person: bool = False
    #: It is the entry or the exit of a sub-workflow, which only passes values on.
    is_subworkflow: bool = False
    #: A pure node of this kind gives the same outputs again.
    is_replayable: bool = False
    #: Each attempt is one call of a handler, or of the tool of a step.
    calls_handler: bool = False
    #: A program of its own, whose settings the node pins, runs commands and changes files in a workspace.
    works_in_workspace: bool = False
    #: Its work consists of calls that its permissions allow, deny, or ask a person about.
    makes_calls: bool = False
    #: An attempt claims more of the run's budget while it works.
    spends_at_work: bool = False
    default_effect: Effect = "pure"

    @property
    def is_performed(self) -> bool:
        """True if an executor does work of its own for the node, which may be retried and limited in time."""
        return not (self.asks_person or self.is_subworkflow)


#: Every kind of work, by the `mode` of a node. `executors/kinds` has the executor of each.
WORK_KINDS: Mapping[Mode, WorkKind] = {
    "ai": WorkKind(badge="AI", performer="model", calls_model=True, has_prompt=True),
    "agent": WorkKind(
        badge="AGENT",
        performer="agent",
        has_prompt=True,
        can_plan=True,
        works_in_workspace=True,
        makes_calls=True,
        spends_at_work=True,
        default_effect="idempotent",
    ),
    "deterministic": WorkKind(badge="DET", is_replayable=True, calls_handler=True),
    "approval": WorkKind(badge="HUMAN", performer="approval", asks_person=True, default_effect="idempotent"),
    "dag": WorkKind(badge="DAG", is_subworkflow=True, is_replayable=True),
}


def work_kind(mode: Json) -> WorkKind:
    """Return the facts about the kind of work that a document names as `mode`; no fact is true of an unknown one."""
    kinds = cast("Mapping[Json, WorkKind]", WORK_KINDS)
    return kinds[mode] if isinstance(mode, str) and mode in kinds else WorkKind()


@frozen_data
class Port:
    """A named, typed input or output of a node or a workflow."""

    name: str
    schema: JsonObject
    kind: PortKind = "json"
    required: bool = True
    has_default: bool = False
    #: Counts only if `has_default`.
    default: Json = None
    description: str = ""


@frozen_data
class Binding:
    """The source of an input's value: another node's output, or a workflow input."""

    #: The key of the other node; empty for a workflow input.
    node: str = ""
    port: str
    transform: str | None = None
    #: The node that computes the value, if `node` only passes it on: if that is skipped, there is no value.
    origin: str = ""


@frozen_data
class Gate:
    """A check before or after a node's work."""

    name: str
    #: Says which parameters `params` has.
    type: str
    params: JsonObject = field(default_factory=dict[str, Json])
    error: str = ""


@frozen_data
class Retry:
    """The retry policy of a visit: the number of attempts, and the waits between them."""

    #: The first attempt included.
    max_attempts: int = 1
    backoff: Backoff = "none"
    delay_ms: int = 0
    max_delay_ms: int = 60_000
    #: After so often the same failure in a row (same output, same verdict) a person is asked; 0 means never.
    stall_after: int = 3


#: The retry policy of a node that declares none.
ONE_TRY = Retry()


@frozen_data
class Bounce:
    """A rule: if a gate fails, go back to an earlier node."""

    #: The name of the gate.
    when_gate: str
    #: The node to go back to.
    route_to: str
    #: How often the rule sends the work back at most.
    max_bounces: int
    #: The verdicts of the gates are handed on to that node.
    feedback: bool = True
    #: Every node at or after `route_to`, in workflow order: they are entered again.
    reset: tuple[str, ...] = ()
    #: The nodes that get the feedback if `route_to` does no work of its own (the entry of a sub-workflow); otherwise
    #: `route_to` gets it.
    told: tuple[str, ...] = ()


@frozen_data
class Approval:
    """A question to a person: the whole work of an approval node, or a checkpoint before another node's work."""

    #: May hold `{{ CEL }}`.
    prompt: str
    #: Empty: everyone may answer.
    approvers: tuple[str, ...] = ()
    #: None waits until a person answers. The default is what runs have pinned from when the loader wrote no time
    #: limit.
    timeout_ms: int | None = 1_800_000
    on_timeout: Literal["deny", "approve"] = "deny"
    #: The JSON Schema (an object) of the answer.
    form: JsonObject = field(default_factory=dict[str, Json])
    #: End the run, go on (an approval node with `approved: false`; a checkpoint skips its node), or bounce by
    #: `bounce`.
    on_deny: Literal["end", "continue", "bounce"] = "end"
    bounce: Bounce | None = None


@frozen_data
class Foreach:
    """The node runs once for each item of a list."""

    #: The CEL expression of the list.
    items: str
    #: The name of the item in the node's expressions.
    name: str = "item"
    concurrency: int = 4
    #: What an item that fails for good does: it fails the node (`stop`), or the others go on (`keep`).
    on_fail: OnFail = "stop"


#: How many nano-dollars are one dollar.
NANO_PER_USD = 1_000_000_000


@frozen_data
class Amount:
    """Quantities that budgets count. Money is in integer nano-dollars, so that sums are exact."""

    steps: int = 0
    tokens: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0


#: The reservation of a node that costs nothing but its step.
NOTHING = Amount()


@frozen_data
class Limits:
    """The run's budget; None is no limit, 0 allows none."""

    max_steps: int | None = None
    max_tokens: int | None = None
    max_wall_ms: int | None = None
    max_cost_nanousd: int | None = None
    max_tool_nanousd: int | None = None


@frozen_data
class Estimate:
    """The author's estimate of the use of one visit."""

    tokens: int = 0
    cost_usd: float = 0.0
    duration_sec: float = 0.0


@frozen_data
class Step:
    """A step of a plan: its operation, and the step that follows."""

    op: Op
    #: They have been checked; their refs are still in place, and defaults are filled in.
    args: JsonObject
    save_as: str | None = None
    #: The step that follows; None ends the run.
    next: str | None = None
    #: The next step of a branch if its condition holds.
    then: str | None = None
    #: The next step of a branch if its condition does not hold.
    otherwise: str | None = None
    #: The step that a retry runs, under the retry's own `Node.retry`.
    target: str | None = None
    #: The step that follows a denial by mode or capability, which would otherwise end the run as denied.
    on_denied: str | None = None
    #: The ending of an emit.
    ending: Ending | None = None
    #: Entered more often, the step fails the run with LOOP_LIMIT.
    max_visits: int | None = None


@frozen_data
class Plan:
    """The part of a workflow that makes it a plan: it runs one step at a time, over named variables."""

    #: The first step.
    entry: str
    mode: PlanMode = "normal"
    #: The first values of the variables.
    variables: JsonObject = field(default_factory=dict[str, Json])
    #: Refs as written: `{"result_ref": "var:patch"}`.
    outputs: JsonObject = field(default_factory=dict[str, Json])
    #: The `ctx:` and `snap:` names that are read before the run starts.
    contexts: tuple[str, ...] = ()


@frozen_data
class Turn:
    """The part of a node that belongs to a live graph: it works in turns, each on the messages in its inbox.

    The fields without a comment are shown on the wire.
    """

    role: str = "worker"
    provider: str = "custom"
    capabilities: JsonObject = field(default_factory=dict[str, Json])
    #: A turn beyond them fails.
    max_turns: int = 100
    #: After so often equal outputs in a row that no person asked for, a person decides whether they are handed on; 0
    #: means never.
    stall_after: int = 3
    #: A message that is one of these begins a new conversation.
    reset_commands: tuple[str, ...] = ("/new", "/clear")


@frozen_data
class Node:
    """A node of a workflow: everything that the kernel and the executors need to know about it."""

    key: str
    mode: Mode
    label: str = ""
    description: str = ""
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    bindings: Mapping[str, Binding] = field(default_factory=dict[str, Binding])
    after: tuple[str, ...] = ()
    when: str | None = None
    foreach: Foreach | None = None
    handler: str | None = None
    config: JsonObject = field(default_factory=dict[str, Json])
    pre_gates: tuple[Gate, ...] = ()
    post_gates: tuple[Gate, ...] = ()
    pre_composition: Composition = "all"
    post_composition: Composition = "all"
    approval: Approval | None = None
    retry: Retry = ONE_TRY
    timeout_ms: int | None = None
    bounces: tuple[Bounce, ...] = ()
    #: How often, in one visit, outputs that break the contract are asked for again at once, besides the attempts that
    #: `retry` allows.
    repairs: int = 0
    effect: Effect = "pure"
    repeatable: bool = False
    cache: bool = False
    reserve: Amount = NOTHING
    estimate: Estimate | None = None
    metadata: JsonObject = field(default_factory=dict[str, Json])
    #: Of a node of a plan: instead of ports, bindings and gates.
    step: Step | None = None
    #: Of a node of a live graph: instead of bindings.
    turn: Turn | None = None
    #: The entry of the sub-workflow whose inputs the node's expressions see as `run.inputs`; empty: the inputs of the
    #: run.
    inside: str = ""

    @property
    def work(self) -> WorkKind:
        """Return the facts about this node's kind of work."""
        return WORK_KINDS[self.mode]

    @property
    def is_block(self) -> bool:
        """True if the node is neither a step of a plan nor a node of a live graph."""
        return self.step is None and self.turn is None

    @property
    def keeps_failed_items(self) -> bool:
        """True if the node is a foreach that goes on when an item has failed, and lists such items as `errors`."""
        return self.foreach is not None and self.foreach.on_fail == "keep"


def is_once(node: Node) -> bool:
    """True if the node's effect must not be repeated before a person has been asked."""
    return node.effect == "once" and not node.repeatable


@frozen_data
class Workflow:
    """A checked definition."""

    name: str
    #: `sha256:` over the canonical JSON of `workflow_codec.encode` without `hash`.
    hash: str
    nodes: Mapping[str, Node]
    description: str = ""
    inputs: tuple[Port, ...] = ()
    outputs: Mapping[str, Binding] = field(default_factory=dict[str, Binding])
    limits: Limits = field(default_factory=Limits)
    parallel: int = 64
    plan: Plan | None = None
    #: True for a live graph. It has no nodes at first: they are added, changed and removed while it runs.
    live: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of the workflow, which decides how its runs are scheduled (`flows.scheduler`)."""
        if self.plan is not None:
            return "plan"
        return "graph" if self.live else "blocks"


# -- dependencies -----------------------------------------------------------------------------------------------------


@frozen_data
class Dependencies:
    """The sources and targets of each node, and its origins where they differ from its sources."""

    sources: Mapping[str, tuple[str, ...]]
    targets: Mapping[str, Sequence[str]]
    origins: Mapping[str, tuple[str, ...]]


def build_dependencies(workflow: Workflow) -> Dependencies:
    """Return the dependencies of the nodes, from their bindings and `after` lists."""
    sources: dict[str, tuple[str, ...]] = {}
    targets: dict[str, list[str]] = {key: [] for key in workflow.nodes}
    for key, node in workflow.nodes.items():
        bound_nodes = [binding.node for binding in node.bindings.values() if binding.node]
        sources[key] = tuple(dict.fromkeys((*bound_nodes, *node.after)))
        for source in sources[key]:
            targets[source].append(key)
    passes_values = any(node.work.is_subworkflow for node in workflow.nodes.values())
    origins_by_node = {key: origins(node) for key, node in workflow.nodes.items()} if passes_values else {}
    return Dependencies(sources=sources, targets=targets, origins=origins_by_node)


def origins(node: Node) -> tuple[str, ...]:
    """Return the nodes whose skipping leaves the node without a value, or without a node that it waits for."""
    sources = [binding.origin or binding.node for binding in node.bindings.values() if binding.node]
    return tuple(dict.fromkeys((*sources, *node.after)))


def must_skip(dependencies: Dependencies, node: Node, skipped: Set[str]) -> bool:
    """True if a node whose sources are all done must be skipped, because nodes that it needs were skipped."""
    for port in node.inputs:
        binding = node.bindings.get(port.name)
        if binding is None or not port.required or port.has_default:
            continue
        if (binding.origin or binding.node) in skipped:
            return True
    sources = dependencies.origins.get(node.key) or dependencies.sources[node.key]
    return bool(sources) and all(source in skipped for source in sources)
