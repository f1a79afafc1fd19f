"""Evaluates a node's gates: every gate is evaluated, all verdicts are kept, and `all` or `any` decides.

The gate types are in `openskelo.gates`, one file each. A gate that could not be asked has no verdict (`passed` is
null), and decides nothing: neither for the work nor against it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import cast

from openskelo import agent_settings, errors
from openskelo import gates as gate_types
from openskelo.executors.ai import model_call, prompt
from openskelo.executors.attempt import running_attempt
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.programs import time_limit
from openskelo.project import Project
from openskelo.providers import failure_codes, protocol
from openskelo.structs import frozen
from openskelo.values import canonical


@frozen
class Judgement:
    """All verdicts as JSON, in order."""

    verdicts: tuple[JsonObject, ...]
    #: The first gate that did not pass, or that could not be asked if there are outages; None when the composition
    #: holds.
    failed: str | None = None
    reason: str = ""
    #: Set when the verdicts decide nothing: why the gates without a verdict could not be asked.
    outages: tuple[errors.AttemptFailed, ...] = ()


async def judge(gates: Sequence[definition.Gate], composition: definition.Composition, view: GateView) -> Judgement:
    """Evaluate every gate and return the judgement (OverBudget). A gate that cannot be evaluated has not passed."""
    findings = [await _evaluate(gate, view) for gate in gates]
    verdicts = tuple([_verdict(gate, finding) for gate, finding in zip(gates, findings, strict=True)])
    pass_values = [finding.passed for finding in findings]
    holds = all(pass_values) if composition == "all" else any(pass_values) or not pass_values
    if holds:
        return Judgement(verdicts=verdicts)
    is_undecided = None in pass_values and (composition == "any" or False not in pass_values)
    first = pass_values.index(None if is_undecided else False)
    return Judgement(
        verdicts=verdicts,
        failed=gates[first].name,
        reason=str(verdicts[first]["reason"]),
        outages=_outages(findings) if is_undecided else (),
    )


def _outages(findings: Sequence[gate_types.Finding]) -> tuple[errors.AttemptFailed, ...]:
    return tuple(finding.outage for finding in findings if finding.outage is not None)


def failure(judgement: Judgement, *, before: bool) -> outcome.Failure:
    """Return the failure of an attempt whose gates, before or after its work, did not pass.

    Where outages left the verdict open, it is the failure of the first gate that could not be asked, and names no gate:
    none has failed. The retry waits as long as the longest of the outages asks for.
    """
    effect_happened: errors.Happened = "no" if before else "yes"
    message = f"gate {judgement.failed!r}: {judgement.reason}"
    if not judgement.outages:
        code = "PRE_GATE_FAILED" if before else "POST_GATE_FAILED"
        return outcome.Failure(code=code, message=message, gate=judgement.failed, happened=effect_happened)
    first = judgement.outages[0]
    waits = [outage.retry_after_ms for outage in judgement.outages if outage.retry_after_ms is not None]
    return outcome.Failure(
        code=first.code,
        message=message if first.hint is None else f"{message} ({first.hint})",
        retryable=first.retryable,
        retry_after_ms=max(waits, default=None),
        happened=effect_happened,
        missing=isinstance(first, errors.Missing),
    )


def can_judge_later(node: definition.Node) -> bool:
    """True if the gates after the work look at nothing but the outputs, and the work leaves nothing else.

    The turn of a live graph also says where its answer goes. A gate that runs a program, or reads
    files, looks at the workspace of an agent, which is not opened for gates alone.
    """
    has_agent = agent_settings.pinned_in(node.config) is not None
    if has_agent and any(gate_types.needs_folder(gate.type) for gate in node.post_gates):
        return False
    gate_types_used = [gate_types.GATES.get(gate.type) for gate in node.post_gates]
    needs_measures = any(gate_type is not None and gate_type.measures_work for gate_type in gate_types_used)
    return node.turn is None and not needs_measures


async def _evaluate(gate: definition.Gate, view: GateView) -> gate_types.Finding:
    gate_type = gate_types.GATES.get(gate.type)
    if gate_type is None:
        return gate_types.failed(f"there is no gate type {gate.type!r}")
    try:
        return await gate_type.check(gate.params, _context(gate, view))
    except (errors.OverBudget, errors.StoreError):
        raise  # no verdict on the work: the run has no budget left to have it judged, or cannot keep the question
    except errors.OpenSkeloError as error:
        reason = f"{error.message} ({error.hint})" if error.hint else error.message
        return gate_types.failed(reason, {"code": error.code})


def _context(gate: definition.Gate, view: GateView) -> gate_types.GateContext:
    async def ask_model(request: protocol.Request) -> protocol.Answer:

        return await ask_reviewer(gate.name, request, view.provider(), view.attempt)

    return gate_types.GateContext(
        gate=gate.name,
        node=view.attempt.request.node.key,
        project=view.project,
        inputs=view.inputs,
        outputs=view.outputs,
        variables=view.names(),
        cost_nanousd=view.attempt.usage.cost_nanousd,
        wall_ms=view.wall_ms,
        ask_model=ask_model,
        folder=view.attempt.folder or view.project.root,
    )


def _verdict(gate: definition.Gate, finding: gate_types.Finding) -> JsonObject:
    """Return the verdict as JSON. The author's `error` replaces the reason of a failed gate, which moves to `found`."""
    own_error = gate.error if finding.passed is False else ""
    reason = "" if finding.passed else running_attempt.clean(own_error or finding.reason)
    verdict: dict[str, Json] = {"gate": gate.name, "type": gate.type, "passed": finding.passed, "reason": reason}
    if own_error:
        verdict["found"] = running_attempt.clean(finding.reason)
    if finding.evidence:
        verdict["evidence"] = finding.evidence
    if finding.took_ms is not None:
        verdict["took_ms"] = finding.took_ms
    return cast("JsonObject", canonical.admit(verdict))


