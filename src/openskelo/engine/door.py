"""The door for people: what they send is checked here, completely, before it becomes a command."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import cast

from openskelo import errors
from openskelo.engine import resolve, wiring, words
from openskelo.executors import artifacts, keeping
from openskelo.executors import ports as contracts
from openskelo.frozen import frozen, replace
from openskelo.handlers import place
from openskelo.kernel import answers, commands, definition
from openskelo.kernel.flows import plan
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import OpenApproval, Run, has_begun
from openskelo.values import canonical, schema


@frozen
class Answer:
    """What a person says to an open approval."""

    status: commands.Answer
    by: str
    values: JsonObject | None = None
    reason: str | None = None


class Inputs:
    """The inputs that runs of a workflow take, with what is the same for all of these runs found out once."""

    def __init__(self, workflow: definition.Workflow) -> None:
        self._workflow = workflow
        self._names = frozenset(port.name for port in workflow.inputs)
        self._required = frozenset(port.name for port in workflow.inputs if port.required)
        self._defaults = {port.name: port.default for port in workflow.inputs if port.has_default}
        self._schemas: dict[str, schema.Schema] = {}
        #: Those that refer to a file or an artifact.
        self.referring = tuple(port for port in workflow.inputs if port.kind != "json")

    def complete(
        self, given: JsonObject, where: place.Place, *, settled: Collection[str] = (), option: str = "--input"
    ) -> dict[str, Json]:
        """A run's inputs, complete and valid, or InvalidInput that lists everything wrong with them.

        Files have to be there, inside what the project at `where` may read; only those of `settled` inputs, which
        nothing will read again, may be gone. `option` is the one that gives an input on the command line.
        """
        values = self._known(given)
        for name, default in self._defaults.items():
            if name not in values:  # whoever is shown a run's inputs may change what is shown: not what others get
                values[name] = copy.deepcopy(default)
        if not self._required <= values.keys():
            raise self._missing(values, option)
        self._demand_valid(values)
        if self.referring:
            read = {name: value for name, value in values.items() if name not in settled}
            check_references(self.referring, read, where)
        return values

    def check(self, given: JsonObject, where: place.Place) -> None:
        """InvalidInput when something is wrong with inputs to which others are still to come."""
        values = self._known(given)
        self._demand_valid(values)
        check_references(self.referring, values, where)

    def _known(self, given: JsonObject) -> dict[str, Json]:
        """The values that are given, none of them for an input that there is not."""
        if not given.keys() <= self._names:
            unknown = sorted(given.keys() - self._names)
            raise errors.InvalidInput(
                f"the workflow has no input {', '.join(unknown)}",
                code="INPUT_UNKNOWN",
                hint=_known_inputs(self._workflow, unknown[0]),
            )
        return {name: canonical.admit(value) for name, value in given.items()}

    def _missing(self, values: JsonObject, option: str) -> errors.InvalidInput:
        missing = [port.name for port in self._workflow.inputs if port.required and port.name not in values]
        return errors.InvalidInput(
            f"missing input {', '.join(missing)}",
            code="INPUT_MISSING",
            hint=" ".join(f"{option} {name}=…" for name in missing),
        )

    def _demand_valid(self, values: JsonObject) -> None:
        for name, value in values.items():
            if (self._schemas.get(name) or self._compile(name)).check(value):
                _demand(_violations(self._workflow.inputs, values), "INPUT_INVALID")

    def _compile(self, name: str) -> schema.Schema:
        (wanted,) = [port.schema for port in self._workflow.inputs if port.name == name]
        compiled = self._schemas[name] = schema.compile(wanted)
        return compiled


def check_references(ports: Iterable[definition.Port], values: JsonObject, where: place.Place) -> None:
    """InvalidInput when a value refers to a file or an artifact and there can be none; the schemas are kept already."""
    referring = [port for port in ports if port.kind != "json" and port.name in values]
    if referring:
        contract = contracts.Ports(referring, "input", place.readable_roots(where))
        _demand(contract.problems({port.name: values[port.name] for port in referring}, where), "INPUT_INVALID")


async def check_artifacts(ports: Iterable[definition.Port], values: JsonObject, store: artifacts.Runs) -> None:
    """InvalidInput when a value refers to an artifact that no run in the store has kept."""
    referring = [port for port in ports if port.kind == "artifact"]
    if referring:
        contract = contracts.Ports(referring, "input", None)
        _demand(await contract.unkept(values, artifacts.Known(store)), "INPUT_INVALID")


async def _check_answered(blobs: keeping.Blobs, run: Run, ports: Iterable[definition.Port], values: JsonObject) -> None:
    """InvalidInput when what a person gives for a node breaks its ports, or names artifacts that no run has kept."""
    listed = tuple(ports)
    _demand(_violations(listed, values), "APPROVAL_INVALID")
    referring = [port for port in listed if port.kind == "artifact"]
    if referring and isinstance(blobs, artifacts.Runs):
        contract = contracts.Ports(referring, "value", None)
        _demand(await contract.unkept(values, artifacts.Known(blobs), run.id), "APPROVAL_INVALID")


def check_in_time(approval: JsonObject, at: int) -> None:
    """Refused APPROVAL_EXPIRED when the time of an approval, as listings show it, is up: its run is left as it is."""
    expires = approval.get("expiresAt")
    if isinstance(expires, str) and at >= datetime.fromisoformat(expires).timestamp() * 1000:
        raise errors.Refused(
            "the approval has expired",
            code="APPROVAL_EXPIRED",
            hint=f"`skelo resume {approval.get('runId')}` lets its run go on without an answer",
        )


def said(status: object, by: str, values: object = None, reason: str | None = None) -> Answer:
    """What a person says, from words and values that may be anything (InvalidInput APPROVAL_INVALID, NAME_RESERVED)."""
    if by == answers.TIMER:
        raise errors.InvalidInput(
            f"`{by}` is the name of the clock, which answers when the time is up",
            code="NAME_RESERVED",
            hint="answer under another name",
        )
    if values is not None and not isinstance(values, Mapping):
        raise errors.InvalidInput(
            "the values of an answer have names", code="APPROVAL_INVALID", hint='such as {"text": "Hello"}'
        )
    return Answer(status=words.answer(status), by=by, values=cast("JsonObject | None", values), reason=reason)


async def answer(
    blobs: keeping.Blobs, run: Run, asked: OpenApproval, given: Answer, at: int
) -> commands.AnswerApproval:
    """The command for an answer: form checked, outputs computed, digest carried along (InvalidInput)."""
    values = {} if given.values is None else cast("dict[str, Json]", canonical.admit(given.values))
    node = run.workflow.nodes[asked.node]
    match asked.kind:
        case "ask_human":
            return await _answer_step(blobs, run, asked, given, values, at)
        case "approval" if node.mode == "approval":
            return await _answer_block(blobs, run, asked, given, values, at)
        case "approval":
            return await _answer_checkpoint(blobs, run, asked, given, values, at)
        case "uncertain":
            return await _answer_uncertain(blobs, run, asked, given, values, at)
        case _:
            return _plain(asked, given, at)


def _plain(asked: OpenApproval, given: Answer, at: int) -> commands.AnswerApproval:
    return commands.AnswerApproval(
        at=at, approval_id=asked.id, status=given.status, by=given.by, digest=asked.digest, reason=given.reason
    )


async def _modified(
    blobs: keeping.Blobs, run: Run, asked: OpenApproval, plain: commands.AnswerApproval, values: JsonObject
) -> commands.AnswerApproval:
    """The answer as one that changes what was asked: with its values and a digest of its own."""
    kept = await keeping.store(blobs, values)
    return replace(
        plain,
        status="modified",
        args=cast("JsonObject", kept.get("value", {})),
        stored=None if "value" in kept else kept,
        new_digest=resolve.digest(run, asked.node, values, asked.expires_at),
    )


async def _answer_block(
    blobs: keeping.Blobs, run: Run, asked: OpenApproval, given: Answer, values: JsonObject, at: int
) -> commands.AnswerApproval:
    """An approval node's outputs are its answer: the form's values, what it passes on, and the decision itself."""
    node = run.workflow.nodes[asked.node]
    inputs = await wiring.inputs(blobs, run, node)
    form = cast("JsonObject", asked.document.get("form") or {})
    proposed = propose(form, inputs)
    filled = {**proposed, **values}
    status = given.status
    if status != "denied":
        _check_form(form, values, filled)
        status = "modified" if filled != proposed else "approved"
    decision: JsonObject = {
        "approved": status != "denied",
        "decision": status,
        "reason": given.reason or "",
        "by": given.by,
    }
    offered = {**inputs, **filled, **decision}
    outputs = {port.name: offered[port.name] for port in node.outputs if port.name in offered}
    if status != "denied":
        await _check_answered(blobs, run, node.outputs, outputs)
    plain = replace(_plain(asked, given, at), status=status)
    return replace(
        await _modified(blobs, run, asked, plain, filled) if status == "modified" else plain,
        outputs=await keeping.store(blobs, outputs),
        inputs_hash=canonical.digest(inputs),
        output_hash=canonical.digest(outputs),
    )


async def _answer_step(
    blobs: keeping.Blobs, run: Run, asked: OpenApproval, given: Answer, values: JsonObject, at: int
) -> commands.AnswerApproval:
    """The value of an `ask_human` is its answer: what the form proposes and the person says, or that it was denied."""
    step = cast("definition.Step", run.workflow.nodes[asked.node].step)
    form = cast("JsonObject", asked.document.get("form") or {})
    proposed = propose(form, {})
    filled: dict[str, Json] = {**proposed, **values}
    plain = _plain(asked, given, at)
    if given.status == "denied":
        filled = {"denied": True, "reason": given.reason or "", "by": given.by}
    else:
        if form:
            _check_form(form, values, filled)
        plain = replace(plain, status="approved" if filled == proposed else "modified")
    outputs = plan.outputs(step, filled)
    return replace(
        await _modified(blobs, run, asked, plain, filled) if plain.status == "modified" else plain,
        outputs=await keeping.store(blobs, outputs),
        inputs_hash=canonical.digest(await wiring.inputs(blobs, run, run.workflow.nodes[asked.node])),
        output_hash=canonical.digest(outputs),
    )


def propose(form: JsonObject, inputs: JsonObject) -> dict[str, Json]:
    """The answer as it stands before a person touches it: inputs of the same name, then the form's defaults."""
    proposed: dict[str, Json] = {}
    for name, field in cast("JsonObject", form.get("properties") or {}).items():
        if name in inputs:
            proposed[name] = inputs[name]
        elif isinstance(field, dict) and "default" in field:
            proposed[name] = field["default"]
    return proposed


