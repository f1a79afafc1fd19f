"""The ops of plans: each module of this package is one (`docs/extending/op.md` says how to add one).

A step of a plan has an op and arguments. A module holds the constant `OP`, and everything else reads it:

    the loader       `args`, `one_of`, `check`, `result_schema` …   workflows/plan/
    the editor       `args`, `summary`                              workflows/plan/drafting_guide.py
    the executor     `perform`                                      executors/ops/plan_step.py
    the reference    `args`, `summary`, `doc`                       docs/reference/plan.md (`make reference`)

`perform` gets a `StepContext`, in whose arguments a value stands in the place of every ref, and returns the value of
the step. The kernel knows by name only the ops that decide where a run goes: `branch`, `retry`, `ask_human`, `emit`.

Three ops call functions by name, and each function is one file, too:

    ops/tools/         what `tool_call` calls
    ops/checkers/      what `verify` calls
    ops/transforms/    what `transform` calls
    ops/functions/     how the project's own functions and these are found, and how their arguments are checked

The package is below both `workflows`, which reads the definitions, and `executors`, which perform them: the two may not
import each other. So what an op needs of an attempt (a model, a project function) comes to it in its context.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol, TypeAlias

from openskelo.extensions import Catalog, Position
from openskelo.handlers import context
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.structs import field, frozen
from openskelo.values import plan_refs

#: How an argument is read. A `name` or a `plain` value is as written; a `ref` and `refs` point at values; a `value` may
#: hold refs at any depth; `free` text and schemas are not searched for refs; a `step` names where the run goes.
ArgKind: TypeAlias = Literal["name", "plain", "ref", "refs", "value", "free", "step"]

#: The text of a ref; `values.plan_refs` parses it.
REF_PATTERN = r"^(var|input|ctx|snap):[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+|\[[0-9]{1,9}\])*$"


@frozen
class Arg:
    """One argument: how it is read, the JSON Schema of what is written, and its value when nothing is written."""

    kind: ArgKind
    summary: str
    schema: JsonObject = field(default_factory=dict[str, Json])
    required: bool = False
    default: Json = None


@frozen
class ExpertRequest:
    """A request to an expert."""

    expert: str
    task: str
    #: With it the expert answers with one JSON object, otherwise with text.
    schema: JsonObject | None
    #: They go to the provider (`temperature`, `stop` …).
    parameters: JsonObject
    #: None for the expert's own limit.
    max_tokens: int | None


class StepContext(Protocol):
    """The services of an op that performs a step. The executor implements it (`executors/ops/step_context.py`)."""

    @property
    def step(self) -> definition.Step:
        """The step as the loader built it: its arguments still have their refs."""
        ...

    @property
    def args(self) -> JsonObject:
        """The arguments of the step, with a value in the place of every ref."""
        ...

    @property
    def project(self) -> Project: ...

    @property
    def mode(self) -> definition.PlanMode:
        """The mode of the plan, which bounds what its steps may reach."""
        ...

    @property
    def log(self) -> list[str]:
        """The lines that become the log of the attempt."""
        ...

    def set_holds(self, holds: bool, /) -> None:
        """Record the result of the step's condition, which the kernel acts on."""
        ...

    def add_tool_cost(self, nanousd: int, /) -> None:
        """Count the cost of a tool against the run's budget."""
        ...

    def handler_context(self, inputs: JsonObject, config: JsonObject, /) -> context.Context:
        """Return the context of a function that is called for this step."""
        ...

    def stand_in(self) -> Callable[[context.Context], Awaitable[object]] | None:
        """Return the function that the program registered in the place of this step's tool or checker (`step:ID`)."""
        ...

    async def call_project_function(self, target: str, ctx: context.Context, timeout_ms: int, /) -> object:
        """Return what a Python function of the project returns (AttemptFailed)."""
        ...

    async def call_mcp_tool(self, server: str, tool: str, args: JsonObject, timeout_ms: int, /) -> object:
        """Return what a tool of an MCP server returns (AttemptFailed)."""
        ...

    def check_expert(self, name: str, /) -> None:
        """Raise AttemptFailed PROVIDER_MISSING if no model can be asked; Denied MODE_DENIED if the mode forbids it."""
        ...

    async def ask_expert(self, request: ExpertRequest, /) -> Json:
        """Return the answer, not yet checked against the schema, and keep the prompt as an artifact.

        Raise AttemptFailed or OverBudget.
        """
        ...


