"""Estimate the use of a run from its definition, the prices of its models, and past runs of the same name.

`read_past_runs` averages the newest finished runs, as far as their nodes were what the workflow's nodes are now.
`basis` adds what each call of a model may cost at most. `report` gives that to `workflows.estimate`, which counts the
steps and multiplies: minimum, expected and worst case.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import cast

import orjson

from openskelo import agent_settings, errors
from openskelo.history import loading
from openskelo.kernel import definition, workflow_codec
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.stores import api
from openskelo.structs import field, frozen, mutable, replace
from openskelo.workflows import outline
from openskelo.workflows.blocks import model_settings
from openskelo.workflows.estimate import estimator, quantities

#: At most this many finished runs count, found among this many of the newest runs.
_MAX_RUNS = 20
_MAX_ROWS = 500
#: The fields of a node that say nothing about what one of its attempts takes.
_NOT_WORK = frozenset({"label", "metadata", "estimate", "reserve", "after", "retry", "bounces"})


@frozen
class PastRuns:
    """The average use of finished runs of the same nodes."""

    #: The number of these runs; may be 0.
    runs: int
    succeeded: int
    steps: float
    tokens: float
    cost_usd: float
    #: The time that a run was busy. It includes the waits of attempts for worker processes and models.
    seconds: float
    #: The time that the longest run was busy.
    longest_seconds: float
    #: The average of one attempt by node, also from runs in which other nodes were different. Nodes that ask people are
    #: left out.
    attempts: Mapping[str, quantities.Quantity] = field(default_factory=dict[str, quantities.Quantity])

    def document(self) -> dict[str, Json]:
        """Return the averages as JSON."""
        return {
            "runs": self.runs,
            "succeeded": self.succeeded,
            "average": {
                "steps": self.steps,
                "tokens": self.tokens,
                "costUsd": self.cost_usd,
                "durationSec": self.seconds,
            },
        }


@frozen
class Basis:
    """The basis of an estimate: past runs, the most that each node's model may use, the length of lists."""

    items: int
    past: PastRuns | None = None
    bounds: Mapping[str, quantities.Quantity] = field(default_factory=dict[str, quantities.Quantity])
    notes: tuple[str, ...] = ()


def basis(workflow: definition.Workflow, project: Project, past: PastRuns | None, *, items: int) -> Basis:
    """Return the basis for a workflow; prices are looked up only if a node asks a model."""
    models = project.models
    bounds, agent_notes = _agent_bounds(workflow)
    if models is None or not any(map(model_settings.calls_model, workflow.nodes.values())):
        return Basis(items=items, past=past, bounds=bounds, notes=agent_notes)
    from openskelo.workflows.estimate import attempt_cost  # noqa: PLC0415 - only workflows with models need it

    unpriced_models: dict[str, None] = {}  # an ordered set
    for key, node in workflow.nodes.items():
        if not model_settings.calls_model(node):
            continue
        with contextlib.suppress(errors.AttemptFailed):  # an expert that is not configured here
            worst = attempt_cost.worst(node, workflow, models)
            bounds[key] = quantities.Quantity(tokens=worst.tokens, cost_usd=worst.cost_nanousd / 1e9)
            unpriced_models |= dict.fromkeys(worst.unpriced)
    notes = (f"the price of {', '.join(unpriced_models)} is not known",) if unpriced_models else ()
    return Basis(items=items, past=past, bounds=bounds, notes=(*notes, *agent_notes))


def _agent_bounds(workflow: definition.Workflow) -> tuple[dict[str, quantities.Quantity], tuple[str, ...]]:
    """Return what an attempt of each agent may use by its caps, and notes on what is not known beforehand."""
    bounds: dict[str, quantities.Quantity] = {}
    uncapped_agents: list[str] = []
    capped_agents: list[str] = []
    for key, node in workflow.nodes.items():
        agent = agent_settings.pinned_in(node.config)
        if agent is None:
            continue
        turns = agent.max_turns if agent.until == "complete" else 1
        tokens = _least(agent.budget.max_tokens, agent.budget.max_tokens_per_turn, turns)
        nanousd = _least(agent.budget.max_nanousd, agent.budget.max_nanousd_per_turn, turns)
        if tokens is None and nanousd is None and node.estimate is None:
            uncapped_agents.append(key)
        elif node.estimate is None:
            bounds[key] = quantities.Quantity(tokens=tokens or 0, cost_usd=(nanousd or 0) / 1e9)
        if agent.login == "own":
            capped_agents.append(key)
    notes: list[str] = []
    if bounds:
        notes.append(f"agents, counted with all that their caps allow: {', '.join(bounds)}")
    if uncapped_agents:
        notes.append(f"agents without a cap, counted as nothing: {', '.join(uncapped_agents)}")
    if capped_agents:
        notes.append(f"agents with their own log-in, whose cost in USD is unknown: {', '.join(capped_agents)}")
    return bounds, tuple(notes)


