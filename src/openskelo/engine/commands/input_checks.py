"""Check what callers send before it becomes a command: inputs of runs, answers to approvals, modes.

`Inputs` checks the inputs of a new run. `read_answer` checks the form of an answer; `answer_command` checks it against
the run as it is now and returns the command. Every check raises InvalidInput (or Refused) and changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias, cast, get_args

from openskelo import errors
from openskelo.engine.resolving import resolve
from openskelo.executors import artifacts, stored_values
from openskelo.executors.attempt import port_contract as contracts
from openskelo.executors.inputs import node_inputs
from openskelo.handlers import file_access
from openskelo.kernel import answers, calls, commands, definition, events, ids
from openskelo.kernel.decide import decide
from openskelo.kernel.flows import plan
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import OpenApproval, Run, has_begun
from openskelo.stores import api
from openskelo.structs import frozen, replace
from openskelo.values import canonical
from openskelo.values.schema import validator

Mode: TypeAlias = Literal["AUTO", "INTERACTIVE"]
Remember: TypeAlias = Literal["turn", "run"]
GlobalMode: TypeAlias = Literal["PLANNING", "IMPLEMENTATION"]


@frozen
class Answer:
    """A person's answer to an open approval."""

    status: commands.Answer
    by: str
    modified_args: JsonObject | None = None
    reason: str | None = None
    #: Extends the approval of an agent's call to calls like it.
    remember: Remember | None = None


class Inputs:
    """Checks the inputs of runs of one workflow. What all of these runs share is computed once."""

    def __init__(self, workflow: definition.Workflow) -> None:
        self._workflow = workflow
        self._names = frozenset(port.name for port in workflow.inputs)
        self._required = frozenset(port.name for port in workflow.inputs if port.required)
        self._defaults = {port.name: port.default for port in workflow.inputs if port.has_default}
        self._schemas: dict[str, validator.Schema] = {}
        #: The inputs whose value refers to a file or an artifact.
        self.referring = tuple(port for port in workflow.inputs if port.kind != "json")

    def complete(
        self, inputs: JsonObject, where: file_access.Access, *, settled: Collection[str] = (), option: str = "--input"
    ) -> dict[str, Json]:
        """Return a run's inputs, with defaults; raise InvalidInput that lists everything wrong with them.

        Files have to exist where the project `where` may read them, except for `settled` inputs, which no node will
        read again. `option` is the command line option that sets an input; hints name it.
        """
        values = self._admit(inputs)
        for name, default in self._defaults.items():
            if name not in values:  # a copy: a caller may change the values it gets
                values[name] = copy.deepcopy(default)
        if not self._required <= values.keys():
            raise self._missing(values, option)
        self._check_schemas(values)
        if self.referring:
            read = {name: value for name, value in values.items() if name not in settled}
            check_references(self.referring, read, where)
        return values

    def check(self, inputs: JsonObject, where: file_access.Access) -> None:
        """Raise InvalidInput if something is wrong with these inputs, of which some may still be missing."""
        values = self._admit(inputs)
        self._check_schemas(values)
        check_references(self.referring, values, where)

    def _admit(self, inputs: JsonObject) -> dict[str, Json]:
        """Return a copy of the inputs; raise InvalidInput (INPUT_UNKNOWN) for one that the workflow does not have."""
        if not inputs.keys() <= self._names:
            unknown = sorted(inputs.keys() - self._names)
            raise errors.InvalidInput(
                f"the workflow has no input {', '.join(unknown)}",
                code="INPUT_UNKNOWN",
                hint=_unknown_input_hint(self._workflow, unknown[0]),
            )
        return {name: canonical.admit(value) for name, value in inputs.items()}

    def _missing(self, values: JsonObject, option: str) -> errors.InvalidInput:
        missing = [port.name for port in self._workflow.inputs if port.required and port.name not in values]
        return errors.InvalidInput(
            f"missing input {', '.join(missing)}",
            code="INPUT_MISSING",
            hint=" ".join(f"{option} {name}=…" for name in missing),
        )

    def _check_schemas(self, values: JsonObject) -> None:
        for name, value in values.items():
            if (self._schemas.get(name) or self._compile(name)).check(value):
                _raise_problems(_violations(self._workflow.inputs, values), "INPUT_INVALID")

    def _compile(self, name: str) -> validator.Schema:
        (schema,) = [port.schema for port in self._workflow.inputs if port.name == name]
        compiled_schema = self._schemas[name] = validator.compile(schema)
        return compiled_schema


