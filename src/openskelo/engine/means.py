"""Whether the models and the handlers that a workflow asks are there: found out before anything is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, runtime_checkable

import orjson

from openskelo import errors
from openskelo.executors import attempt
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import seam


@runtime_checkable
class _Router(Protocol):
    """A provider that knows what it lacks."""

    def missing(self, parameters: Mapping[str, Json]) -> str | None: ...


@frozen
class Needs:
    """What nodes ask of the program they run in: `local:` handlers, each with a node that asks for it, and models."""

    handlers: Mapping[str, str]
    asking: tuple[definition.Node, ...]


def of(nodes: Iterable[definition.Node]) -> Needs:
    """What these nodes need."""
    handlers: dict[str, str] = {}
    asking: list[definition.Node] = []
    for node in nodes:
        if node.handler is not None and node.handler.startswith("local:"):
            handlers.setdefault(node.handler.removeprefix("local:"), node.key)
        if node.mode == "ai" or any(gate.type == "llm_review" for gate in (*node.pre_gates, *node.post_gates)):
            asking.append(node)
    return Needs(handlers=handlers, asking=tuple(asking))


def check(needs: Needs, performer: attempt.Performer) -> None:
    """Refuse (InvalidInput) nodes that ask a model or a `local:` handler where there is none, or an unknown expert."""
    if needs.asking:
        _check_models(needs.asking, performer)
    for name, key in needs.handlers.items():
        if not performer.has_handler(name):
            raise errors.InvalidInput(
                f"{key} needs the handler 'local:{name}', which this program has not",
                code="HANDLER_UNKNOWN",
                hint="only the program that brings it can run this; a run of `skelo plan` goes on with --resume there",
            )


def _check_models(nodes: Iterable[definition.Node], performer: attempt.Performer) -> None:
    provider = performer.provider()
    router = provider if isinstance(provider, _Router) else None
    asked: set[bytes] = set()
    for key, parameters in _questions(nodes):
        same = orjson.dumps(parameters)
        if same in asked:
            continue
        asked.add(same)
        if provider is None:
            raise errors.InvalidInput(
                f"{key} needs a model, and no provider is configured",
                code="PROVIDER_MISSING",
                hint="`skelo test` runs it with scripted answers",
            )
        try:
            seam.plan(provider, seam.Request(node=key, messages=(), parameters=parameters))
        except errors.AttemptFailed as error:
            raise errors.InvalidInput(f"{key}: {error.message}", code=error.code, hint=error.hint) from error
        missing = None if router is None else router.missing(parameters)
        if missing is not None:
            raise errors.InvalidInput(
                f"{key} cannot ask {missing}",
                code="PROVIDER_MISSING",
                hint="`skelo doctor` says what is there; `skelo test` runs with scripted answers",
            )


def _questions(nodes: Iterable[definition.Node]) -> Iterator[tuple[str, JsonObject]]:
    """Who asks a model, and with which parameters: ai nodes and gates that have a model review something."""
    from openskelo.executors import ai  # noqa: PLC0415  most workflows ask no model

    for node in nodes:
        if node.mode == "ai" and "denied" not in node.config:  # a step that its plan's mode denies asks nobody
            yield node.key, ai.parameters(node)
        for gate in (*node.pre_gates, *node.post_gates):
            if gate.type == "llm_review":
                yield node.key, {name: gate.params[name] for name in ("expert", "pinned") if name in gate.params}
