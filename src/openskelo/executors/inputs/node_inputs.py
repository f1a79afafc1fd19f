"""The inputs of a node, from its bindings, items, defaults and edits; and the request of an attempt.

    bindings and defaults  ->  transforms and edits of a person  ->  changes of a fork  ->  inputs

Steps of plans and turns of live graphs have no bindings: `step_arguments` and `turn_inputs` resolve theirs. Large
values are blobs, which are loaded here, so that executors get plain values and never see the store.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any, cast

from openskelo import errors, ops
from openskelo.executors import stored_values
from openskelo.executors.attempt import budget_claims, running_attempt
from openskelo.kernel import definition
from openskelo.kernel.flows import plan
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.kernel.run import Attempt, GraphState, InboxMessage, PastTurn, PlanState, Run
from openskelo.ops import emit
from openskelo.record import envelope
from openskelo.stores import api
from openskelo.structs import replace
from openskelo.values import plan_refs
from openskelo.values.cel import plan_expression

#: How many visits of foreach nodes keep their shared inputs; above it the oldest is dropped.
_MAX_VISITS = 32


def is_store_trouble(error: errors.OpenSkeloError) -> bool:
    """True if an error is about the store (room, locks) and not about the run, so that it may go away."""
    return isinstance(error, errors.StoreError) and not isinstance(error, errors.Corrupt)


async def outputs(blobs: api.BlobReader, run: Run, key: str) -> JsonObject:
    """Return the outputs of a finished node, empty if it has none.

    Those of a foreach are lists in the order of its items, with null where an item has failed or not given the output.
    One that keeps failed items lists them as `errors`.
    """
    node = run.nodes[key]
    if node.item_outputs is None:
        return cast("JsonObject", await stored_values.load(blobs, node.outputs) or {})
    items = [
        cast("JsonObject", await stored_values.load(blobs, stored_item) or {}) for stored_item in node.item_outputs
    ]
    spec = run.workflow.nodes[key]
    names = dict.fromkeys(port.name for port in spec.outputs)
    names.update(dict.fromkeys(itertools.chain.from_iterable(items)))
    values: dict[str, Json] = {name: [item.get(name) for item in items] for name in names}
    if spec.keeps_failed_items:
        values["errors"] = list(node.item_errors)
    return values


async def bound(blobs: api.BlobReader, run: Run, node: definition.Node) -> dict[str, Json]:
    """Return the inputs of a node by its bindings and defaults, before any transform; a port may have no value."""
    sources: dict[str, JsonObject] = {}
    values: dict[str, Json] = {}
    for port in node.inputs:
        binding = node.bindings.get(port.name)
        if binding is not None:
            if binding.node not in sources:
                sources[binding.node] = await _source(blobs, run, binding.node)
            source = sources[binding.node]
            if binding.port in source:
                values[port.name] = source[binding.port]
                continue
        if port.has_default:
            values[port.name] = port.default
    return values


async def _source(blobs: api.BlobReader, run: Run, key: str) -> JsonObject:
    """Return the outputs of a node, or the inputs of the run if `key` is empty."""
    if key:
        return await outputs(blobs, run, key)
    return cast("JsonObject", await stored_values.load(blobs, run.inputs))


async def inputs(blobs: api.BlobReader, run: Run, node: definition.Node) -> dict[str, Json]:
    """Return the inputs of a node in its current visit: transforms, edits of a person and changes of a fork applied."""
    if node.step is not None:
        return await step_arguments(blobs, run, node)
    if node.turn is not None:
        return await turn_inputs(blobs, run, node)
    state = run.nodes[node.key]
    if state.edited:
        return {**cast("JsonObject", await stored_values.load(blobs, state.inputs))}
    values = await bound(blobs, run, node)
    if state.inputs is not None:
        values.update(cast("JsonObject", await stored_values.load(blobs, state.inputs)))
    values.update(fork_changes(run, node.key))
    return values


def fork_changes(run: Run, key: str) -> JsonObject:
    """Return the inputs that a fork changed on the node it starts from."""
    if run.parent is None or run.parent.get("node") != key:
        return {}
    return cast("JsonObject", run.parent.get("set") or {})


async def run_inputs(blobs: api.BlobReader, run: Run, node: definition.Node) -> JsonObject:
    """Return what the expressions of a node see as `run.inputs`: the inputs of the file that the node is written in."""
    if node.inside:
        return await outputs(blobs, run, node.inside)
    return cast("JsonObject", await stored_values.load(blobs, run.inputs))


def run_variable(run: Run, run_inputs: JsonObject) -> Mapping[str, Json]:
    """Return what expressions see as `run`."""
    return {"id": run.id, "name": run.workflow.name, "inputs": run_inputs}


class Visits:
    """State that the attempts of one run share: the inputs of foreach visits, and the claims on the run's budget.

    The driver keeps one for each run that it drives.
    """

    def __init__(self) -> None:
        self._visits: dict[tuple[str, int], tuple[Stored | None, asyncio.Task[running_attempt.VisitInputs]]] = {}
        self._budget_claims: budget_claims.BudgetClaims | None = None

    def budget_claims(self, run: Run) -> budget_claims.BudgetClaims:
        """Return the claims on the budget of the run."""
        if self._budget_claims is None:
            self._budget_claims = budget_claims.BudgetClaims(run)
        return self._budget_claims

    async def load(self, blobs: api.BlobReader, run: Run, node: definition.Node) -> running_attempt.VisitInputs:
        """Return the shared inputs of the current visit, which are loaded once.

        Items that start together wait for one task, and so go on together: their reports share a commit.
        """
        state = run.nodes[node.key]
        key = (node.key, state.visit)
        source, loading = self._visits.get(key, (None, None))
        if loading is None or source is not state.inputs or _has_failed(loading):  # a person may have edited them
            loading = asyncio.create_task(_load_visit(blobs, run, node))
            if len(self._visits) >= _MAX_VISITS:
                del self._visits[next(iter(self._visits))]
            self._visits[key] = (state.inputs, loading)
        if loading.done():
            return loading.result()
        return await asyncio.shield(loading)


async def _load_visit(blobs: api.BlobReader, run: Run, node: definition.Node) -> running_attempt.VisitInputs:
    state = run.nodes[node.key]
    items = cast("list[Json]", await stored_values.load(blobs, state.items))
    name = "" if node.foreach is None else node.foreach.name
    item_name = name if any(port.name == name for port in node.inputs) else ""
    visit = running_attempt.VisitInputs(await inputs(blobs, run, node), items, item_name)
    if _uses_run_inputs(node):
        visit.run_inputs = await run_inputs(blobs, run, node)
    return visit


def _has_failed(loading: asyncio.Task[running_attempt.VisitInputs]) -> bool:
    return loading.done() and (loading.cancelled() or loading.exception() is not None)


async def make_request(
    blobs: api.BlobReader, run: Run, attempt: Attempt, visits: Visits
) -> running_attempt.AttemptRequest:
    """Return the request of one attempt, with all values loaded."""
    workflow = run.workflow
    node = workflow.nodes[attempt.node]
    state = run.nodes[attempt.node]
    slot = state.slots[attempt.slot]
    visit: running_attempt.VisitInputs | None = None
    item: Json = None
    if attempt.item is not None and node.foreach is not None:
        visit = await visits.load(blobs, run, node)
        item = visit.items[attempt.item]
        values = {**visit.inputs, visit.item_name: item} if visit.item_name else visit.inputs
    else:
        values = await inputs(blobs, run, node)
    request = running_attempt.AttemptRequest(
        run_id=run.id,
        workflow_name=workflow.name,
        node=node,
        visit=attempt.visit,
        attempt=attempt.attempt,
        inputs=values,
        now=state.entered_at,
        item_index=attempt.item,
        item=item,
        visit_inputs=visit,
        feedback=slot.feedback,
        run_inputs=await _request_run_inputs(blobs, run, node, visit),
        plan_mode="normal" if workflow.plan is None else workflow.plan.mode,
        session=state.session,
        call_rules=state.call_rules,
        is_planning=run.global_mode == "PLANNING",
    )
    if slot.unjudged is not None:
        to_judge = cast("JsonObject", await stored_values.load(blobs, slot.unjudged))
        request = replace(request, outputs_to_judge=to_judge)
    if node.work.spends_at_work or (run.has_limits and _uses_run_inputs(node)):
        request = replace(request, budget_claims=visits.budget_claims(run))
    return request


async def _request_run_inputs(
    blobs: api.BlobReader, run: Run, node: definition.Node, visit: running_attempt.VisitInputs | None
) -> JsonObject:
    """Return `run.inputs` as the node sees them; large ones only for work whose expressions may name them."""
    if "value" in run.inputs and not node.inside:
        return cast("JsonObject", run.inputs["value"])
    if visit is not None:
        return visit.run_inputs
    if _uses_run_inputs(node):
        return await run_inputs(blobs, run, node)
    return {}


def _uses_run_inputs(node: definition.Node) -> bool:
    """True if the node has a prompt or gates, whose expressions may name the run and which may call a model."""
    return node.work.has_prompt or bool(node.pre_gates or node.post_gates)


# The inputs of a turn in a live graph: the messages of its inbox in order and, for a model, the earlier turns.


async def turn_inputs(blobs: api.BlobReader, run: Run, node: definition.Node) -> dict[str, Json]:
    """Return the inputs of the node's turn; what a person has edited replaces what came in."""
    graph = cast("GraphState", run.graph_state)
    inbox = graph.inboxes[node.key]
    values = await _entries(blobs, run, graph, inbox.turn())
    if node.work.has_prompt:
        values["earlier"] = [await _past_turn(blobs, run, graph, turn) for turn in inbox.past_turns]
    new_inputs = run.nodes[node.key].inputs
    if new_inputs is not None:
        values.update(cast("JsonObject", await stored_values.load(blobs, new_inputs)))
    return values


