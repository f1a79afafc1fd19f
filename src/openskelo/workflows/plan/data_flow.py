"""Data-flow analysis of a plan: which variables may be unset, and which may hold an unverified answer of an expert.

**Unset variables.** `find_unset` works in two passes. The first follows all variables at once, as if a run could take
either side of every branch; it is fast and clears almost every read. The second pass looks at the remaining reads path
by path and remembers the outcome of each branch: two branches on the same condition agree, as long as no step
writes a variable of that condition in between. So a plan may branch on `var:v.ok` twice, and set a variable on one side
only.

**Unverified answers.** `find_unverified` follows which variables hold text that an expert produced and that no `verify`
has read yet, and reports each tool with effects that reads such a variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.structs import frozen
from openskelo.values import plan_refs
from openskelo.values.cel import plan_expression
from openskelo.workflows.plan import control_flow, name_check, step

#: The path search for one variable stops after this many states. The variable then counts as unset: a Problem.
MAX_STATES = 20_000


@frozen
class UnsetRead:
    """A read of a variable that may be unset, and a path on which it is (empty after more than MAX_STATES states)."""

    use: step.Use
    key: str
    path: tuple[str, ...]


#: What the branches of a path have established: pairs of a condition's text and its outcome.
_Facts = frozenset[tuple[str, bool]]


@frozen
class _State:
    """A step, what is known on the way there, and whether the variable in question is set by then."""

    key: str
    facts: _Facts
    is_set: bool


@frozen
class _Condition:
    """A condition that more than one branch tests: its text, and the variables that it depends on."""

    text: str
    reads: frozenset[str]


def find_unset(
    flow: control_flow.Flow, uses: Mapping[str, tuple[step.Use, ...]], initial: frozenset[str]
) -> list[UnsetRead]:
    """Return every read of a variable that may be unset.

    `uses` are what each step reads, `initial` the variables with a first value.
    """
    # A plan may have thousands of variables: only variables that some step needs are followed, as one bit each.
    names_read = dict.fromkeys(
        use.ref.name for step_uses in uses.values() for use in step_uses if use.ref.kind == "var" and use.needed
    )
    bits = {name: 1 << number for number, name in enumerate(names_read)}
    before = _always_set_before(flow, initial, bits)
    doubtful: dict[str, list[tuple[str, step.Use]]] = {}
    for key in before:
        for use in _reads(flow, uses, key):
            name = use.ref.name
            if use.ref.kind == "var" and use.needed and not before[key] & bits[name]:
                doubtful.setdefault(name, []).append((key, use))
    conditions = _shared_conditions(flow) if doubtful else {}
    unset: list[UnsetRead] = []
    for name, reads in doubtful.items():
        unset += _unset_along_paths(flow, name, reads, conditions)
    return unset


def _reads(flow: control_flow.Flow, uses: Mapping[str, tuple[step.Use, ...]], key: str) -> Iterator[step.Use]:
    """Yield what a step reads; a retry reads what the step that it tries reads, too."""
    plan_step = flow.steps[key]
    yield from uses[key]
    if plan_step.op == "retry" and plan_step.target is not None:
        yield from uses[plan_step.target]


def _writes(flow: control_flow.Flow, key: str) -> frozenset[str]:
    """Return the variables that a step sets; a retry sets what the step that it tries sets, too."""
    plan_step = flow.steps[key]
    names = [plan_step.save_as]
    if plan_step.op == "retry" and plan_step.target is not None:
        names.append(flow.steps[plan_step.target].save_as)
    return frozenset(name for name in names if name is not None)


def _always_set_before(flow: control_flow.Flow, initial: frozenset[str], bits: Mapping[str, int]) -> dict[str, int]:
    """Return, for each reachable step, the variables that are set on every path to it, as an integer of `bits`."""
    sets = {key: _bitmask(_writes(flow, key), bits) for key in flow.steps}
    before: dict[str, int] = {flow.entry: _bitmask(initial, bits)}
    queue = [flow.entry]
    while queue:
        key = queue.pop()
        after = before[key] | sets[key]
        for target in flow.successors(key):
            previous = before.get(target)
            set_on_all_paths = after if previous is None else previous & after
            if set_on_all_paths != previous:
                before[target] = set_on_all_paths
                queue.append(target)
    return before


def _bitmask(names: frozenset[str], bits: Mapping[str, int]) -> int:
    """Return the set of variables `names` as an integer with one bit for each of them."""
    mask = 0
    for name in names:
        mask |= bits.get(name, 0)
    return mask


def _unset_along_paths(
    flow: control_flow.Flow, name: str, reads: list[tuple[str, step.Use]], conditions: Mapping[str, _Condition]
) -> list[UnsetRead]:
    """Return the reads of one variable that some feasible path reaches before a write, each with such a path."""
    uses_at: dict[str, list[step.Use]] = {}
    for key, use in reads:
        uses_at.setdefault(key, []).append(use)
    start = _State(key=flow.entry, facts=frozenset(), is_set=False)
    previous: dict[_State, _State | None] = {start: None}
    queue = [start]
    unset_at: dict[str, _State] = {}
    for state in queue:  # the queue grows during the iteration
        if state.key in uses_at and not state.is_set:
            unset_at.setdefault(state.key, state)
        for following in _following_states(flow, state, name, conditions):
            if following not in previous:
                previous[following] = state
                queue.append(following)
        if len(previous) > MAX_STATES:
            return [UnsetRead(use=use, key=key, path=()) for key, use in reads]
    return [
        UnsetRead(use=use, key=key, path=_path_to(state, previous))
        for key, state in unset_at.items()
        for use in uses_at[key]
    ]


def _following_states(
    flow: control_flow.Flow, state: _State, name: str, conditions: Mapping[str, _Condition]
) -> Iterator[_State]:
    plan_step = flow.steps[state.key]
    written_roots = _writes(flow, state.key)
    facts = state.facts
    if written_roots and facts:
        outdated_conditions = {condition.text for condition in conditions.values() if condition.reads & written_roots}
        facts = frozenset(fact for fact in facts if fact[0] not in outdated_conditions)
    is_set = state.is_set or name in written_roots
    if plan_step.op != "branch":
        yield from (_State(key=target, facts=facts, is_set=is_set) for target in flow.successors(state.key))
        return
    condition = conditions.get(state.key)
    constant = _constant_condition(plan_step)
    for outcome, target in ((True, plan_step.then), (False, plan_step.otherwise)):
        if target is None or (constant is not None and constant is not outcome):
            continue
        if condition is None:
            yield _State(key=target, facts=facts, is_set=is_set)
        elif (condition.text, not outcome) not in facts:
            yield _State(key=target, facts=facts | {(condition.text, outcome)}, is_set=is_set)


def _shared_conditions(flow: control_flow.Flow) -> dict[str, _Condition]:
    """Return the conditions that several branches test, by branch: only the outcome of those says something later."""
    conditions: dict[str, _Condition] = {}
    for key, plan_step in flow.steps.items():
        condition = _condition(plan_step) if plan_step.op == "branch" else None
        if condition is not None:
            conditions[key] = condition
    times = Counter(condition.text for condition in conditions.values())
    return {key: condition for key, condition in conditions.items() if times[condition.text] > 1}


def _condition(plan_step: definition.Step) -> _Condition | None:
    name, value = _cond_argument(plan_step)
    if not isinstance(value, str):
        return None
    if name == "expr":
        reads = plan_expression.compile(value).names.get("var", frozenset())
        # None: the expression may read any variable, so every write makes its outcome unknown again.
        if reads is None:
            return None
        return _Condition(text=f"expr {value}", reads=reads)
    ref = plan_refs.parse(value)
    if ref is None:
        return None
    return _Condition(text=str(ref), reads=frozenset({ref.name} if ref.kind == "var" else ()))


def _constant_condition(plan_step: definition.Step) -> bool | None:
    _, value = _cond_argument(plan_step)
    return value if isinstance(value, bool) else None


def _cond_argument(plan_step: definition.Step) -> tuple[str, Json]:
    """Return the only key of a branch's `cond` and its value."""
    cond = plan_step.args.get("cond")
    if not isinstance(cond, Mapping) or len(cond) != 1:
        return "", None
    ((name, value),) = cond.items()
    return name, value


