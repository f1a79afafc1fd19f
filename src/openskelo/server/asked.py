"""Whom the nodes of a run ask, found in the workflow that it has pinned; those seen last are remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import cast

import orjson

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.stores import log

_WORKFLOWS = 64
#: Of so many runs it is known which workflow they have.
_RUNS = 1024
#: What stands for an expert that nobody knows (any more).
UNKNOWN: Mapping[str, str] = {"expert": "unknown", "provider": "unknown", "kind": "unknown", "model": "unknown"}

Experts = Mapping[str, Mapping[str, str]]


class Asked:
    """`of` gives, for each node of a run that asks a model: `expert`, `provider`, `kind` and `model`."""

    def __init__(self, store: log.Log) -> None:
        self._store = store
        self._known: OrderedDict[str, Experts] = OrderedDict()
        self._definitions: OrderedDict[str, str] = OrderedDict()  # by run: each of its attempts asks

    async def of(self, run_id: str) -> Experts:
        """By node key; empty for a run whose workflow is not there (any more)."""
        name = self._definitions.get(run_id) or await self._definition(run_id)
        return {} if name is None else await self._experts(name)

    async def _definition(self, run_id: str) -> str | None:
        async for lines in self._store.read(run_id):
            data = cast("JsonObject", orjson.loads(lines[0])).get("data")
            name = data.get("definition") if isinstance(data, Mapping) else None
            if not isinstance(name, str):
                return None
            self._definitions[run_id] = name
            if len(self._definitions) > _RUNS:
                self._definitions.popitem(last=False)
            return name
        return None

    async def _experts(self, name: str) -> Experts:
        found = self._known.get(name)
        if found is None:
            try:
                found = _read(orjson.loads(await self._store.blob(name)))
            except (errors.OpenSkeloError, orjson.JSONDecodeError):
                return {}
            self._known[name] = found
            if len(self._known) > _WORKFLOWS:
                self._known.popitem(last=False)
        return found


def _read(document: Json) -> Experts:
    nodes = document.get("nodes") if isinstance(document, Mapping) else None
    found: dict[str, Mapping[str, str]] = {}
    for node in nodes if isinstance(nodes, Sequence) and not isinstance(nodes, str) else ():
        if isinstance(node, Mapping) and isinstance(node.get("key"), str):
            expert = _first_expert(node.get("config"))
            if expert is not None or node.get("mode") == "ai":
                found[cast("str", node["key"])] = expert or UNKNOWN
    return found


def _first_expert(config: Json) -> Mapping[str, str] | None:
    """The one that is asked first; who stood in for it is in the attempt's own log."""
    pinned = config.get("pinned") if isinstance(config, Mapping) else None
    experts = pinned.get("experts") if isinstance(pinned, Mapping) else None
    if not isinstance(experts, Sequence) or isinstance(experts, str) or not experts:
        return None
    first = experts[0]
    if not isinstance(first, Mapping):
        return None
    return {name: str(first.get(name) or "unknown") for name in UNKNOWN}
