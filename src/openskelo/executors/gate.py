"""Judges a node's gates: every one of them is evaluated, all verdicts are kept, and `all` or `any` decides.

A gate that could not be asked has no verdict (`passed` is null), and decides nothing: neither for the work nor against
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias, cast

from openskelo import errors
from openskelo.executors import gate_values, journal, look
from openskelo.frozen import frozen
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import canonical

_Pure: TypeAlias = Callable[[JsonObject, look.Look], look.Finding]

_PURE: Mapping[str, _Pure] = MappingProxyType(
    {
        "json_schema": gate_values.json_schema,
        "expr": gate_values.expr,
        "regex": gate_values.regex,
        "not_empty": gate_values.not_empty,
        "length": gate_values.length,
        "word_count": gate_values.word_count,
        "diff": gate_values.diff,
        "cost": gate_values.cost,
        "latency": gate_values.latency,
    }
)
#: Those that judge how the work was done, which its outputs do not tell.
_OF_THE_DOING = frozenset({"cost", "latency"})


@frozen
class Judgement:
    """All verdicts as JSON, in order; `failed` is the first gate that said no, None when the composition holds.

    `outages` are there when the verdicts decide nothing: why the gates without one could not be asked. `failed` is then
    the first of those.
    """

    verdicts: tuple[JsonObject, ...]
    failed: str | None = None
    reason: str = ""
    outages: tuple[errors.AttemptFailed, ...] = ()


async def judge(gates: Sequence[definition.Gate], composition: definition.Composition, around: look.Look) -> Judgement:
    """Evaluate every gate. A gate that cannot be evaluated has not passed; OverBudget when the run has nothing left."""
    findings = [await _evaluate(gate, around) for gate in gates]
    verdicts = tuple([_verdict(gate, finding) for gate, finding in zip(gates, findings, strict=True)])
    said = [finding.passed for finding in findings]
    if all(said) if composition == "all" else any(said) or not said:
        return Judgement(verdicts=verdicts)
    undecided = None in said and (composition == "any" or False not in said)
    first = said.index(None if undecided else False)
    return Judgement(
        verdicts=verdicts,
        failed=gates[first].name,
        reason=str(verdicts[first]["reason"]),
        outages=tuple([one.outage for one in findings if one.outage is not None]) if undecided else (),
    )


def failure(judgement: Judgement, *, before: bool) -> outcome.Failure:
    """The failure of an attempt whose gates, before or after its work, do not let it pass.

    Where nobody could judge it, that is the failure of the first who could not be asked, and names no gate: none has
    said no. It waits as long as any of them wants.
    """
    happened: errors.Happened = "no" if before else "yes"
    message = f"gate {judgement.failed!r}: {judgement.reason}"
    if not judgement.outages:
        code = "PRE_GATE_FAILED" if before else "POST_GATE_FAILED"
        return outcome.Failure(code=code, message=message, gate=judgement.failed, happened=happened)
    first = judgement.outages[0]
    waits = [outage.retry_after_ms for outage in judgement.outages if outage.retry_after_ms is not None]
    return outcome.Failure(
        code=first.code,
        message=message if first.hint is None else f"{message} ({first.hint})",
        retryable=first.retryable,
        retry_after_ms=max(waits, default=None),
        happened=happened,
    )


def can_judge_later(node: definition.Node) -> bool:
    """Whether the outputs are all that the gates after the work look at, and all that the work leaves.

    The turn of a live graph also says where its answer goes.
    """
    return node.turn is None and _OF_THE_DOING.isdisjoint([gate.type for gate in node.post_gates])


async def _evaluate(gate: definition.Gate, around: look.Look) -> look.Finding:
    try:
        pure = _PURE.get(gate.type)
        if pure is not None:
            return pure(gate.params, around)
        return await _ask(gate, around)
    except errors.OverBudget:
        raise  # no verdict on the work: the run has nothing left to have it judged
    except errors.OpenSkeloError as error:
        reason = f"{error.message} ({error.hint})" if error.hint else error.message
        return look.Finding(passed=False, reason=reason, evidence={"code": error.code})


async def _ask(gate: definition.Gate, around: look.Look) -> look.Finding:
    """The gates that ask somebody else, loaded when first used."""
    match gate.type:
        case "command":
            from openskelo.executors import gate_outside  # noqa: PLC0415

            return await gate_outside.command(gate.params, around)
        case "http":
            from openskelo.executors import gate_outside  # noqa: PLC0415

            return await gate_outside.http(gate.params, around)
        case "llm_review":
            from openskelo.executors import gate_review  # noqa: PLC0415

            return await gate_review.llm_review(gate, around)
        case other:
            return look.Finding(passed=False, reason=f"there is no gate type {other!r}")


def _verdict(gate: definition.Gate, finding: look.Finding) -> JsonObject:
    """`reason` is the author's own `error` where the gate says no and has one; what it found is then `found`."""
    own = gate.error if finding.passed is False else ""
    reason = "" if finding.passed else journal.clean(own or finding.reason)
    verdict: dict[str, Json] = {"gate": gate.name, "type": gate.type, "passed": finding.passed, "reason": reason}
    if own:
        verdict["found"] = journal.clean(finding.reason)
    if finding.evidence:
        verdict["evidence"] = finding.evidence
    if finding.took_ms is not None:
        verdict["took_ms"] = finding.took_ms
    return cast("JsonObject", canonical.admit(verdict))
