"""Evaluate the expressions of a node before its visit starts: whether it runs, on what, and what a person is asked.

A visit begins with `when`, the transforms of its inputs, the items of a `foreach`, a result from the cache, and the
question of an approval. The kernel cannot evaluate any of these (it is pure and has no blobs); the driver does it
between deciding and appending, and hands the kernel a `ResolveNode` command. It has no effects and costs no commit of
its own.
"""

from __future__ import annotations

from typing import Protocol, cast

from openskelo import errors
from openskelo.engine.resolving import same_work
from openskelo.executors import stored_values
from openskelo.executors.inputs import approval_context, node_inputs
from openskelo.kernel import commands, definition, outcome
from openskelo.kernel.flows import visits
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import Run
from openskelo.stores import api
from openskelo.structs import frozen
from openskelo.values import canonical, template
from openskelo.values.cel import expression

#: A foreach over more items than this is refused: the run would not fit into memory gracefully.
MAX_ITEMS = 10_000


class NodeWork(Protocol):
    """The questions of the resolver about a node's work before it starts (`Performer` implements it)."""

    def code_digest(self, node: definition.Node) -> str:
        """Return the digest of the project's code that does the work, empty for other work (AttemptFailed)."""
        ...

    async def are_outputs_valid(self, run_id: str, node: definition.Node, outputs: JsonObject) -> bool:
        """True if outputs of earlier work keep the node's contract now: files and artifacts may be gone."""
        ...


class Resolver:
    """Resolves nodes for one driver. Without `cache` no result of an earlier run is used."""

    def __init__(self, blobs: api.Blobs, work: NodeWork, *, cache: bool = True) -> None:
        self._blobs = blobs
        self._work = work
        self._cache = cache

    async def resolve(self, run: Run, key: str, at: int, wall: int) -> commands.ResolveNode:
        """Return the command with the results of the expressions of node `key`; a failed expression is reported in it.

        `at` is the run's time, `wall` the system's, from which the deadline of a question is counted. Raises StoreError
        when a value cannot be stored now: that is no fault of the node.
        """
        try:
            return await self._resolve(run, key, at, wall)
        except errors.OpenSkeloError as error:
            if node_inputs.is_store_trouble(error):
                raise
            failure = outcome.Failure(code=error.code, message=error.message, retryable=False)
            return commands.ResolveNode(at=at, node=key, visit=run.nodes[key].visit, failure=failure)

    async def _resolve(self, run: Run, key: str, at: int, wall: int) -> commands.ResolveNode:
        blobs = self._blobs
        node = run.workflow.nodes[key]
        visit = run.nodes[key].visit
        values, stored_inputs = await _inputs(blobs, run, node)
        scope = await _scope(blobs, run, node, values)
        evaluation = _evaluate(node, scope)
        if evaluation.skip:
            return commands.ResolveNode(at=at, node=key, visit=visit, skip=True)
        cached_outcome: commands.Cached | None = None
        if self._cache and _may_be_cached(run, node):
            cached_outcome = await _cached(blobs, run, node, values, self._work)
        question: commands.Ask | None = None
        if cached_outcome is None and visits.asks_person(run, node):
            question = await _ask(blobs, run, node, scope, wall)
        items = evaluation.items
        if items is None:
            return commands.ResolveNode(
                at=at, node=key, visit=visit, inputs=stored_inputs, ask=question, cached=cached_outcome
            )
        return commands.ResolveNode(
            at=at,
            node=key,
            visit=visit,
            inputs=stored_inputs,
            items=await stored_values.store(blobs, items),
            count=len(items),
            ask=question,
            cached=cached_outcome,
            taken=_items_of_parent(run, node, scope, items) if key in run.kept_items else None,
            code=_code_of(run, node, self._work),
        )


def _items_of_parent(run: Run, node: definition.Node, scope: JsonObject, items: list[Json]) -> tuple[int, ...] | None:
    """Return the indexes of items that the run's parent has done; None in a later visit, which does them again."""
    if run.nodes[node.key].visit > 1:
        return None
    about = cast("JsonObject", scope["run"])
    inputs = cast("JsonObject", scope["inputs"])
    return same_work.match_items(node, inputs, about["inputs"], items, run.kept_items[node.key])


