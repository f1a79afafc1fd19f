"""Judges a node's gates: every one of them is evaluated, all verdicts are kept, and `all` or `any` decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias, cast

from openskelo import errors
from openskelo.executors import gate_values, journal, look
from openskelo.frozen import frozen
from openskelo.kernel import definition
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


@frozen
class Judgement:
    """All verdicts as JSON, in order; `failed` is the first gate that said no, None when the composition holds."""

    verdicts: tuple[JsonObject, ...]
    failed: str | None = None
    reason: str = ""


async def judge(gates: Sequence[definition.Gate], composition: definition.Composition, around: look.Look) -> Judgement:
    """Evaluate every gate. A gate that cannot be evaluated has not passed; OverBudget when the run has nothing left."""
    verdicts: list[JsonObject] = []
    first: tuple[str, str] | None = None
    for gate in gates:
        finding = await _evaluate(gate, around)
        verdict = _verdict(gate, finding)
        verdicts.append(verdict)
        if not finding.passed and first is None:
            first = (gate.name, str(verdict["reason"]))
    holds = first is None if composition == "all" else any(verdict["passed"] for verdict in verdicts)
    if holds or first is None:
        return Judgement(verdicts=tuple(verdicts))
    return Judgement(verdicts=tuple(verdicts), failed=first[0], reason=first[1])


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
    """`reason` is the author's own `error` where there is one; what the gate found is then `found`."""
    reason = "" if finding.passed else journal.clean(gate.error or finding.reason)
    verdict: dict[str, Json] = {"gate": gate.name, "type": gate.type, "passed": finding.passed, "reason": reason}
    if not finding.passed and gate.error:
        verdict["found"] = journal.clean(finding.reason)
    if finding.evidence:
        verdict["evidence"] = finding.evidence
    if finding.took_ms is not None:
        verdict["took_ms"] = finding.took_ms
    return cast("JsonObject", canonical.admit(verdict))
