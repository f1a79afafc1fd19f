"""The values of a visit's expressions: whether it runs, on what, for which items, and what a person is asked first.

This is work without effects, done between deciding and appending, so that it costs no sync of its own.
"""

from __future__ import annotations

from typing import Protocol, cast

from openskelo import errors
from openskelo.engine import same_work, stakes, wiring
from openskelo.executors import keeping
from openskelo.frozen import frozen
from openskelo.kernel import commands, definition, outcome
from openskelo.kernel.apply import asks
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import Run
from openskelo.values import canonical, expression, template

#: A foreach over more items than this is refused: the run would not fit into memory gracefully.
MAX_ITEMS = 10_000


class Memory(keeping.Blobs, Protocol):
    """Blobs, and the results of earlier runs."""

    async def cached(self, key: str) -> JsonObject | None: ...


class Worker(Protocol):
    """Who does the work of nodes, as far as one has to ask before it begins."""

    def code(self, node: definition.Node) -> str:
        """The digest of the project's code that the work is, empty for other work; AttemptFailed when it is gone."""
        ...

    async def stands(self, run_id: str, node: definition.Node, outputs: JsonObject) -> bool:
        """Whether outputs of earlier work keep the node's contract now: files and artifacts may be gone."""
        ...


async def resolve(
    memory: Memory, run: Run, key: str, at: int, worker: Worker, *, cache: bool = True
) -> commands.ResolveNode:
    """The command that tells the kernel what `key`'s expressions came to. A failed expression is told as well.

    Without `cache` nothing is taken from there. StoreError when a value cannot be kept now: that is no fault of the
    node's.
    """
    visit = run.nodes[key].visit
    try:
        return await _resolve(memory, run, key, at, worker, cache=cache)
    except errors.OpenSkeloError as error:
        if wiring.is_trouble(error):
            raise
        failure = outcome.Failure(code=error.code, message=error.message, retryable=False)
        return commands.ResolveNode(at=at, node=key, visit=visit, failure=failure)


async def _resolve(memory: Memory, run: Run, key: str, at: int, worker: Worker, *, cache: bool) -> commands.ResolveNode:
    node = run.workflow.nodes[key]
    visit = run.nodes[key].visit
    values, kept = await _inputs(memory, run, node)
    scope = await _scope(memory, run, node, values)
    found = _evaluate(node, scope)
    if found.skip:
        return commands.ResolveNode(at=at, node=key, visit=visit, skip=True)
    items = found.items
    cached = await _cached(memory, run, node, values, worker) if cache and _may_be_cached(run, node) else None
    return commands.ResolveNode(
        at=at,
        node=key,
        visit=visit,
        inputs=kept,
        items=None if items is None else await keeping.store(memory, items),
        count=None if items is None else len(items),
        ask=await _ask(memory, run, node, scope, at) if cached is None and asks(run, node) else None,
        cached=cached,
        taken=None if items is None or key not in run.earlier else _taken(run, node, scope, items),
        code=None if items is None else _code_of(run, node, worker),
    )


def _taken(run: Run, node: definition.Node, scope: JsonObject, items: list[Json]) -> tuple[int, ...] | None:
    """Which of the items the run that this one was forked from has done; a later visit is there to do them better."""
    if run.nodes[node.key].visit > 1:
        return None
    from openskelo.engine import kept_items  # noqa: PLC0415  only forks have any

    about = cast("JsonObject", scope["run"])
    return kept_items.match(node, cast("JsonObject", scope["inputs"]), about["inputs"], items, run.earlier[node.key])


def _code_of(run: Run, node: definition.Node, worker: Worker) -> str | None:
    """The code that is to work on the items, where it is the project's: a fork looks at it."""
    if run.nodes[node.key].items is not None:  # they are asked about once more
        return None
    try:
        return worker.code(node) or None
    except errors.AttemptFailed:
        return None  # as the first attempt will find


@frozen
class Found:
    """What a node's expressions come to: nothing to do, or the items of a foreach (None without one)."""

    skip: bool = False
    items: list[Json] | None = None


async def expressions(blobs: keeping.Blobs, run: Run, node: definition.Node, values: JsonObject) -> Found:
    """What the expressions of the node come to on these inputs (OpenSkeloError when one fails)."""
    return _evaluate(node, await _scope(blobs, run, node, values))


async def _scope(blobs: keeping.Blobs, run: Run, node: definition.Node, values: JsonObject) -> dict[str, Json]:
    """What the expressions of a node see."""
    return {"inputs": values, "run": wiring.about(run, await wiring.run_inputs(blobs, run, node))}


def _evaluate(node: definition.Node, scope: JsonObject) -> Found:
    if node.when is not None and not _holds(node.when, scope):
        return Found(skip=True)
    return Found(items=None if node.foreach is None else _items(node.foreach.items, scope))