def _code_of(run: Run, node: definition.Node, work: NodeWork) -> str | None:
    """Return the digest of the project's code that will do the items: a fork compares it."""
    if run.nodes[node.key].items is not None:  # they are resolved again
        return None
    try:
        return work.code_digest(node) or None
    except errors.AttemptFailed:
        return None  # as the first attempt will report


@frozen
class Evaluated:
    """The results of a node's expressions: skip it, or the items of a foreach (None without one)."""

    skip: bool = False
    items: list[Json] | None = None


async def expressions(blobs: api.Blobs, run: Run, node: definition.Node, values: JsonObject) -> Evaluated:
    """Evaluate the expressions of the node on these inputs (OpenSkeloError when one fails)."""
    return _evaluate(node, await _scope(blobs, run, node, values))


async def _scope(blobs: api.Blobs, run: Run, node: definition.Node, values: JsonObject) -> dict[str, Json]:
    """Return the variables that the expressions of a node see."""
    return {"inputs": values, "run": node_inputs.run_variable(run, await node_inputs.run_inputs(blobs, run, node))}


def _evaluate(node: definition.Node, scope: JsonObject) -> Evaluated:
    if node.when is not None and not _holds(node.when, scope):
        return Evaluated(skip=True)
    return Evaluated(items=None if node.foreach is None else _items(node.foreach.items, scope))


async def _inputs(blobs: api.Blobs, run: Run, node: definition.Node) -> tuple[dict[str, Json], Stored | None]:
    """Return the node's inputs, and what the run stores of them; inputs that a person has edited stay as they are."""
    state = run.nodes[node.key]
    if state.edited or not node.is_block:
        return await node_inputs.inputs(blobs, run, node), state.inputs
    values = await node_inputs.bound(blobs, run, node)
    new_values = _transform(node, values)
    values.update(new_values)
    values.update(node_inputs.fork_changes(run, node.key))
    return values, await stored_values.store(blobs, new_values) if new_values else None


def _transform(node: definition.Node, values: JsonObject) -> dict[str, Json]:
    """Return the transformed inputs; a failing transform fails the node, the raw value is never used."""
    new_values: dict[str, Json] = {}
    for name, binding in node.bindings.items():
        if binding.transform is not None and name in values:
            program = expression.compile(binding.transform, {"value": None})
            new_values[name] = program.evaluate({"value": values[name]})
    return new_values


def _holds(text: str, scope: JsonObject) -> bool:
    result = expression.compile(text, dict.fromkeys(scope)).evaluate(scope)
    if not isinstance(result, bool):
        raise errors.AttemptFailed("`when` must be true or false", code="WHEN_NOT_BOOLEAN")
    return result


def _items(text: str, scope: JsonObject) -> list[Json]:
    result = expression.compile(text, dict.fromkeys(scope)).evaluate(scope)
    if not isinstance(result, list):
        raise errors.AttemptFailed("the items of a foreach must be a list", code="ITEMS_NOT_LIST")
    if len(result) > MAX_ITEMS:
        raise errors.AttemptFailed(f"{len(result)} items are more than {MAX_ITEMS}", code="ITEMS_TOO_MANY")
    return result


def cache_key(run_id: str, node: definition.Node, inputs_hash: str, code: str) -> str:
    """Return the cache key of a result: the digest of what the node does and of its inputs.

    For a handler of the project that includes its `code`. A prompt that shows the model its run, and work that a gate
    compares with the run, has a key of its own in every run.
    """
    work: dict[str, Json] = {"node": same_work.work_document(node), "inputs": inputs_hash}
    if code:
        work["code"] = code
    if same_work.prompt_uses_run(node) or same_work.gates_use_run(node):
        work["run"] = run_id
    return canonical.digest(work)


