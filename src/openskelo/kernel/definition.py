"""The definition of a workflow after its text has been checked: frozen values that a run pins by hash.

`workflow_codec` writes these classes as JSON under the names of their fields, without defaults. So the name of a field
is part of every stored hash and is never changed, and a new field needs a default.

`Dependencies` says which node waits for which. A node waits until each of its sources is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Literal, TypeAlias

from openskelo.kernel.events import Ending
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen_data

#: Which scheduler a run has: blocks that wait for their sources, a plan, or a live graph.
Kind = Literal["blocks", "plan", "graph"]
Mode = Literal["ai", "agent", "deterministic", "approval", "dag"]
Effect = Literal["pure", "idempotent", "once"]
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
    """The facts about one kind of work that readers of a workflow need without loading its executor.

    `calls_model`: the node asks a model of the project, so it has a prompt, costs tokens, and its answers are repaired.
    `has_prompt`: it is told what to do in words, by a model of the project or by a coding agent.
    `can_plan`: in PLANNING mode its executor keeps it from any effect, so that it may be started.
    `asks_person`: a person answers; no executor performs it. `is_subworkflow`: the entry or the exit of a sub-workflow,
    which only passes values on. `is_replayable`: a pure node of this kind gives the same outputs again.
    """

    calls_model: bool = False
    has_prompt: bool = False
    can_plan: bool = False
    asks_person: bool = False
    is_subworkflow: bool = False
    is_replayable: bool = False
    default_effect: Effect = "pure"

    @property
    def is_performed(self) -> bool:
        """True if an executor does work of its own for the node, which may be retried and limited in time."""
        return not (self.asks_person or self.is_subworkflow)


#: Every kind of work, by the `mode` of a node. `executors/kinds` has the executor of each.
WORK_KINDS: Mapping[Mode, WorkKind] = {
    "ai": WorkKind(calls_model=True, has_prompt=True),
    "agent": WorkKind(has_prompt=True, can_plan=True, default_effect="idempotent"),
    "deterministic": WorkKind(is_replayable=True),
    "approval": WorkKind(asks_person=True, default_effect="idempotent"),
    "dag": WorkKind(is_subworkflow=True, is_replayable=True),
}


@frozen_data
class Port:
    """A named, typed input or output of a node or a workflow. `default` counts only if `has_default`."""

    name: str
    schema: JsonObject
    kind: PortKind = "json"
    required: bool = True
    has_default: bool = False
    default: Json = None
    description: str = ""


@frozen_data
class Binding:
    """The source of an input's value: another node's output, or (with `node` empty) a workflow input.

    If that node only passes the value on, `origin` is the node that computes it: if that is skipped, there is no value.
    """

    node: str = ""
    port: str
    transform: str | None = None
    origin: str = ""


@frozen_data
class Gate:
    """A check before or after a node's work; `type` says which parameters `params` has."""

    name: str
    type: str
    params: JsonObject = field(default_factory=dict[str, Json])
    error: str = ""


@frozen_data
class Retry:
    """The retry policy of a visit: the number of attempts (the first included), and the waits between them.

    After `stall_after` identical failures in a row (same output, same verdict) a person is asked; 0 means never.
    """

    max_attempts: int = 1
    backoff: Backoff = "none"
    delay_ms: int = 0
    max_delay_ms: int = 60_000
    stall_after: int = 3


#: The retry policy of a node that declares none.
ONE_TRY = Retry()


@frozen_data
class Bounce:
    """A rule: if gate `when_gate` fails, go back to `route_to` with the verdicts as feedback, `max_bounces` times at
    most.

    `reset` is every node at or after `route_to`, in workflow order: they are entered again. `told` are the nodes that
    get the feedback if `route_to` does no work of its own (the entry of a sub-workflow); otherwise `route_to` gets it.
    """

    when_gate: str
    route_to: str
    max_bounces: int
    feedback: bool = True
    reset: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


@frozen_data
class Approval:
    """A question to a person: the whole work of an approval node, or a checkpoint before another node's work.

    `timeout_ms` None waits until a person answers; its default is what runs have pinned from when the loader wrote no
    time limit. `prompt` may hold `{{ CEL }}`; `form` is the JSON Schema (an object) of the answer; without `approvers`
    everyone may answer. `on_deny`: end the run, go on (an approval node with `approved: false`; a checkpoint skips its
    node), or bounce by `bounce`.
    """

    prompt: str
    approvers: tuple[str, ...] = ()
    timeout_ms: int | None = 1_800_000
    on_timeout: Literal["deny", "approve"] = "deny"
    form: JsonObject = field(default_factory=dict[str, Json])
    on_deny: Literal["end", "continue", "bounce"] = "end"
    bounce: Bounce | None = None


