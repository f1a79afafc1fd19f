"""Whether every variable that a step reads has been set on each path that can lead there.

First for all variables at once, as if every way at a branch could be taken. What that leaves in doubt is looked at
path by path, remembering what branches have found out: two branches on the same value agree, as long as nothing has
written it in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.values import plan_expression, refs
from openskelo.workflows.plan import flow, step

#: So many states are looked at for one variable; beyond that it stays in doubt, which is a Problem.
MOST_STATES = 20_000


@frozen
class Unset:
    """A read of a variable that may not be set, and a path that shows it (empty when paths are too many)."""

    use: step.Use
    key: str
    path: tuple[str, ...]


#: What branches have found out on a path: conditions by their text, with what they came to.
_Facts = frozenset[tuple[str, bool]]


@frozen
class _State:
    key: str
    facts: _Facts
    known: bool


@frozen
class _Condition:
    """A condition that more than one branch tests: its text, and the variables that it depends on."""

    text: str
    reads: frozenset[str]


def check(ways: flow.Flow, uses: Mapping[str, tuple[step.Use, ...]], given: frozenset[str]) -> list[Unset]:
    """Every read that may come too early; `uses` are by step, `given` are the variables with a first value."""
    # Thousands of steps may set thousands of variables: only those that somebody needs are followed, a bit each.
    needed = dict.fromkeys(
        use.ref.name for some in uses.values() for use in some if use.ref.kind == "var" and use.needed
    )
    bits = {name: 1 << number for number, name in enumerate(needed)}
    before = _always(ways, given, bits)
    doubtful: dict[str, list[tuple[str, step.Use]]] = {}
    for key in before:
        for where, use in _reads(ways, uses, key):
            name = use.ref.name
            # A retry's target is read where the retry stands; the retry's own reads come first.
            if use.ref.kind == "var" and use.needed and not before[key] & bits[name]:
                doubtful.setdefault(name, []).append((where, use))
    conditions = _shared(ways) if doubtful else {}
    found: list[Unset] = []
    for name, reads in doubtful.items():
        found += _along_paths(ways, name, reads, conditions)
    return found


def _reads(ways: flow.Flow, uses: Mapping[str, tuple[step.Use, ...]], key: str) -> Iterator[tuple[str, step.Use]]:
    own = ways.steps[key]
    yield from ((key, use) for use in uses[key])
    if own.op == "retry" and own.target is not None:
        yield from ((key, use) for use in uses[own.target])


def writes(ways: flow.Flow, key: str) -> frozenset[str]:
    """The variables that a step sets; a retry sets what its target sets, too."""
    own = ways.steps[key]
    names = [own.save_as]
    if own.op == "retry" and own.target is not None:
        names.append(ways.steps[own.target].save_as)
    return frozenset(name for name in names if name is not None)


def _always(ways: flow.Flow, given: frozenset[str], bits: Mapping[str, int]) -> dict[str, int]:
    """What is set before each reachable step, whichever way the run came: a bit for each variable of `bits`."""
    sets = {key: _mask(writes(ways, key), bits) for key in ways.steps}
    before: dict[str, int] = {ways.entry: _mask(given, bits)}
    queue = [ways.entry]
    while queue:
        key = queue.pop()
        after = before[key] | sets[key]
        for target in ways.exits(key):
            held = before.get(target)
            merged = after if held is None else held & after
            if merged != held:
                before[target] = merged
                queue.append(target)
    return before


def _mask(names: frozenset[str], bits: Mapping[str, int]) -> int:
    mask = 0
    for name in names:
        mask |= bits.get(name, 0)
    return mask


def _along_paths(
    ways: flow.Flow, name: str, reads: list[tuple[str, step.Use]], conditions: Mapping[str, _Condition]
) -> list[Unset]:
    """The reads of one variable that some feasible path reaches too early, each with such a path."""
    wanted: dict[str, list[step.Use]] = {}
    for key, use in reads:
        wanted.setdefault(key, []).append(use)
    start = _State(key=ways.entry, facts=frozenset(), known=False)
    came: dict[_State, _State | None] = {start: None}
    queue = [start]
    shown: dict[str, _State] = {}
    for state in queue:  # grows while it is walked
        if state.key in wanted and not state.known:
            shown.setdefault(state.key, state)
        for following in _following(ways, state, name, conditions):
            if following not in came:
                came[following] = state
                queue.append(following)
        if len(came) > MOST_STATES:
            return [Unset(use=use, key=key, path=()) for key, use in reads]
    return [Unset(use=use, key=key, path=_path(came, shown[key])) for key in shown for use in wanted[key]]


def _following(ways: flow.Flow, state: _State, name: str, conditions: Mapping[str, _Condition]) -> Iterator[_State]:
    own = ways.steps[state.key]
    written = writes(ways, state.key)
    facts = state.facts
    if written and facts:
        gone = {one.text for one in conditions.values() if one.reads & written}
        facts = frozenset(fact for fact in facts if fact[0] not in gone)
    known = state.known or name in written
    if own.op != "branch":
        yield from (_State(key=target, facts=facts, known=known) for target in ways.exits(state.key))
        return
    condition = conditions.get(state.key)
    constant = _constant(own)
    for holds, target in ((True, own.then), (False, own.otherwise)):
        if target is None or (constant is not None and constant is not holds):
            continue
        if condition is None:
            yield _State(key=target, facts=facts, known=known)
        elif (condition.text, not holds) not in facts:
            yield _State(key=target, facts=facts | {(condition.text, holds)}, known=known)


def _shared(ways: flow.Flow) -> dict[str, _Condition]:
    """The conditions that several branches have in common, by branch: only those can tell anything."""
    found = {key: one for key, own in ways.steps.items() if own.op == "branch" and (one := _condition(own))}
    times = Counter(one.text for one in found.values())
    return {key: one for key, one in found.items() if times[one.text] > 1}


def _condition(own: definition.Step) -> _Condition | None:
    name, value = _cond(own)
    if not isinstance(value, str):
        return None
    if name == "expr":
        reads = plan_expression.compile(value).names.get("var", frozenset())
        # An expression that may read any variable is new whenever one is written: nothing is learnt from it.
        return None if reads is None else _Condition(text=f"expr {value}", reads=reads)
    ref = refs.parse(value)
    if ref is None:
        return None
    return _Condition(text=str(ref), reads=frozenset({ref.name} if ref.kind == "var" else ()))


def _constant(own: definition.Step) -> bool | None:
    value = _cond(own)[1]
    return value if isinstance(value, bool) else None


def _cond(own: definition.Step) -> tuple[str, Json]:
    cond = own.args.get("cond")
    if not isinstance(cond, Mapping) or len(cond) != 1:
        return "", None
    ((name, value),) = cond.items()
    return name, value


def _path(came: Mapping[_State, _State | None], state: _State) -> tuple[str, ...]:
    path: list[str] = []
    at: _State | None = state
    while at is not None:
        path.append(at.key)
        at = came[at]
    return tuple(reversed(path))