# The values around a node's work, from which each gate's context is made.


@frozen
class GateView:
    """The values around a node's work."""

    attempt: running_attempt.RunningAttempt
    project: Project
    provider: Callable[[], protocol.Provider | None]
    inputs: JsonObject
    #: None before the work.
    outputs: JsonObject | None = None
    #: The time that the work took.
    wall_ms: int = 0

    def names(self) -> dict[str, Json]:
        """Return the variables that expressions see."""
        request = self.attempt.request
        variables: dict[str, Json] = {
            "inputs": self.inputs,
            "outputs": self.outputs or {},
            "run": {"id": request.run_id, "name": request.workflow_name, "inputs": request.run_inputs},
        }
        if request.item_index is not None:
            variables[item_name(request.node)] = request.item
        return variables


def item_name(node: definition.Node) -> str:
    """Return the name of a foreach's item in this node's expressions."""
    if node.foreach is not None:
        return node.foreach.name
    return "item"


# Asks a model on behalf of a gate: within the run's budget, counted, and with the prompt kept as an artifact.


_TIMEOUT_MS = 120_000


async def ask_reviewer(
    gate: str, request: protocol.Request, provider: protocol.Provider | None, attempt: running_attempt.RunningAttempt
) -> protocol.Answer:
    """Return the reviewer's answer; before it is asked, the run's budget has room for it and its prompt is durable.

    Raise AttemptFailed, OverBudget or StoreError.
    """
    if provider is None:
        raise failure_codes.missing("no model provider is set up", hint="name one in skelo.yaml")
    route = protocol.plan(provider, request)[0]
    name = f"review.{gate}.prompt.txt"
    text = prompt.text(route.request.messages)
    attempt.files[name] = running_attempt.File(kind="prompt", name=name, text=text)
    claims = attempt.request.budget_claims
    if claims is not None:
        needs = model_call.needs(attempt, provider, route)
        await claims.claim(attempt.request.attempt_id, attempt.usage, needs)
    if attempt.recorder is not None:
        await attempt.recorder.record_prompts()
    return await time_limit.within(_TIMEOUT_MS, _complete(request, route, provider, attempt), attempt.usage.idle)


async def _complete(
    request: protocol.Request,
    route: protocol.Route,
    provider: protocol.Provider,
    attempt: running_attempt.RunningAttempt,
) -> protocol.Answer:
    """Return the answer and count it; a call that is cancelled is counted by an estimate of its prompt."""
    usage = attempt.usage
    listener = model_call.ModelListener(usage, lambda _text: None)
    usage.current_call = lambda: _estimate(route, provider, listener)
    try:
        completion = await provider.complete(request, listener)
        model_call.add_usage(usage, completion)
    except protocol.UnusableAnswer as unusable:
        model_call.add_usage(usage, unusable.answer)
        raise
    except asyncio.CancelledError:
        usage.add(_estimate(route, provider, listener))
        raise
    finally:
        usage.current_call = None
        if attempt.request.budget_claims is not None:
            attempt.request.budget_claims.settle(attempt.request.attempt_id, usage)
    return completion


def _estimate(
    route: protocol.Route, provider: protocol.Provider, listener: model_call.ModelListener
) -> outcome.Metrics:
    if not listener.sent():
        return outcome.Metrics()
    usage = protocol.estimate_usage(route.request, "")
    return outcome.Metrics(tokens_in=usage.tokens_in, cost_nanousd=protocol.cost(provider, route, usage))