@frozen_data
class Foreach:
    """The node runs once for each item of the CEL list `items`; its expressions see the item as `name`.

    `on_fail` says what an item that fails for good does: it fails the node (`stop`), or the others go on (`keep`).
    """

    items: str
    name: str = "item"
    concurrency: int = 4
    on_fail: OnFail = "stop"


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
    """A step of a plan: its operation, and the step that follows (None ends the run).

    `args` have been checked; their refs are still in place, and defaults are filled in. `then` and `otherwise` are the
    next steps of a branch. `target` is the step that a retry runs, under the retry's own `Node.retry`. `on_denied` is
    the step that follows a denial by mode or capability, which would otherwise end the run as denied. `ending` is the
    ending of an emit. A step that is entered more than `max_visits` times fails the run with LOOP_LIMIT.
    """

    op: Op
    args: JsonObject
    save_as: str | None = None
    next: str | None = None
    then: str | None = None
    otherwise: str | None = None
    target: str | None = None
    on_denied: str | None = None
    ending: Ending | None = None
    max_visits: int | None = None


@frozen_data
class Plan:
    """The part of a workflow that makes it a plan: it runs one step at a time, from `entry` on, over named variables.

    `variables` are their first values; `outputs` are refs as written (`{"result_ref": "var:patch"}`); `contexts` are
    the `ctx:` and `snap:` names that are read before the run starts.
    """

    entry: str
    mode: PlanMode = "normal"
    variables: JsonObject = field(default_factory=dict[str, Json])
    outputs: JsonObject = field(default_factory=dict[str, Json])
    contexts: tuple[str, ...] = ()


@frozen_data
class Turn:
    """The part of a node that belongs to a live graph: it works in turns, each on the messages in its inbox.

    A turn beyond `max_turns` fails. After `stall_after` turns in a row with equal outputs that no person asked for, a
    person decides whether they are handed on; 0 means never. A message that is one of `reset_commands` begins a new
    conversation. The other fields are shown on the wire.
    """

    role: str = "worker"
    provider: str = "custom"
    capabilities: JsonObject = field(default_factory=dict[str, Json])
    max_turns: int = 100
    stall_after: int = 3
    reset_commands: tuple[str, ...] = ("/new", "/clear")


@frozen_data
class Node:
    """A node of a workflow: everything that the kernel and the executors need to know about it.

    `repairs` is how often, in one visit, outputs that break the contract are asked for again at once, besides the
    attempts that `retry` allows. A node of a plan has a `step` instead of ports, bindings and gates; a node of a live
    graph has a `turn` instead of bindings. `inside` is the entry of the sub-workflow whose inputs the node's
    expressions see as `run.inputs`; without it they see the inputs of the run.
    """

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
    repairs: int = 0
    effect: Effect = "pure"
    repeatable: bool = False
    cache: bool = False
    reserve: Amount = NOTHING
    estimate: Estimate | None = None
    metadata: JsonObject = field(default_factory=dict[str, Json])
    step: Step | None = None
    turn: Turn | None = None
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
    """A checked definition. `hash` is `sha256:` over the canonical JSON of `workflow_codec.encode` without `hash`.

    A `live` workflow has no nodes: they are added, changed and removed while it runs.
    """

    name: str
    hash: str
    nodes: Mapping[str, Node]
    description: str = ""
    inputs: tuple[Port, ...] = ()
    outputs: Mapping[str, Binding] = field(default_factory=dict[str, Binding])
    limits: Limits = field(default_factory=Limits)
    parallel: int = 64
    plan: Plan | None = None
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
        bound = [binding.node for binding in node.bindings.values() if binding.node]
        sources[key] = tuple(dict.fromkeys((*bound, *node.after)))
        for source in sources[key]:
            targets[source].append(key)
    passes_values = any(node.work.is_subworkflow for node in workflow.nodes.values())
    origins_by_node = {key: origins(node) for key, node in workflow.nodes.items()} if passes_values else {}
    return Dependencies(sources=sources, targets=targets, origins=origins_by_node)


def origins(node: Node) -> tuple[str, ...]:
    """Return the nodes whose skipping leaves the node without a value, or without a node that it waits for."""
    bound = [binding.origin or binding.node for binding in node.bindings.values() if binding.node]
    return tuple(dict.fromkeys((*bound, *node.after)))


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
