"""What a workflow is, once its text has been checked: frozen values that a run pins by hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from openskelo.frozen import as_dict, field, plain, replace
from openskelo.kernel import fresh
from openskelo.kernel.events import Ending
from openskelo.kernel.json import Json, JsonObject

Mode = Literal["ai", "deterministic", "approval", "dag"]
Effect = Literal["pure", "idempotent", "once"]
PortKind = Literal["json", "file", "artifact"]
Backoff = Literal["none", "linear", "exponential"]
Composition = Literal["all", "any"]
Op = Literal["route_expert", "tool_call", "verify", "transform", "branch", "retry", "ask_human", "emit"]
PlanMode = Literal["normal", "degraded", "offline"]


@plain
class Port:
    """A named, typed opening of a node or a workflow. `default` counts only when `has_default`."""

    name: str
    schema: JsonObject
    kind: PortKind = "json"
    required: bool = True
    has_default: bool = False
    default: Json = None
    description: str = ""


@plain
class Binding:
    """Where an input port's value comes from: another node's output, or (with `node` empty) a workflow input.

    Where that node only hands the value through, `origin` is the one that it comes from: when that is skipped, there
    is no value.
    """

    node: str = ""
    port: str
    transform: str | None = None
    origin: str = ""


@plain
class Gate:
    """A check before or after a node's work; `params` are those of its `type`."""

    name: str
    type: str
    params: JsonObject = field(default_factory=fresh.a_dict)
    error: str = ""


@plain
class Retry:
    """How often a visit is tried (`max_attempts` counts every try) and how long it waits in between.

    `stall_after` identical failures in a row (same output, same verdict) stop the loop and ask a person; 0 never does.
    """

    max_attempts: int = 1
    backoff: Backoff = "none"
    delay_ms: int = 0
    max_delay_ms: int = 60_000
    stall_after: int = 3


#: How a node is tried that says nothing about it.
ONE_TRY = Retry()


@plain
class Bounce:
    """When gate `when_gate` fails, go back to `route_to` with the verdicts as feedback, at most `max_bounces` times.

    `reset` is every node at or after `route_to`, in workflow order: what is entered anew. `told` are the nodes that get
    the feedback where `route_to` does no work of its own, as the entry of a sub-workflow; else it is `route_to`.
    """

    when_gate: str
    route_to: str
    max_bounces: int
    feedback: bool = True
    reset: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


@plain
class Approval:
    """A question to a person: the whole work of an approval node, or a checkpoint before another node's work.

    `prompt` may hold `{{ CEL }}`; `form` is the JSON Schema (an object) of the answer; no `approvers` means anybody.
    `on_deny`: end the run, go on (an approval node with `approved: false`; a checkpoint skips its node), or bounce by
    `bounce`.
    """

    prompt: str
    approvers: tuple[str, ...] = ()
    timeout_ms: int | None = 1_800_000
    on_timeout: Literal["deny", "approve"] = "deny"
    form: JsonObject = field(default_factory=fresh.a_dict)
    on_deny: Literal["end", "continue", "bounce"] = "end"
    bounce: Bounce | None = None


@plain
class Foreach:
    """The node runs once for each element of the CEL list `items`, which it sees as `name`."""

    items: str
    name: str = "item"
    concurrency: int = 4


@plain
class Amount:
    """Quantities that budgets count. Money is in integer nano-dollars, so that sums are exact."""

    steps: int = 0
    tokens: int = 0
    cost_nanousd: int = 0
    tool_nanousd: int = 0


#: What a node reserves that costs nothing but its step.
NOTHING = Amount()


@plain
class Limits:
    """The run's budget; None is no limit, 0 allows none."""

    max_steps: int | None = None
    max_tokens: int | None = None
    max_wall_ms: int | None = None
    max_cost_nanousd: int | None = None
    max_tool_nanousd: int | None = None


@plain
class Estimate:
    """What the author expects one visit to take."""

    tokens: int = 0
    cost_usd: float = 0.0
    duration_sec: float = 0.0


@plain
class Step:
    """A node of a plan: what it does, and where the run goes from there (None: nowhere, the run is over).

    `args` are as checked, with their refs still in place and defaults filled in. `then` and `otherwise` are those of a
    branch. `target` is the step that a retry tries, as often and with such waits as the retry's own `Node.retry` says.
    `on_denied` is where a denial by mode or capability leads instead of ending the run as denied. `ending` is how the
    run ends with an emit. A step that is entered more than `max_visits` times ends the run as failed, LOOP_LIMIT.
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


@plain
class Plan:
    """What makes a workflow a plan: one step at a time from `entry` on, over named values.

    `variables` are their first values; `outputs` are refs as written (`{"result_ref": "var:patch"}`); `contexts` are
    the `ctx:` and `snap:` names that the run needs before it may start.
    """

    entry: str
    mode: PlanMode = "normal"
    variables: JsonObject = field(default_factory=fresh.a_dict)
    outputs: JsonObject = field(default_factory=fresh.a_dict)
    contexts: tuple[str, ...] = ()


@plain
class Turn:
    """What a node of a live graph has: it works in turns, each on what has come into its inbox.

    A turn beyond `max_turns` fails. `stall_after` turns in a row that come to the same, and that no person asked for,
    are held until a person has been asked; 0 never holds. The rest is what the contract says about nodes.
    """

    role: str = "worker"
    provider: str = "custom"
    capabilities: JsonObject = field(default_factory=fresh.a_dict)
    max_turns: int = 100
    stall_after: int = 3


@plain
class Node:
    """A place in a run. Everything the kernel and the executors need to know about one block.

    `repairs` is how often, in one visit, an answer that breaks the contract is asked for again at once, beside the
    attempts that `retry` allows. `step` is what a node of a plan has instead of ports, bindings and gates; `turn` what
    a node of a live graph has instead of bindings. `inside` is the entry of the sub-workflow whose inputs are
    `run.inputs` for the node's expressions, where these read any; without it they are those of the run.
    """

    key: str
    mode: Mode
    label: str = ""
    description: str = ""
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    bindings: Mapping[str, Binding] = field(default_factory=fresh.a_dict)
    after: tuple[str, ...] = ()
    when: str | None = None
    foreach: Foreach | None = None
    handler: str | None = None
    config: JsonObject = field(default_factory=fresh.a_dict)
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
    metadata: JsonObject = field(default_factory=fresh.a_dict)
    step: Step | None = None
    turn: Turn | None = None
    inside: str = ""


def is_once(node: Node) -> bool:
    """Whether the node's effect must not be repeated unasked."""
    return node.effect == "once" and not node.repeatable


@plain
class Workflow:
    """A checked definition. `hash` is `sha256:` over the canonical JSON of `codec.encode(workflow)` without `hash`.

    `document` is that JSON where `codec.sealed` has made it; a changed copy (`frozen.replace`) does not have it.
    A `live` one has no nodes: they are added, changed and removed while it runs.
    """

    name: str
    hash: str
    nodes: Mapping[str, Node]
    description: str = ""
    inputs: tuple[Port, ...] = ()
    outputs: Mapping[str, Binding] = field(default_factory=fresh.a_dict)
    limits: Limits = field(default_factory=Limits)
    parallel: int = 64
    plan: Plan | None = None
    live: bool = False
    document: JsonObject | None = None

    __derived__ = ("document",)
    __hash__ = None  # pyright: ignore[reportAssignmentType] -- it holds mappings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workflow) and as_dict(replace(self)) == as_dict(replace(other))