def check_references(ports: Iterable[definition.Port], values: JsonObject, where: file_access.Access) -> None:
    """Raise InvalidInput if a file that a value refers to is missing, or the form of a reference is wrong."""
    referring = [port for port in ports if port.kind != "json" and port.name in values]
    if referring:
        contract = contracts.PortContract(referring, "input", file_access.readable_roots(where))
        _raise_problems(contract.problems({port.name: values[port.name] for port in referring}, where), "INPUT_INVALID")


async def check_artifacts(ports: Iterable[definition.Port], values: JsonObject, store: artifacts.RunLogs) -> None:
    """Raise InvalidInput if a value refers to an artifact that no run in the store has kept."""
    referring = [port for port in ports if port.kind == "artifact"]
    if referring:
        contract = contracts.PortContract(referring, "input", None)
        _raise_problems(await contract.missing_artifacts(values, artifacts.ArtifactIndex(store)), "INPUT_INVALID")


async def _check_ports(blobs: api.Blobs, run: Run, ports: Iterable[definition.Port], values: JsonObject) -> None:
    """Raise InvalidInput if a person's values break the ports' contract, or name artifacts that no run has kept."""
    port_list = tuple(ports)
    _raise_problems(_violations(port_list, values), "APPROVAL_INVALID")
    referring = [port for port in port_list if port.kind == "artifact"]
    if referring and isinstance(blobs, artifacts.RunLogs):
        contract = contracts.PortContract(referring, "value", None)
        missing = await contract.missing_artifacts(values, artifacts.ArtifactIndex(blobs), run.id)
        _raise_problems(missing, "APPROVAL_INVALID")


def check_in_time(approval: JsonObject, at: int) -> None:
    """Raise Refused (APPROVAL_EXPIRED) if an approval, as listings show it, has expired; its run is not changed."""
    expires = approval.get("expiresAt")
    if isinstance(expires, str) and at >= datetime.fromisoformat(expires).timestamp() * 1000:
        raise errors.Refused(
            "the approval has expired",
            code="APPROVAL_EXPIRED",
            hint=f"`skelo resume {ids.short(approval.get('runId'))}` lets its run go on without an answer",
        )


def read_answer(
    status: object, by: str, modified_args: object = None, reason: str | None = None, remember: object = None
) -> Answer:
    """Return an answer made of unchecked parts (InvalidInput APPROVAL_INVALID, NAME_RESERVED)."""
    if by == answers.TIMER:
        raise errors.InvalidInput(
            f"`{by}` is the name of the clock, which answers when the time is up",
            code="NAME_RESERVED",
            hint="answer under another name",
        )
    if modified_args is not None and not isinstance(modified_args, Mapping):
        raise errors.InvalidInput(
            "the values of an answer must be an object", code="APPROVAL_INVALID", hint='such as {"text": "Hello"}'
        )
    if remember is not None:
        check_word(remember, get_args(Remember), "how long an approval holds", code="APPROVAL_INVALID")
    return Answer(
        status=answer_status(status),
        by=by,
        modified_args=cast("JsonObject | None", modified_args),
        reason=reason,
        remember=cast("Remember | None", remember),
    )


def goes_on(run: Run, answer: commands.AnswerApproval) -> bool:
    """True if the run does more work after this answer, which may be a denial, too (Refused).

    A denial that ends the run needs nothing of the process that takes it.
    """
    return not any(
        isinstance(fact, events.NodeFailed) or (isinstance(fact, events.AttemptFailed) and fact.next == "fail")
        for fact in decide(run, answer)
    )


