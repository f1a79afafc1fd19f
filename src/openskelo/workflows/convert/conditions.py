"""Under which conditions a run comes to each step of a plan without loops: alternatives of what branches have found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TypeAlias

from openskelo.kernel import definition
from openskelo.values import plan_expression, refs
from openskelo.workflows.convert import result
from openskelo.workflows.plan import flow

#: A condition (`ref var:v1.ok` or `expr …`, or `kept s4` for what that branch has come to), and what it has to be.
Literal: TypeAlias = tuple[str, bool]
#: Conditions that have to hold together.
Term: TypeAlias = frozenset[Literal]

_MOST = 64


def of(ways: flow.Flow, order: Sequence[str], kept: Set[str]) -> dict[str, frozenset[Term]]:
    """The alternatives for each step of `order`, in which no way leads back; the empty term always holds.

    The branches in `kept` look at what may change later: they are asked for what they have come to.
    """
    found: dict[str, frozenset[Term]] = dict.fromkeys(order, frozenset())
    found[ways.entry] = frozenset({frozenset()})
    for key in order:
        for target, literal in _exits(ways, key, keep=key in kept):
            if target in found:
                more = {term | {literal} if literal else term for term in found[key]}
                found[target] = _simple(found[target] | more)
                if len(found[target]) > _MOST:
                    raise result.Stuck(target, "too many ways lead here to be said in one condition")
    return found


def _exits(ways: flow.Flow, key: str, *, keep: bool) -> list[tuple[str, Literal | None]]:
    step = ways.steps[key]
    if step.op != "branch":
        return [(target, None) for target in ways.exits(key)]
    text, constant = condition(key, step)
    if constant is not None:
        target = step.then if constant else step.otherwise
        return [] if target is None else [(target, None)]
    text = f"kept {key}" if keep else text
    exits = ((step.then, True), (step.otherwise, False))
    return [(target, (text, holds)) for target, holds in exits if target is not None]


def condition(key: str, step: definition.Step) -> tuple[str, bool | None]:
    """The condition of a branch, and what it always is where it is no question."""
    cond = step.args.get("cond")
    value = None if not isinstance(cond, Mapping) else next(iter(cond.values()))
    if isinstance(value, bool):
        return "", value
    if not isinstance(cond, Mapping) or not isinstance(value, str):
        raise result.Stuck(key, "its condition is none")
    return (f"expr {value}", None) if "expr" in cond else (f"ref {refs.parse(value)}", None)


def reads(step: definition.Step) -> frozenset[str]:
    """The variables that the condition of a branch depends on."""
    cond = step.args.get("cond")
    value = next(iter(cond.values())) if isinstance(cond, Mapping) else None
    if not isinstance(cond, Mapping) or not isinstance(value, str):
        return frozenset()
    if "expr" in cond:
        return frozenset(plan_expression.compile(value).names.get("var") or ())
    ref = refs.parse(value)
    return frozenset({ref.name} if ref is not None and ref.kind == "var" else ())


def _simple(terms: frozenset[Term]) -> frozenset[Term]:
    """The same alternatives, fewer: without contradictions, and without what does not matter."""
    kept = {term for term in terms if not any((text, not holds) in term for text, holds in term)}
    while (joined := _joined(kept)) is not None:
        kept = joined
    return frozenset(term for term in kept if not any(other < term for other in kept))


def _joined(terms: set[Term]) -> set[Term] | None:
    """Two alternatives that differ only in whether a condition holds are one without it; None when there are none."""
    for term in terms:
        for text, holds in term:
            rest = term - {(text, holds)}
            if rest | {(text, not holds)} in terms:
                return {*(terms - {term, rest | {(text, not holds)}}), rest}
    return None
