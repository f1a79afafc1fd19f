"""What a step of a plan is given: its arguments with a value in the place of every ref; and what a plan gives at last.

A ref is read once: a value that looks like one stays text. An expression is given beside it exactly what it names, so
that the hash of a step's inputs is the hash of all that it saw.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from openskelo import errors
from openskelo.executors import keeping
from openskelo.kernel import definition
from openskelo.kernel.flows import plan
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import Course, Run
from openskelo.values import plan_expression, refs


async def materialise(blobs: keeping.Blobs, run: Run, node: definition.Node) -> dict[str, Json]:
    """The arguments of the step as this visit sees them (AttemptFailed REF_UNSET where a ref leads nowhere)."""
    edited = run.nodes[node.key].inputs
    if edited is not None:
        return {**cast("JsonObject", await keeping.load(blobs, edited))}
    step: Any = node.step  # every node of a plan is one
    known = _Known(run)
    while True:
        try:
            return known.arguments(step)
        except _NotLoaded as missing:
            await known.load(blobs, missing)


def at_hand(run: Run, node: definition.Node) -> dict[str, Json] | None:
    """What `materialise` gives if the events themselves hold all of it, as they mostly do; else None."""
    if run.nodes[node.key].inputs is not None:
        return None
    step: Any = node.step  # every node of a plan is one
    try:
        return _Known(run).arguments(step)
    except _NotLoaded:
        return None


async def outputs(blobs: keeping.Blobs, run: Run) -> dict[str, Json]:
    """What the run gives: what a step has emitted, else what the plan's `outputs` name, null where nothing is yet."""
    course = cast("Course", run.course)
    if course.emitted is not None:
        emitted = cast("JsonObject", plan.value(await keeping.load(blobs, course.emitted)))
        return {"result": emitted.get("result"), "audit": emitted.get("audit")}
    declared = cast("definition.Plan", run.workflow.plan).outputs
    known = _Known(run)
    while True:
        try:
            values = known.put("outputs", declared, lenient=True)
        except _NotLoaded as missing:
            await known.load(blobs, missing)
        else:
            return {name.removesuffix("_refs").removesuffix("_ref"): value for name, value in values.items()}


class _NotLoaded(Exception):
    """A value is asked for that is in a blob."""

    def __init__(self, blob: Stored) -> None:
        super().__init__()
        self.blob = blob


class _Known:
    """What a run of a plan knows by now, mostly from the events themselves; _NotLoaded asks for a blob to be loaded."""

    __slots__ = ("_course", "_loaded", "_run")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._course: Any = run.course
        self._loaded: dict[str, Json] = {}

    async def load(self, blobs: keeping.Blobs, missing: _NotLoaded) -> None:
        """Load what was missing; then it can be asked for again."""
        self._loaded[cast("str", missing.blob["blob"])] = await keeping.load(blobs, missing.blob)

    def arguments(self, step: definition.Step) -> dict[str, Json]:
        """The arguments of a step."""
        op = step.op
        args = self.put(op, step.args, lenient=op == "emit")
        if op == "transform":
            text = args.get("expr")
            if isinstance(text, str):
                args["expr"] = self._given(text)
        elif op == "branch" and isinstance(cond := args.get("cond"), Mapping):
            text = cond.get("expr")
            args["cond"] = {**cond, "expr": self._given(text)} if isinstance(text, str) else cond
        return args

    def put(self, op: str, args: JsonObject, *, lenient: bool) -> dict[str, Json]:
        """`args` with values for refs; those that lead nowhere are null if `lenient`, else AttemptFailed."""
        if refs.is_free(op, args):
            return {**args}

        def value_of(ref: refs.Ref) -> Json:
            try:
                return refs.follow(self._of(ref.kind, (ref.name,)), (ref.name, *ref.path))
            except refs.Unset:
                if lenient:
                    return None
                raise errors.AttemptFailed(
                    f"{ref} is read, and nothing has set it", code="REF_UNSET", retryable=False
                ) from None

        return {**refs.replace(op, args, value_of)}

    def _given(self, text: str) -> JsonObject:
        """An expression with what it names."""
        scope: dict[str, Json] = {}
        for root, wanted in plan_expression.compile(text).names.items():
            scope[root] = self._of(root, wanted)
        return {"text": text, "scope": scope}

    def _of(self, root: str, wanted: Collection[str] | None) -> JsonObject:
        """What is known of the `wanted` names (None: of all) that belong to a root."""
        if root == "var":
            variables = self._course.variables
            found = variables if wanted is None else [name for name in wanted if name in variables]
            return {name: plan.value(self._held(variables[name])) for name in found}
        if root == "input":
            known = self._held(self._run.inputs)
        else:
            contexts: JsonObject = {} if self._course.contexts is None else self._held(self._course.contexts)
            known = {name.partition(":")[2]: value for name, value in contexts.items() if name.startswith(f"{root}:")}
        return known if wanted is None else _only(known, wanted)

    def _held(self, stored: Stored) -> Any:
        if "value" in stored:
            return stored["value"]
        name = cast("str", stored["blob"])
        if name not in self._loaded:
            raise _NotLoaded(stored)
        return self._loaded[name]


def _only(known: JsonObject, wanted: Collection[str]) -> JsonObject:
    found: dict[str, Json] = {}
    for name in wanted:  # in half the time of a comprehension, where there is one name, as mostly
        if name in known:
            found[name] = known[name]
    return found