def _least(of_node: int | None, of_turn: int | None, turns: int) -> int | None:
    caps = [cap for cap in (of_node, None if of_turn is None else of_turn * turns) if cap is not None]
    return min(caps, default=None)


def report(workflow: definition.Workflow, on: Basis) -> quantities.Report:
    """Return the minimum, expected and worst case."""
    if on.past is None:
        return estimator.estimate(workflow, items=on.items, bounds=on.bounds)
    estimate = estimator.estimate(workflow, on.past.attempts, items=on.items, bounds=on.bounds)
    return replace(estimate, total=_at_least_as_long(estimate.total, on.past))


def _at_least_as_long(total: quantities.Range, past: PastRuns) -> quantities.Range:
    """Return the total with the time that past runs took, if that is more than the work of their attempts."""
    expected_seconds = max(total.expected.duration_sec, past.seconds)
    worst = max(total.worst.duration_sec, expected_seconds, past.longest_seconds)
    return replace(
        total,
        expected=replace(total.expected, duration_sec=expected_seconds),
        worst=replace(total.worst, duration_sec=worst),
    )


def document(workflow: definition.Workflow, on: Basis) -> dict[str, Json]:
    """Return the document of `explain`: the parts of the workflow, its totals, and what past runs took."""
    parts = outline.document(workflow) if workflow.plan is None else outline.plan_document(workflow, workflow.plan)
    history = None if on.past is None or not on.past.runs else on.past.document()
    return {**parts, "totals": totals(report(workflow, on), on.notes), "history": history}


def totals(estimate: quantities.Report, notes: tuple[str, ...] = ()) -> dict[str, Json]:
    """Return a report as JSON."""
    return {
        "byMode": {mode: _range_document(value) for mode, value in estimate.by_mode.items()},
        "all": _range_document(estimate.total),
        "assumedItems": estimate.items,
        "notes": [*estimate.notes, *notes],
    }


def _range_document(value: quantities.Range) -> dict[str, Json]:
    cases = {"minimum": value.minimum, "expected": value.expected, "worst": value.worst}
    return {name: _quantity_document(case) for name, case in cases.items()}


def _quantity_document(case: quantities.Quantity) -> dict[str, Json]:
    return {
        "steps": case.steps,
        "tokens": case.tokens,
        "costUsd": case.cost_usd,
        "durationSec": case.duration_sec,
    }


@mutable
class _Sum:
    """Amounts added up, and how many were added."""

    count: int = 0
    steps: float = 0
    tokens: float = 0
    cost_nanousd: float = 0
    wall_ms: float = 0
    longest_ms: float = 0

    def add(self, steps: float, tokens: float, cost_nanousd: float, wall_ms: float) -> None:
        self.count += 1
        self.steps += steps
        self.tokens += tokens
        self.cost_nanousd += cost_nanousd
        self.wall_ms += wall_ms
        self.longest_ms = max(self.longest_ms, wall_ms)


async def read_past_runs(store: api.Store, workflow: definition.Workflow) -> PastRuns | None:
    """Return averages of the newest finished runs of the workflow's name; None if none has a node in common with it.

    A node counts only where the run's pinned definition of it does the same work: its key alone says nothing.
    """
    total = _Sum()
    by_node: dict[str, _Sum] = {}
    success_count = 0
    unchanged_nodes = _UnchangedNodes(store, workflow)
    rows = await store.list_runs(limit=_MAX_ROWS)
    ended_rows = [row for row in rows if row.name == workflow.name and row.ending is not None]
    for row in ended_rows[:_MAX_RUNS]:
        if await _add_run(store, row.run_id, unchanged_nodes, total, by_node):
            success_count += row.ending == "ok"
    if not total.count and not by_node:
        return None
    runs = max(total.count, 1)
    return PastRuns(
        runs=total.count,
        succeeded=success_count,
        steps=total.steps / runs,
        tokens=total.tokens / runs,
        cost_usd=total.cost_nanousd / runs / 1e9,
        seconds=total.wall_ms / runs / 1e3,
        longest_seconds=total.longest_ms / 1e3,
        attempts={key: _average(attempts) for key, attempts in by_node.items()},
    )


