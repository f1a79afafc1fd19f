"""The gate types: each module of this package is one (`docs/extending/gate.md` says how to add one).

A gate checks a block's inputs before its work (`pre_gates`) or its outputs after it (`post_gates`). A module holds the
constant `GATE`, and everything else reads it:

    the loader       `parameters`, `any_of`, `measures_work`    workflows/blocks/gates.py
    the editor       `parameters`                               workflows/blocks/editor_schema.py
    the executor     `check`                                    executors/gate_evaluation.py
    the reference    `summary`, `parameters`, `doc` …           docs/reference/gates.md (`make reference`)

`check` gets the parameters as the loader checked them and a `GateContext`, and returns a `Finding`. A finding with
`passed=None` means no verdict: the check could not be made (an outage), which counts neither for nor against the work.

The package is below both `workflows`, which reads the definitions, and `executors`, which call them: the two may not
import each other. So a gate gets what it needs of an attempt (a model to ask) in its context.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from openskelo import errors
from openskelo.extensions import Catalog
from openskelo.handlers import file_access
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.providers import protocol
from openskelo.structs import field, frozen
from openskelo.values import path_scope

#: How the loader reads a parameter; `path` is a path or the port of one, `json` is what the schema accepts.
ParameterKind: TypeAlias = Literal[
    "port",
    "expression",
    "pattern",
    "schema",
    "argv",
    "url",
    "text",
    "texts",
    "flag",
    "integer",
    "number",
    "choice",
    "path",
    "json",
]
_LONGEST_MS = 86_400_000


@frozen
class Parameter:
    """One key of a gate: how the loader reads it, its JSON Schema for editors, and its line of the reference."""

    kind: ParameterKind
    schema: JsonObject
    doc: str
    required: bool = False
    #: The value that the gate takes where the key is absent.
    default: Json = None
    #: The least value of an integer or a number.
    low: float = 0
    #: The greatest value of an integer or a number.
    high: float = 0
    #: The values of a choice.
    options: tuple[str, ...] = ()


@frozen
class GateContext:
    """The values that a gate may read."""

    gate: str
    node: str
    project: Project
    inputs: JsonObject
    #: None before the work.
    outputs: JsonObject | None
    #: The values that expressions see.
    variables: Mapping[str, Json]
    #: The cost of the work.
    cost_nanousd: int
    #: The time that the work took.
    wall_ms: int
    #: Sends a request to a model within the run's budget, and keeps the prompt as an artifact (AttemptFailed,
    #: OverBudget).
    ask_model: Callable[[protocol.Request], Awaitable[protocol.Answer]]
    #: The folder where commands run: the workspace of an agent, else the project's root.
    folder: Path

    def port(self, name: str) -> Json:
        """Return the value of the output of that name, else of the input; None when neither is set."""
        if self.outputs is not None and name in self.outputs:
            return self.outputs[name]
        return self.inputs.get(name)


@frozen
class Finding:
    """The result of a gate."""

    #: None if the gate could not be asked.
    passed: bool | None
    #: Why it did not pass.
    reason: str = ""
    #: The data it judged.
    evidence: Mapping[str, Json] = field(default_factory=dict[str, Json])
    #: Set where something outside was asked.
    took_ms: int | None = None
    #: Why the gate could not be asked.
    outage: errors.AttemptFailed | None = None


#: Evaluates a gate. An `errors.OpenSkeloError` counts as not passed, with its message as the reason.
Check: TypeAlias = Callable[[JsonObject, GateContext], Awaitable[Finding]]


@frozen
class Gate:
    """A gate type."""

    name: str
    summary: str
    parameters: Mapping[str, Parameter]
    check: Check
    #: At least one of these parameters must be there.
    any_of: tuple[str, ...] = ()
    #: It judges how the work was done, so it belongs to `post_gates`, and has to run right after it.
    measures_work: bool = False
    #: Markdown for the reference, after the table of parameters.
    doc: str = ""
    #: Why it may give no verdict, and the code of that; a row each in the reference.
    no_verdict: tuple[tuple[str, str], ...] = ()
    #: It calls `ask_model`, so a model is pinned and reserved for it. Its parameter "expert" names one.
    asks_model: bool = False
    #: It reads more than the ports that its parameters name.
    reads_all_values: bool = False
    #: It starts a program in `ctx.folder`, which may be the workspace of an agent: clients see that the node runs
    #: commands, and without a verdict the agent works again, because no workspace is opened for gates alone.
    runs_program: bool = False
    #: It reads files in `ctx.folder`, so it is asked while that is open.
    reads_folder: bool = False


GATES: Mapping[str, Gate] = Catalog(__name__, "GATE", Gate)


def asks_model(gate_type: object) -> bool:
    """True if a gate of this type calls a model."""
    return isinstance(gate_type, str) and gate_type in GATES and GATES[gate_type].asks_model


def reads_all_values(gate_type: str) -> bool:
    """True if a gate of this type reads more than the ports that its parameters name."""
    return gate_type in GATES and GATES[gate_type].reads_all_values


def runs_program(gate_type: str) -> bool:
    """True if a gate of this type starts a program."""
    return gate_type in GATES and GATES[gate_type].runs_program


def needs_folder(gate_type: str) -> bool:
    """True if a gate of this type starts a program in the folder of the work, or reads files there."""
    return gate_type in GATES and (GATES[gate_type].runs_program or GATES[gate_type].reads_folder)


def passed(evidence: Mapping[str, Json] | None = None) -> Finding:
    """Return the finding of a gate that passed."""
    return Finding(passed=True, evidence=evidence or {})


def failed(reason: str, evidence: Mapping[str, Json] | None = None) -> Finding:
    """Return the finding of a gate that did not pass."""
    return Finding(passed=False, reason=reason, evidence=evidence or {})


def not_asked(what: str, outage: errors.AttemptFailed, took_ms: int) -> Finding:
    """Return a finding without a verdict: `outage` prevented the gate from asking `what`."""
    reason = f"{what} could not be asked: {outage.message}"
    return Finding(passed=None, reason=reason, evidence={"code": outage.code}, took_ms=took_ms, outage=outage)


def milliseconds_since(started: float) -> int:
    """Return the milliseconds since `started`, a reading of `time.perf_counter`."""
    return int((time.perf_counter() - started) * 1000)


def text(parameters: JsonObject, key: str, default: str = "") -> str:
    """Return a text parameter."""
    value = parameters.get(key, default)
    return value if isinstance(value, str) else default


def path_in_folder(parameters: JsonObject, key: str, ctx: GateContext) -> Path:
    """Return the path that a parameter names: it, or the value of the port of that name, from the folder of the work.

    Raise AttemptFailed DET_PATH_INVALID if it leads out of the folder, or into the project's own data.
    """
    name = parameters.get(key)
    if isinstance(name, Mapping):
        name = ctx.port(text(name, "port"))
    fault = path_scope.find_fault(name) if isinstance(name, str) else "it is no text"
    if fault is not None:
        raise file_access.invalid_path(f"`{key}` is no path: {fault}")
    root = Path(os.path.realpath(ctx.folder))
    path = Path(os.path.realpath(root / str(name)))
    data_dir = ctx.project.data_dir
    if not path.is_relative_to(root) or (path.is_relative_to(data_dir) and not root.is_relative_to(data_dir)):
        raise file_access.invalid_path(f"`{key}` leads out of the folder of the work, or into the project's own data")
    return path


def number(parameters: JsonObject, key: str, default: float) -> float:
    """Return a number parameter."""
    value = parameters.get(key, default)
    return value if isinstance(value, int | float) else default


def within(count: int, parameters: JsonObject, description: str, key: str) -> Finding:
    """Return whether `count` lies within `min` and `max`; `description` says what was counted."""
    low, high = number(parameters, "min", 0), parameters.get("max")
    evidence: dict[str, Json] = {key: count}
    if count < low:
        return failed(f"{description}, fewer than {low}", evidence)
    if isinstance(high, int | float) and count > high:
        return failed(f"{description}, more than {high}", evidence)
    return passed(evidence)


# The parameters that gates are made of.

_TEXT: JsonObject = {"type": "string", "minLength": 1}


def port_parameter(doc: str, *, required: bool = True) -> Parameter:
    """Return a parameter that names a port of the block."""
    return Parameter(kind="port", schema=_TEXT, doc=doc, required=required)


def text_parameter(doc: str, *, required: bool = False) -> Parameter:
    """Return a parameter that is a text."""
    return Parameter(kind="text", schema=_TEXT, doc=doc, required=required)


def texts_parameter(doc: str, *, required: bool = False) -> Parameter:
    """Return a parameter that is a list of texts, at least one."""
    schema: JsonObject = {"type": "array", "minItems": 1, "items": _TEXT}
    return Parameter(kind="texts", schema=schema, doc=doc, required=required)


def path_parameter(doc: str, *, required: bool = False) -> Parameter:
    """Return a parameter that is a path, or `{port: NAME}` for the port that holds one."""
    by_port: JsonObject = {
        "type": "object",
        "properties": {"port": _TEXT},
        "required": ["port"],
        "additionalProperties": False,
    }
    schema: JsonObject = {"anyOf": [_TEXT, by_port]}
    return Parameter(kind="path", schema=schema, doc=f"{doc}: a path, or `{{port: NAME}}`", required=required)


def flag_parameter(doc: str, *, default: bool) -> Parameter:
    """Return a parameter that is true or false."""
    return Parameter(kind="flag", schema={"type": "boolean"}, doc=doc, default=default)


def integer_parameter(
    doc: str, low: int, high: int, *, required: bool = False, default: int | None = None
) -> Parameter:
    """Return a parameter that is a whole number."""
    schema: JsonObject = {"type": "integer", "minimum": low, "maximum": high}
    return Parameter(kind="integer", schema=schema, doc=doc, required=required, default=default, low=low, high=high)


def number_parameter(
    doc: str, low: float, high: float, *, required: bool = False, default: float | None = None
) -> Parameter:
    """Return a parameter that is a number."""
    schema: JsonObject = {"type": "number", "minimum": low, "maximum": high}
    return Parameter(kind="number", schema=schema, doc=doc, required=required, default=default, low=low, high=high)


def choice_parameter(doc: str, *options: str, default: str) -> Parameter:
    """Return a parameter that is one of a few words."""
    return Parameter(kind="choice", schema={"enum": list[Json](options)}, doc=doc, default=default, options=options)


def timeout_parameter(doc: str, *, default: int) -> Parameter:
    """Return the parameter `timeout_ms`."""
    return integer_parameter(doc, 1, _LONGEST_MS, default=default)