def _may_be_cached(run: Run, node: definition.Node) -> bool:
    """True if the cache may answer this visit.

    Not a visit that was sent back: the cached result is what was wrong. Not the node that a fork does again, nor a node
    of the sub-workflow that it does again. Nothing in a run that was started without cache.
    """
    if not node.cache or run.no_cache:
        return False
    state = run.nodes[node.key]
    if node.foreach is not None or state.slots[0].feedback is not None:
        return False
    if state.visit > 1 and _was_sent_back_untold(run, node.key):
        return False
    again = "" if run.parent is None else str(run.parent.get("node"))
    inside = again.removesuffix("inputs") if again.endswith("/inputs") else None
    return node.key != again and (inside is None or not node.key.startswith(inside))


def _was_sent_back_untold(run: Run, key: str) -> bool:
    """True if a bounce with `feedback: false` has led to the node."""
    return any(
        not rule.feedback and run.nodes[other].bounces.get(index, 0) and key in (rule.told or (rule.route_to,))
        for other, shape in run.workflow.nodes.items()
        for index, rule in enumerate(shape.bounces)
    )


async def _cached(
    blobs: api.Blobs, run: Run, node: definition.Node, values: JsonObject, work: NodeWork
) -> commands.Cached | None:
    inputs_hash = canonical.digest(values)
    try:
        entry = await blobs.read_cached_outputs(cache_key(run.id, node, inputs_hash, work.code_digest(node)))
        if entry is None or not await _are_files_there(blobs, run, node, cast("Stored", entry["outputs"]), work):
            return None
    except errors.AttemptFailed:
        return None  # the handler is missing, as its attempt will report
    return commands.Cached(
        outputs=cast("Stored", entry["outputs"]),
        inputs_hash=inputs_hash,
        output_hash=cast("str", entry["outputHash"]),
        source=cast("JsonObject", entry["source"]),
    )


async def _are_files_there(blobs: api.Blobs, run: Run, node: definition.Node, outputs: Stored, work: NodeWork) -> bool:
    """True if the files and artifacts that a cached result names are still there."""
    if all(port.kind == "json" for port in node.outputs):
        return True
    return await work.are_outputs_valid(run.id, node, cast("JsonObject", await stored_values.load(blobs, outputs)))


async def _ask(blobs: api.Blobs, run: Run, node: definition.Node, scope: JsonObject, wall: int) -> commands.Ask:
    """Return the rendered question, with a digest over exactly what is asked and until when."""
    approval = node.approval or definition.Approval(prompt="", timeout_ms=None)
    if node.approval is None:
        prompt = f"Let {node.key} act ({approval_context.performer_name(node)})? It cannot be undone."
    else:
        prompt = template.compile(approval.prompt, dict.fromkeys(scope)).render(scope)
    if history := approval_context.describe_failures(run.nodes[node.key]):
        prompt = f"{prompt}\n{history}"
    values = scope["inputs"]
    if node.step is not None:
        values = _asked_by(node.step, cast("JsonObject", values))
    stored_args = await stored_values.store(blobs, values)
    expires_at = None if approval.timeout_ms is None else wall + approval.timeout_ms
    return commands.Ask(
        prompt=prompt,
        args=cast("JsonObject", stored_args.get("value", {})),
        stored=None if "value" in stored_args else stored_args,
        form=approval.form,
        digest=digest(run, node.key, values, expires_at),
        expires_at=expires_at,
    )


def _asked_by(step: definition.Step, args: JsonObject) -> Json:
    """Return what a person is asked about a step: its request, or the arguments that it works with."""
    return args.get("request", args) if step.op == "ask_human" else args


def digest(run: Run, key: str, args: Json, expires_at: int | None) -> str:
    """Return what binds an answer to its question: workflow, node, visit, exact arguments and expiry."""
    visit = run.nodes[key].visit
    bound_args: JsonObject = {
        "workflow": run.workflow.hash,
        "run": run.id,
        "node": key,
        "visit": visit,
        "args": args,
        "expiresAt": expires_at,
    }
    return canonical.digest(bound_args)