class _UnchangedNodes:
    """The nodes of a past run that did the same work as the workflow's nodes do now, by the run's pinned definition."""

    def __init__(self, store: api.Store, workflow: definition.Workflow) -> None:
        self._store = store
        self._works = {key: _work(node) for key, node in workflow.nodes.items()}
        #: The nodes whose attempts are answers of people, which no estimate counts.
        self.asking = frozenset(key for key, node in workflow.nodes.items() if node.work.asks_person)
        self._by_definition: dict[str, frozenset[str]] = {}

    async def of(self, created: JsonObject) -> frozenset[str]:
        """Return their keys, by the data of the run's first event; empty if the definition cannot be read."""
        name = str(created.get("definition"))
        if name not in self._by_definition:
            self._by_definition[name] = await self._compare(name)
        return self._by_definition[name]

    def are_all(self, keys: frozenset[str]) -> bool:
        """True if no node of the workflow is new or different."""
        return keys == self._works.keys()

    async def _compare(self, name: str) -> frozenset[str]:
        try:
            past = loading.restore(await self._store.read_blob(name))
        except (errors.NotFound, errors.Corrupt, errors.InvalidInput):
            return frozenset()
        return frozenset(key for key, node in past.nodes.items() if self._works.get(key) == _work(node))


def _work(node: definition.Node) -> JsonObject:
    """Return the part of a node's definition that its use depends on: not its names, its place, or its estimates."""
    document = workflow_codec.encode_node(node)
    return {name: value for name, value in document.items() if name not in _NOT_WORK}


async def _add_run(
    store: api.EventLog, run_id: str, unchanged: _UnchangedNodes, total: _Sum, by_node: dict[str, _Sum]
) -> bool:
    """Add a run; True if it counts as a whole, by its last event, which holds what it spent, unless that was pruned.

    Damaged lines count nothing.
    """
    last = b"{}"
    keys: frozenset[str] | None = None
    async for lines in store.read_events(run_id):
        if keys is None:
            keys = await unchanged.of(_get_object(_parse(lines[0]), "data"))
        for line in lines:
            if b'"receipt":' in line:
                _add_attempt(_get_object(_parse(line), "data"), keys - unchanged.asking, by_node)
        last = lines[-1]
        await asyncio.sleep(0)  # a server has other requests to answer
    usage = _get_object(_get_object(_parse(last), "data"), "spent")
    if not usage or keys is None or not unchanged.are_all(keys):
        return False
    total.add(*(_get_number(usage, key) for key in ("steps", "tokens", "costNanousd", "wallMs")))
    return True


def _add_attempt(data: JsonObject, keys: frozenset[str], by_node: dict[str, _Sum]) -> None:
    receipt = _get_object(data, "receipt")
    if receipt.get("step_id") not in keys or receipt.get("status") not in ("succeeded", "failed"):
        return
    metrics = _get_object(receipt, "metrics")
    tokens = _get_number(metrics, "tokens_in") + _get_number(metrics, "tokens_out")
    cost = _get_number(_get_object(data, "spent"), "costNanousd")
    attempts = by_node.setdefault(str(receipt.get("step_id")), _Sum())
    attempts.add(1, tokens, cost, _get_number(metrics, "wall_ms"))


def _average(attempts: _Sum) -> quantities.Quantity:
    return quantities.Quantity(
        tokens=round(attempts.tokens / attempts.count),
        cost_usd=attempts.cost_nanousd / attempts.count / 1e9,
        duration_sec=attempts.wall_ms / attempts.count / 1e3,
    )


def _parse(line: bytes) -> JsonObject:
    """Return the object of a line, empty for a damaged one."""
    try:
        value: object = orjson.loads(line)
    except orjson.JSONDecodeError:
        value = None
    if isinstance(value, dict):
        return cast("JsonObject", value)
    return {}


def _get_object(parent: JsonObject, key: str) -> JsonObject:
    """Return a member that is an object, empty if it was pruned."""
    value = parent.get(key)
    if isinstance(value, dict):
        return cast("JsonObject", value)
    return {}


def _get_number(parent: JsonObject, key: str) -> float:
    value = parent.get(key)
    return value if isinstance(value, int | float) else 0