async def _inputs(blobs: keeping.Blobs, run: Run, node: definition.Node) -> tuple[dict[str, Json], Stored | None]:
    """The node's inputs, and what the run is to hold of them; what a person has changed before stays as it is."""
    state = run.nodes[node.key]
    if state.edited or not run.is_dag:
        return await wiring.inputs(blobs, run, node), state.inputs
    values = await wiring.bound(blobs, run, node)
    transformed = _transform(node, values)
    values.update(transformed)
    values.update(wiring.forked(run, node.key))
    return values, await keeping.store(blobs, transformed) if transformed else None


def _transform(node: definition.Node, values: JsonObject) -> dict[str, Json]:
    """The transformed inputs: an error in a transform fails the node, it never lets the raw value pass."""
    transformed: dict[str, Json] = {}
    for name, binding in node.bindings.items():
        if binding.transform is not None and name in values:
            compiled = expression.compile(binding.transform, {"value": None})
            transformed[name] = compiled.evaluate({"value": values[name]})
    return transformed


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
    """The name under which a result is found again: the work that the node does, and its inputs.

    For a handler of the project the work is its `code`, too. A prompt that tells the model about its run, and work that
    a gate compares with the run, is answered anew in every run.
    """
    work: dict[str, Json] = {"node": same_work.described(node), "inputs": inputs_hash}
    if code:
        work["code"] = code
    if same_work.tells_of_run(node) or same_work.is_judged_by_run(node):
        work["run"] = run_id
    return canonical.digest(work)


def _may_be_cached(run: Run, node: definition.Node) -> bool:
    """A visit that was sent back is not answered with what was wrong before, whether it is told why or not; nor is the
    node that a fork does again, or one inside of the sub-workflow that it does again; nor anything in a run that says
    so."""
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
    """Whether a way back with `feedback: false` has led to the node."""
    return any(
        not rule.feedback and run.nodes[other].bounces.get(index, 0) and key in (rule.told or (rule.route_to,))
        for other, shape in run.workflow.nodes.items()
        for index, rule in enumerate(shape.bounces)
    )


async def _cached(
    memory: Memory, run: Run, node: definition.Node, values: JsonObject, worker: Worker
) -> commands.Cached | None:
    inputs_hash = canonical.digest(values)
    try:
        found = await memory.cached(cache_key(run.id, node, inputs_hash, worker.code(node)))
        if found is None or not await _stands(memory, run, node, cast("Stored", found["outputs"]), worker):
            return None
    except errors.AttemptFailed:
        return None  # the handler is not there, as its attempt will find
    return commands.Cached(
        outputs=cast("Stored", found["outputs"]),
        inputs_hash=inputs_hash,
        output_hash=cast("str", found["outputHash"]),
        source=cast("JsonObject", found["source"]),
    )


async def _stands(memory: Memory, run: Run, node: definition.Node, known: Stored, worker: Worker) -> bool:
    """Whether what a known result refers to is still there; one that refers to nothing always is."""
    if all(port.kind == "json" for port in node.outputs):
        return True
    return await worker.stands(run.id, node, cast("JsonObject", await keeping.load(memory, known)))


async def _ask(memory: Memory, run: Run, node: definition.Node, scope: JsonObject, at: int) -> commands.Ask:
    """The question, rendered, with a digest over exactly what is asked and until when."""
    approval = node.approval or definition.Approval(prompt="")
    if node.approval is None:
        prompt = f"Let {node.key} act ({stakes.doer(node)})? It cannot be undone."
    else:
        prompt = template.compile(approval.prompt, dict.fromkeys(scope)).render(scope)
    if told := stakes.so_far(run.nodes[node.key]):
        prompt = f"{prompt}\n{told}"
    values = scope["inputs"]
    if node.step is not None:
        values = _asked_by(node.step, cast("JsonObject", values))
    stored = await keeping.store(memory, values)
    expires_at = None if approval.timeout_ms is None else at + approval.timeout_ms
    return commands.Ask(
        prompt=prompt,
        args=cast("JsonObject", stored.get("value", {})),
        stored=None if "value" in stored else stored,
        form=approval.form,
        digest=digest(run, node.key, values, expires_at),
        expires_at=expires_at,
    )


def _asked_by(step: definition.Step, args: JsonObject) -> Json:
    """What a person is asked about a step: the request that it is, or the arguments that it is to work with."""
    return args.get("request", args) if step.op == "ask_human" else args


def digest(run: Run, key: str, args: Json, expires_at: int | None) -> str:
    """What binds an answer to its question: the workflow, the node and visit, the exact arguments, the expiry."""
    visit = run.nodes[key].visit
    bound: JsonObject = {
        "workflow": run.workflow.hash,
        "run": run.id,
        "node": key,
        "visit": visit,
        "args": args,
        "expiresAt": expires_at,
    }
    return canonical.digest(bound)