def _path_to(state: _State, previous: Mapping[_State, _State | None]) -> tuple[str, ...]:
    path: list[str] = []
    current: _State | None = state
    while current is not None:
        path.append(current.key)
        current = previous[current]
    return tuple(reversed(path))


def find_unverified(
    flow: control_flow.Flow, drafts: Mapping[str, step.Draft], scope: name_check.Scope
) -> Iterator[tuple[step.Draft, step.Use]]:
    """Yield each read of an unverified expert answer by a tool with effects, with the step that calls the tool."""
    for key, unverified_roots in _unverified_before(flow, drafts).items():
        draft = drafts[key]
        target = drafts.get(draft.text("step_id") or "") if draft.op == "retry" else draft
        if target is None or target.op != "tool_call":
            continue
        tool = name_check.tool_of(target, scope)
        if tool is None or tool.effect == "pure":
            continue
        for use in target.uses:
            if use.ref.kind == "var" and use.ref.name in unverified_roots:
                yield target, use


def _unverified_before(flow: control_flow.Flow, drafts: Mapping[str, step.Draft]) -> dict[str, frozenset[str]]:
    """Return, for each reachable step, the variables that hold an unverified answer on some path to it."""
    before: dict[str, frozenset[str]] = {flow.entry: frozenset()}
    queue = [flow.entry]
    while queue:
        key = queue.pop()
        after = _unverified_after(drafts[key], drafts, before[key])
        for target in flow.successors(key):
            previous = before.get(target)
            unverified_on_any_path = after if previous is None else previous | after
            if unverified_on_any_path != previous:
                before[target] = unverified_on_any_path
                queue.append(target)
    return before


def _unverified_after(
    draft: step.Draft, drafts: Mapping[str, step.Draft], unverified: frozenset[str]
) -> frozenset[str]:
    saved_roots = {draft.save_as}
    if draft.op == "retry":
        target = drafts.get(draft.text("step_id") or "")
        if target is None:
            return unverified
        saved_roots = {draft.save_as, target.save_as}
        draft = target
    names = frozenset(name for name in saved_roots if name is not None)
    reads = frozenset(use.ref.name for use in draft.uses if use.ref.kind == "var")
    match draft.op:
        case "route_expert":
            return unverified | names
        case "transform":
            # A value made of an unverified one is unverified, too.
            if reads & unverified:
                return unverified | names
            return unverified - names
        case "verify":
            return unverified - reads - names
        case _:
            return unverified - names
