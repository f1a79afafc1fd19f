"""What a step of a plan is given: its arguments with a value in the place of every ref; and what a plan gives at last.

A ref is read once: a value that looks like one stays text. An expression is given beside it exactly what it names, so
that the hash of a step's inputs is the hash of all that it saw.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

from openskelo import errors
from openskelo.engine import wiring
from openskelo.kernel import definition
from openskelo.kernel.flows import plan
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Course, Run
from openskelo.values import plan_expression, refs


async def materialise(blobs: wiring.Blobs, run: Run, node: definition.Node) -> dict[str, Json]:
    """The arguments of the step as this visit sees them (AttemptFailed REF_UNSET where a ref leads nowhere)."""
    edited = run.nodes[node.key].inputs
    if edited is not None:
        return {**cast("JsonObject", await wiring.load(blobs, edited))}
    step = cast("definition.Step", node.step)
    known = _Known(blobs, run)
    args = {**await known.put(step.op, step.args, lenient=step.op == "emit")}
    if step.op == "transform" and isinstance(text := args.get("expr"), str):
        args["expr"] = await known.given(text)
    elif step.op == "branch" and isinstance(cond := args.get("cond"), Mapping):
        text = cond.get("expr")
        args["cond"] = {**cond, "expr": await known.given(text)} if isinstance(text, str) else cond
    return args


async def outputs(blobs: wiring.Blobs, run: Run) -> dict[str, Json]:
    """What the run gives: what a step has emitted, else what the plan's `outputs` name, null where nothing is yet."""
    course = cast("Course", run.course)
    if course.emitted is not None:
        emitted = cast("JsonObject", plan.value(await wiring.load(blobs, course.emitted)))
        return {"result": emitted.get("result"), "audit": emitted.get("audit")}
    declared = cast("definition.Plan", run.workflow.plan).outputs
    values = await _Known(blobs, run).put("outputs", declared, lenient=True)
    return {name.removesuffix("_refs").removesuffix("_ref"): value for name, value in values.items()}


class _Known:
    """What a run of a plan knows by now, loaded as it is asked for."""

    def __init__(self, blobs: wiring.Blobs, run: Run) -> None:
        self._blobs = blobs
        self._run = run
        self._course = cast("Course", run.course)
        self._loaded: dict[str, JsonObject] = {}
        if "value" in run.inputs:
            self._loaded["input"] = cast("JsonObject", run.inputs["value"])

    async def put(self, op: str, args: JsonObject, *, lenient: bool) -> JsonObject:
        """`args` with values for refs; those that lead nowhere are null if `lenient`, else AttemptFailed."""
        roots: dict[str, JsonObject] = {}
        for _, ref in refs.find(op, args):
            roots[ref.root] = await self._of(ref.kind, (ref.name,))

        def value_of(ref: refs.Ref) -> Json:
            try:
                return refs.follow(roots[ref.root], (ref.name, *ref.path))
            except refs.Unset:
                if lenient:
                    return None
                raise errors.AttemptFailed(
                    f"{ref} is read, and nothing has set it", code="REF_UNSET", retryable=False
                ) from None

        return refs.replace(op, args, value_of)

    async def given(self, text: str) -> JsonObject:
        """An expression with what it names."""
        names = plan_expression.compile(text).names
        return {"text": text, "scope": {root: await self._of(root, wanted) for root, wanted in names.items()}}

    async def _of(self, root: str, wanted: Collection[str] | None) -> JsonObject:
        """What is known of the `wanted` names (None: of all) that belong to a root."""
        if root == "var":
            variables = self._course.variables
            found = variables if wanted is None else [name for name in wanted if name in variables]
            values: dict[str, Json] = {}
            for name in found:
                stored = variables[name]
                held = stored["value"] if "value" in stored else await wiring.load(self._blobs, stored)
                values[name] = plan.value(held)
            return values
        if root == "input":
            known = self._loaded.get("input") or await self._load("input")
            return known if wanted is None else {name: known[name] for name in wanted if name in known}
        contexts = await self._load("contexts")
        own = {name.partition(":")[2]: value for name, value in contexts.items() if name.startswith(f"{root}:")}
        return own if wanted is None else {name: own[name] for name in wanted if name in own}

    async def _load(self, what: str) -> JsonObject:
        found = self._loaded.get(what)
        if found is None:
            stored = self._run.inputs if what == "input" else self._course.contexts
            found = self._loaded[what] = cast("JsonObject", await wiring.load(self._blobs, stored) or {})
        return found