async def answer_command(
    blobs: api.Blobs, run: Run, approval: OpenApproval, answer: Answer, at: int
) -> commands.AnswerApproval:
    """Return the command for an answer, with the outputs that it gives its node and its digest (InvalidInput)."""
    values = {} if answer.modified_args is None else cast("dict[str, Json]", canonical.admit(answer.modified_args))
    node = run.workflow.nodes[approval.node]
    match approval.kind:
        case "ask_human":
            return await _answer_step(blobs, run, approval, answer, values, at)
        case "approval" if node.work.asks_person:
            return await _answer_block(blobs, run, approval, answer, values, at)
        case "approval":
            return await _answer_checkpoint(blobs, run, approval, answer, values, at)
        case "uncertain":
            return await _answer_uncertain(blobs, run, approval, answer, values, at)
        case calls.CALL:
            return await _answer_call(blobs, run, approval, answer, values, at)
        case _:
            return _command(approval, answer, at)


def _command(approval: OpenApproval, answer: Answer, at: int) -> commands.AnswerApproval:
    return commands.AnswerApproval(
        at=at,
        approval_id=approval.id,
        status=answer.status,
        by=answer.by,
        digest=approval.digest,
        reason=answer.reason,
        remember=answer.remember,
    )


async def _modified(
    blobs: api.Blobs, run: Run, approval: OpenApproval, command: commands.AnswerApproval, values: JsonObject
) -> commands.AnswerApproval:
    """Return the command as one that replaces the proposed values, with a digest of its own."""
    stored_values_entry = await stored_values.store(blobs, values)
    return replace(
        command,
        status="modified",
        args=cast("JsonObject", stored_values_entry.get("value", {})),
        stored=None if "value" in stored_values_entry else stored_values_entry,
        new_digest=resolve.digest(run, approval.node, values, approval.expires_at),
    )


async def _answer_block(
    blobs: api.Blobs, run: Run, approval: OpenApproval, answer: Answer, values: JsonObject, at: int
) -> commands.AnswerApproval:
    """Return the answer to an approval node: its outputs are the form's values, its inputs and the decision itself."""
    node = run.workflow.nodes[approval.node]
    inputs = await node_inputs.inputs(blobs, run, node)
    form = cast("JsonObject", approval.document.get("form") or {})
    proposal = propose(form, inputs)
    form_values = {**proposal, **values}
    status = answer.status
    if status != "denied":
        _check_form(form, values, form_values)
        status = "modified" if form_values != proposal else "approved"
    decision: JsonObject = {
        "approved": status != "denied",
        "decision": status,
        "reason": answer.reason or "",
        "by": answer.by,
    }
    output_values = {**inputs, **form_values, **decision}
    outputs = {port.name: output_values[port.name] for port in node.outputs if port.name in output_values}
    if status != "denied":
        await _check_ports(blobs, run, node.outputs, outputs)
    command = replace(_command(approval, answer, at), status=status)
    return replace(
        await _modified(blobs, run, approval, command, form_values) if status == "modified" else command,
        outputs=await stored_values.store(blobs, outputs),
        inputs_hash=canonical.digest(inputs),
        output_hash=canonical.digest(outputs),
    )


async def _answer_step(
    blobs: api.Blobs, run: Run, approval: OpenApproval, answer: Answer, values: JsonObject, at: int
) -> commands.AnswerApproval:
    """Return the answer to an `ask_human` step: its value is the filled form, or says that it was denied."""
    step = cast("definition.Step", run.workflow.nodes[approval.node].step)
    form = cast("JsonObject", approval.document.get("form") or {})
    proposal = propose(form, {})
    form_values: dict[str, Json] = {**proposal, **values}
    command = _command(approval, answer, at)
    if answer.status == "denied":
        form_values = {"denied": True, "reason": answer.reason or "", "by": answer.by}
    else:
        if form:
            _check_form(form, values, form_values)
        command = replace(command, status="approved" if form_values == proposal else "modified")
    outputs = plan.outputs(step, form_values)
    return replace(
        await _modified(blobs, run, approval, command, form_values) if command.status == "modified" else command,
        outputs=await stored_values.store(blobs, outputs),
        inputs_hash=canonical.digest(await node_inputs.inputs(blobs, run, run.workflow.nodes[approval.node])),
        output_hash=canonical.digest(outputs),
    )