#: Performs a step: returns its value, or raises AttemptFailed (Denied if it is not allowed).
Perform: TypeAlias = Callable[[StepContext], Awaitable[Json]]

#: Reports what is wrong with arguments that have the right form: the arguments with their defaults, and where they are.
CheckArgs: TypeAlias = Callable[[JsonObject, Position], None]


@frozen
class ExplainContext:
    """A step that is shown to people before it runs."""

    step: definition.Step
    node: definition.Node
    #: Returns a value as JSON on one line, cut to a few words.
    compact: Callable[[Json], str]

    def arg(self, name: str) -> Json:
        """Return an argument as it is written; None if it is absent."""
        return self.step.args.get(name)


#: Returns what a step does, in a few words.
Words: TypeAlias = Callable[[ExplainContext], str]


@frozen
class Op:
    """An op."""

    name: str
    summary: str
    #: Its arguments.
    args: Mapping[str, Arg]
    #: None if the driver waits for a person instead.
    perform: Perform | None
    #: The paths in its arguments at which a text or a schema stands: no ref is looked for there.
    free_paths: frozenset[plan_refs.Path] = frozenset()
    #: Groups of arguments: of each exactly one is given.
    one_of: tuple[tuple[str, ...], ...] = ()
    #: The arguments of the function that the step names stand beside those of the op.
    open: bool = False
    #: Checks what the loader cannot see in the form of each argument.
    check: CheckArgs | None = None
    #: The effect of a step on the world; the loader narrows it for tools and checkers.
    effect: definition.Effect = "pure"
    #: The mode of the step's node: `ai` if it calls a model.
    node_mode: definition.Mode = "deterministic"
    #: It decides where the run goes, so it has no time limit and a retry cannot try it.
    controls_flow: bool = False
    #: False if a step has no value to save, and no step that follows it by default.
    saves_value: bool = True
    #: What `skelo explain` says of a step, and the mark before it; without `words` it shows the arguments as JSON.
    words: Words | None = None
    mark: str = "●"
    #: Markdown for the reference, after the table of arguments.
    doc: str = ""
    #: The JSON Schema of the value, as far as it is the same for every step.
    result_schema: JsonObject = field(default_factory=dict[str, Json])


OPS: Mapping[str, Op] = Catalog(__name__, "OP", Op)


def free_paths(op: str) -> frozenset[plan_refs.Path]:
    """Return the paths in the arguments of an op at which no ref is looked for; none if there is no such op."""
    return OPS[op].free_paths if op in OPS else frozenset()


# The arguments that ops are made of.

TEXT: JsonObject = {"type": "string", "minLength": 1}
REF: JsonObject = {"type": "string", "pattern": REF_PATTERN}
_STEP: JsonObject = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$"}


def name_arg(summary: str, *, required: bool = True) -> Arg:
    """Return an argument that names something of the project."""
    return Arg(kind="name", summary=summary, schema=TEXT, required=required)


def step_arg(summary: str, *, required: bool = False) -> Arg:
    """Return an argument that names a step of the plan."""
    return Arg(kind="step", summary=summary, schema=_STEP, required=required)


def ref_arg(summary: str) -> Arg:
    """Return an argument that is a ref."""
    return Arg(kind="ref", summary=summary, schema=REF)


def refs_arg(summary: str) -> Arg:
    """Return an argument that is a list of refs."""
    return Arg(kind="refs", summary=summary, schema={"type": "array", "items": REF, "maxItems": 1000})


def value_arg(summary: str, schema: JsonObject, *, required: bool = False, default: Json = None) -> Arg:
    """Return an argument that may hold refs at any depth."""
    return Arg(kind="value", summary=summary, schema=schema, required=required, default=default)


def plain_arg(summary: str, schema: JsonObject, default: Json = None) -> Arg:
    """Return an argument that is used as it is written."""
    return Arg(kind="plain", summary=summary, schema=schema, default=default)


def free_arg(summary: str, schema: JsonObject) -> Arg:
    """Return an argument that is free text or a schema: a ref in it is text."""
    return Arg(kind="free", summary=summary, schema=schema)


def on_denied_arg() -> Arg:
    """Return the argument `on_denied` of an op that the plan's mode may deny."""
    return step_arg("where the run goes when the mode or a limit denies it; without one the run ends as denied")