async def _past_turn(blobs: api.BlobReader, run: Run, graph: GraphState, turn: PastTurn) -> JsonObject:
    return {
        **await _entries(blobs, run, graph, turn.messages),
        "outputs": await stored_values.load(blobs, turn.outputs),
    }


async def _entries(
    blobs: api.BlobReader, run: Run, graph: GraphState, inbox: Iterable[InboxMessage]
) -> dict[str, Json]:
    messages: list[Json] = []
    handoffs: list[Json] = []
    for position, message in enumerate(inbox):
        common: JsonObject = {"position": position, "id": message.id, "at": envelope.timestamp(message.at)}
        content = await stored_values.load(blobs, message.content)
        if not message.source:
            messages.append({**common, "role": message.role, "by": message.by, "content": content})
            continue
        sender, channel = run.workflow.nodes.get(message.source), graph.edges.get(message.edge)
        handoffs.append(
            {
                **common,
                "from": message.source if sender is None else sender.label,
                "node": message.source,
                "label": "" if channel is None else channel.label,
                "outputs": content,
            }
        )
    return {"messages": messages, "handoffs": handoffs}


# The arguments of a plan's step, with values in place of refs; and the outputs of a plan.


async def step_arguments(blobs: api.BlobReader, run: Run, node: definition.Node) -> dict[str, Json]:
    """Return the arguments of the step in its current visit; raise AttemptFailed REF_UNSET if a ref has no value."""
    new_arguments = run.nodes[node.key].inputs
    if new_arguments is not None:
        return {**cast("JsonObject", await stored_values.load(blobs, new_arguments))}
    step = cast("definition.Step", node.step)
    values = _Values(run)
    while True:
        try:
            return values.arguments(step)
        except _NotLoaded as missing:
            await values.load(blobs, missing)