def propose(form: JsonObject, inputs: JsonObject) -> dict[str, Json]:
    """Return the values of a form that a person has not changed: inputs of the same name, else the form's defaults."""
    proposal: dict[str, Json] = {}
    for name, field in cast("JsonObject", form.get("properties") or {}).items():
        if name in inputs:
            proposal[name] = inputs[name]
        elif isinstance(field, dict) and "default" in field:
            proposal[name] = field["default"]
    return proposal


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
        violations = validator.compile(form).check(filled)
        _raise_problems(
            (f"{violation.path or '/'}: {violation.message}" for violation in violations), "APPROVAL_INVALID"
        )


async def _answer_checkpoint(
    blobs: api.Blobs, run: Run, approval: OpenApproval, answer: Answer, values: JsonObject, at: int
) -> commands.AnswerApproval:
    """Return the answer before a node's work: a person may edit the inputs, within the node's contract."""
    node = run.workflow.nodes[approval.node]
    inputs = await node_inputs.inputs(blobs, run, node)
    command = replace(_command(approval, answer, at), inputs_hash=canonical.digest(inputs))
    new_inputs = {**inputs, **values}
    if answer.status == "denied":
        return command
    if new_inputs == inputs:
        return replace(command, status="approved")
    names = {port.name for port in node.inputs} if node.step is None else set(inputs)
    unknown = sorted(set(values) - names)
    _raise_problems((f"{node.key} has no input {name}" for name in unknown), "APPROVAL_INVALID")
    await _check_ports(blobs, run, node.inputs, new_inputs)
    modification = await _modified(blobs, run, approval, command, new_inputs)
    if node.when is None and node.foreach is None:
        return modification
    return await _with_expressions(blobs, run, node, modification, new_inputs)


async def _with_expressions(
    blobs: api.Blobs, run: Run, node: definition.Node, changed: commands.AnswerApproval, edited: JsonObject
) -> commands.AnswerApproval:
    """Return the answer with the results of the node's `when` and `foreach` on its edited inputs.

    Once part of the work has started, the results must be the same as before (InvalidInput APPROVAL_INVALID).
    """
    state = run.nodes[node.key]
    try:
        results = await resolve.expressions(blobs, run, node, edited)
    except errors.AttemptFailed as error:
        message = f"{node.key} cannot work on these values: {error.code} {error.message}"
        raise errors.InvalidInput(message, code="APPROVAL_INVALID") from error
    if has_begun(state):
        if results.skip or results.items != await stored_values.load(blobs, state.items):
            message = f"{node.key} has begun: whether it works, and on which items, cannot be changed any more"
            raise errors.InvalidInput(message, code="APPROVAL_INVALID")
        return changed
    if results.items is None:
        return replace(changed, skip=results.skip)
    return replace(changed, items=await stored_values.store(blobs, results.items), count=len(results.items))


async def _answer_call(
    blobs: api.Blobs, run: Run, approval: OpenApproval, answer: Answer, values: JsonObject, at: int
) -> commands.AnswerApproval:
    """Return the answer about a call of an agent: a person may change its arguments if the agent can take that.

    If the agent asks a question of its own, the answer is the filled form.
    """
    command = _command(approval, answer, at)
    form = cast("JsonObject", approval.document.get("form") or {})
    tool = cast("JsonObject", approval.document["tool"])
    if cast("JsonObject", tool["args"]).get("question") and answer.status != "denied":
        form_values = {**propose(form, {}), **values}
        _check_form(form, values, form_values)
        return await _modified(blobs, run, approval, command, form_values)
    if answer.status != "modified":
        return command
    if not form:
        raise errors.InvalidInput(
            "this agent cannot take changed arguments",
            code="APPROVAL_INVALID",
            hint="deny the call, and say in the reason what the agent should do instead",
        )
    call_args = await stored_values.load(blobs, cast("Stored | None", tool.get("stored"))) or tool["args"]
    arguments = cast("JsonObject", cast("JsonObject", call_args)["arguments"])
    new_arguments = {**arguments, **values}
    _check_form(form, values, new_arguments)
    if new_arguments == arguments:
        return replace(command, status="approved")
    return await _modified(blobs, run, approval, command, new_arguments)


