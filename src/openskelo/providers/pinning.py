"""Whom a workflow asks, fixed when it is loaded: a run goes on asking them, whatever the project says later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, failure, seam

#: The parameter of a request that holds what was pinned.
PARAMETER = "pinned"


def pin(ways: Sequence[seam.Planned], models: config.Config) -> list[Json]:
    """The ways of a plan as JSON: everything that makes an answer, and nothing about how it is fetched."""
    return [_way(way, models.providers[way.provider].kind) for way in ways]


def _way(way: seam.Planned, kind: str) -> JsonObject:
    found: dict[str, Json] = {"expert": way.expert, "provider": way.provider, "kind": kind, "model": way.model}
    if way.request.max_tokens is not None:
        found["max_tokens"] = way.request.max_tokens
    if way.request.parameters:
        found["parameters"] = way.request.parameters
    if way.request.messages:
        found["system"] = way.request.messages[0].text
    return found


def plan(models: config.Config, request: seam.Request, pinned: Json) -> tuple[seam.Planned, ...]:
    """The ways that were pinned, with what `request` asks now (PROVIDER_UNKNOWN when a provider is gone)."""
    ways = pinned if isinstance(pinned, Sequence) and not isinstance(pinned, str) else ()
    return tuple(_planned(models, request, way) for way in ways if isinstance(way, Mapping))


def _planned(models: config.Config, request: seam.Request, way: Mapping[str, Json]) -> seam.Planned:
    provider, kind = str(way.get("provider")), way.get("kind")
    if provider not in models.providers or models.providers[provider].kind != kind:
        raise failure.final(
            "PROVIDER_UNKNOWN",
            f"the run asks the provider {provider!r} of kind {kind!r}, which the project no longer has",
            hint="bring it back in skelo.yaml, or fork the run with the changed file",
        )
    system, parameters, most = way.get("system"), way.get("parameters"), way.get("max_tokens")
    return seam.Planned(
        request=seam.Request(
            node=request.node,
            messages=in_front(system if isinstance(system, str) else "", request.messages),
            schema=request.schema,
            parameters=parameters if isinstance(parameters, Mapping) else {},
            max_tokens=most if isinstance(most, int) else request.max_tokens,
        ),
        expert=str(way.get("expert")),
        provider=provider,
        model=str(way.get("model")),
    )


def in_front(system: str, messages: Sequence[seam.Message]) -> tuple[seam.Message, ...]:
    """The messages with `system` first, in one system message: some models take no more than one."""
    texts = [system]
    rest = list(messages)
    while rest and rest[0].role == "system":
        texts.append(rest.pop(0).text)
    text = "\n\n".join(text for text in texts if text.strip())
    return (*((seam.Message(role="system", text=text),) if text else ()), *rest)