async def plan_outputs(blobs: api.BlobReader, run: Run) -> dict[str, Json]:
    """Return the outputs of the run: what a step has emitted, else what the plan's `outputs` name, null if not set."""
    plan_state = cast("PlanState", run.plan_state)
    if plan_state.emitted is not None:
        emitted_value = cast("JsonObject", plan.value(await stored_values.load(blobs, plan_state.emitted)))
        return {"result": emitted_value.get("result"), "audit": emitted_value.get("audit")}
    output_refs = cast("definition.Plan", run.workflow.plan).outputs
    values = _Values(run)
    while True:
        try:
            outputs = values.replace_refs(output_refs, lenient=True)
        except _NotLoaded as missing:
            await values.load(blobs, missing)
        else:
            return {name.removesuffix("_refs").removesuffix("_ref"): value for name, value in outputs.items()}


class _NotLoaded(Exception):
    """A value is needed that is in a blob."""

    def __init__(self, blob: Stored) -> None:
        super().__init__()
        self.blob = blob


class _Values:
    """The variables, inputs and contexts of a plan's run, as far as its events hold them or they were loaded."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._plan_state = cast("PlanState", run.plan_state)
        self._loaded: dict[str, Json] = {}

    async def load(self, blobs: api.BlobReader, missing: _NotLoaded) -> None:
        """Load the blob that was missing."""
        self._loaded[cast("str", missing.blob["blob"])] = await stored_values.load(blobs, missing.blob)

    def arguments(self, step: definition.Step) -> dict[str, Json]:
        """Return the arguments of a step."""
        op = step.op
        args = self._emit_arguments(step) if op == "emit" else self.replace_refs(step.args, ops.free_paths(op))
        if op == "transform":
            text = args.get("expr")
            if isinstance(text, str):
                args["expr"] = self._with_scope(text)
        elif op == "branch" and isinstance(cond := args.get("cond"), Mapping):
            text = cond.get("expr")
            args["cond"] = {**cond, "expr": self._with_scope(text)} if isinstance(text, str) else cond
        return args

    def _emit_arguments(self, step: definition.Step) -> dict[str, Json]:
        args: dict[str, Json] = {}
        for name, value in step.args.items():
            args |= self.replace_refs({name: value}, lenient=emit.may_be_null(step.ending or "ok", name))
        return args

    def replace_refs(
        self, args: JsonObject, free: Set[plan_refs.Path] = frozenset(), *, lenient: bool = False
    ) -> dict[str, Json]:
        """Return `args` with values for refs, but not at the paths of `free`.

        A ref without a value is null if `lenient`, else REF_UNSET.
        """

        def value_of(ref: plan_refs.Ref) -> Json:
            try:
                return plan_refs.follow(self._root(ref.kind, (ref.name,)), (ref.name, *ref.path))
            except plan_refs.Unset:
                if lenient:
                    return None
                raise errors.AttemptFailed(
                    f"{ref} is read, and nothing has set it", code="REF_UNSET", retryable=False
                ) from None

        return {**plan_refs.replace(args, free, value_of)}

    def _with_scope(self, text: str) -> JsonObject:
        """Return an expression with the values that it names."""
        scope: dict[str, Json] = {}
        for root, field_names in plan_expression.compile(text).names.items():
            scope[root] = self._root(root, field_names)
        return {"text": text, "scope": scope}

    def _root(self, root: str, wanted: Collection[str] | None) -> JsonObject:
        """Return the values of the `wanted` names (None: of all) of a root: `var`, `input`, `ctx` or `snap`."""
        if root == "var":
            variables = self._plan_state.variables
            names = variables if wanted is None else [name for name in wanted if name in variables]
            return {name: plan.value(self._stored(variables[name])) for name in names}
        if root == "input":
            values = self._stored(self._run.inputs)
        else:
            contexts: JsonObject = {} if self._plan_state.contexts is None else self._stored(self._plan_state.contexts)
            values = {name.partition(":")[2]: value for name, value in contexts.items() if name.startswith(f"{root}:")}
        return values if wanted is None else _only(values, wanted)

    def _stored(self, stored: Stored) -> Any:
        if "value" in stored:
            return stored["value"]
        name = cast("str", stored["blob"])
        if name not in self._loaded:
            raise _NotLoaded(stored)
        return self._loaded[name]


def _only(values: JsonObject, wanted: Collection[str]) -> JsonObject:
    return {name: values[name] for name in wanted if name in values}