async def _answer_uncertain(
    blobs: api.Blobs, run: Run, approval: OpenApproval, answer: Answer, values: JsonObject, at: int
) -> commands.AnswerApproval:
    """Return the answer about an attempt whose effect is unknown.

    It says that the effect happened (modified, with its outputs), to do the work again (approved), or to fail (denied).
    """
    command = _command(approval, answer, at)
    if answer.status != "modified":
        return command
    node = run.workflow.nodes[approval.node]
    required = {port.name: port.required for port in node.outputs}
    if node.step is not None:
        required = dict.fromkeys(plan.outputs(node.step, None), True)
    unknown = sorted(set(values) - set(required))
    _raise_problems((f"{node.key} has no output {name}" for name in unknown), "APPROVAL_INVALID")
    missing = [name for name, is_needed in required.items() if is_needed and name not in values]
    _raise_problems((f"missing output {name}" for name in missing), "APPROVAL_INVALID")
    await _check_ports(blobs, run, node.outputs, values)
    return replace(
        await _modified(blobs, run, approval, command, values),
        outputs=await stored_values.store(blobs, values),
        inputs_hash=canonical.digest(await node_inputs.inputs(blobs, run, node)),
        output_hash=canonical.digest(values),
    )


def _unknown_input_hint(workflow: definition.Workflow, name: str) -> str:
    """Return a hint for an unknown input: a node's input of that name that nothing feeds, else the known inputs."""
    for node in workflow.nodes.values():
        if name not in node.bindings and any(port.name == name for port in node.inputs):
            return f"{node.key} has an input {name} that nothing feeds: write `from: inputs.{name}` on it"
    names = [port.name for port in workflow.inputs]
    return f"it has {', '.join(names)}" if names else "it has no inputs"


def breaches(ports: Iterable[definition.Port], values: JsonObject) -> list[str]:
    """Return what is wrong with outputs that have to keep the ports' contract."""
    port_list = tuple(ports)
    missing = [f"missing output {port.name}" for port in port_list if port.required and port.name not in values]
    return missing + _violations(port_list, values)


def _violations(ports: Iterable[definition.Port], values: JsonObject) -> list[str]:
    problems: list[str] = []
    for port in ports:
        if port.name in values:
            violations = validator.compile(port.schema).check(values[port.name])
            problems.extend(f"{port.name}{violation.path}: {violation.message}" for violation in violations)
    return problems


def _raise_problems(problems: Iterable[str], code: str) -> None:
    """Raise InvalidInput with all of the problems, if there are any."""
    problem_list = list(problems)
    if problem_list:
        raise errors.InvalidInput("; ".join(problem_list), code=code)


# -- arguments of few words -------------------------------------------------------------------------------------------
# Not every caller has a type checker.


def check_word(word: object, words: Sequence[str], what: str, *, code: str = "USAGE") -> None:
    """Raise InvalidInput, with the `words` in its hint, if `word` is not one of them."""
    if word not in words:
        raise errors.InvalidInput(f"{str(word)[:60]!r} is not {what}", code=code, hint=f"one of {', '.join(words)}")


def answer_status(word: object) -> commands.Answer:
    """Return the word as the status of an answer (InvalidInput APPROVAL_INVALID)."""
    check_word(word, get_args(commands.Answer), "an answer", code="APPROVAL_INVALID")
    return cast("commands.Answer", word)


def run_mode(word: object) -> Mode:
    """Return the word, which may be in lower case, as a run's mode (InvalidInput USAGE)."""
    return cast("Mode", _upper_case(word, get_args(Mode), "a mode"))


def global_mode(word: object) -> GlobalMode:
    """Return the word, which may be in lower case, as a run's global mode (InvalidInput USAGE)."""
    return cast("GlobalMode", _upper_case(word, get_args(GlobalMode), "a global mode"))


def _upper_case(word: object, words: Sequence[str], what: str) -> str:
    upper = word.upper() if isinstance(word, str) else word
    check_word(upper, words, what)
    return cast("str", upper)