def _check_form(form: JsonObject, values: JsonObject, filled: JsonObject) -> None:
    fields = cast("JsonObject", form.get("properties") or {})
    unknown = sorted(set(values) - set(fields))
    if unknown:
        raise errors.InvalidInput(
            f"the form has no field {', '.join(unknown)}",
            code="APPROVAL_INVALID",
            hint=f"it has {', '.join(fields)}" if fields else "approve or deny without values",
        )
    if form:
        found = schema.compile(form).check(filled)
        _demand((f"{violation.path or '/'}: {violation.message}" for violation in found), "APPROVAL_INVALID")


async def _answer_checkpoint(
    blobs: keeping.Blobs, run: Run, asked: OpenApproval, given: Answer, values: JsonObject, at: int
) -> commands.AnswerApproval:
    """Before a node's work a person may edit its inputs; the edit keeps the node's own contract."""
    node = run.workflow.nodes[asked.node]
    inputs = await wiring.inputs(blobs, run, node)
    plain = replace(_plain(asked, given, at), inputs_hash=canonical.digest(inputs))
    edited = {**inputs, **values}
    if given.status == "denied":
        return plain
    if edited == inputs:
        return replace(plain, status="approved")
    known = {port.name for port in node.inputs} if node.step is None else set(inputs)
    unknown = sorted(set(values) - known)
    _demand((f"{node.key} has no input {name}" for name in unknown), "APPROVAL_INVALID")
    await _check_answered(blobs, run, node.inputs, edited)
    changed = await _modified(blobs, run, asked, plain, edited)
    return changed if node.when is None and node.foreach is None else await _anew(blobs, run, node, changed, edited)


async def _anew(
    blobs: keeping.Blobs, run: Run, node: definition.Node, changed: commands.AnswerApproval, edited: JsonObject
) -> commands.AnswerApproval:
    """The answer with what the node's `when` and `foreach` come to on its changed inputs: the work is done on those.

    Once part of the work was tried, they have to come to what they came to before.
    """
    state = run.nodes[node.key]
    try:
        found = await resolve.expressions(blobs, run, node, edited)
    except errors.AttemptFailed as error:
        message = f"{node.key} cannot work on these values: {error.code} {error.message}"
        raise errors.InvalidInput(message, code="APPROVAL_INVALID") from error
    if has_begun(state):
        if found.skip or found.items != await keeping.load(blobs, state.items):
            message = f"{node.key} has begun: whether it works, and on which items, cannot be changed any more"
            raise errors.InvalidInput(message, code="APPROVAL_INVALID")
        return changed
    if found.items is None:
        return replace(changed, skip=found.skip)
    return replace(changed, items=await keeping.store(blobs, found.items), count=len(found.items))


async def _answer_uncertain(
    blobs: keeping.Blobs, run: Run, asked: OpenApproval, given: Answer, values: JsonObject, at: int
) -> commands.AnswerApproval:
    """It happened (modified, with its outputs), do it again (approved), or fail (denied)."""
    plain = _plain(asked, given, at)
    if given.status != "modified":
        return plain
    node = run.workflow.nodes[asked.node]
    required = {port.name: port.required for port in node.outputs}
    if node.step is not None:
        required = dict.fromkeys(plan.outputs(node.step, None), True)
    unknown = sorted(set(values) - set(required))
    _demand((f"{node.key} has no output {name}" for name in unknown), "APPROVAL_INVALID")
    missing = [name for name, needed in required.items() if needed and name not in values]
    _demand((f"missing output {name}" for name in missing), "APPROVAL_INVALID")
    await _check_answered(blobs, run, node.outputs, values)
    return replace(
        await _modified(blobs, run, asked, plain, values),
        outputs=await keeping.store(blobs, values),
        inputs_hash=canonical.digest(await wiring.inputs(blobs, run, node)),
        output_hash=canonical.digest(values),
    )


def _known_inputs(workflow: definition.Workflow, name: str) -> str:
    """What may be given instead; a block's port of that name which nothing feeds is what was meant."""
    for node in workflow.nodes.values():
        if name not in node.bindings and any(port.name == name for port in node.inputs):
            return f"{node.key} has an input {name} that nothing feeds: write `from: inputs.{name}` on it"
    names = [port.name for port in workflow.inputs]
    return f"it has {', '.join(names)}" if names else "it has no inputs"


def breaches(ports: Iterable[definition.Port], values: JsonObject) -> list[str]:
    """What is wrong with values that are to keep the ports' contract."""
    listed = tuple(ports)
    missing = [f"missing output {port.name}" for port in listed if port.required and port.name not in values]
    return missing + _violations(listed, values)


def _violations(ports: Iterable[definition.Port], values: JsonObject) -> list[str]:
    found: list[str] = []
    for port in ports:
        if port.name in values:
            checked = schema.compile(port.schema).check(values[port.name])
            found.extend(f"{port.name}{violation.path}: {violation.message}" for violation in checked)
    return found


def _demand(problems: Iterable[str], code: str) -> None:
    listed = list(problems)
    if listed:
        raise errors.InvalidInput("; ".join(listed), code=code)
