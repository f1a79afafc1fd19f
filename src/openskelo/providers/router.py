"""All models of a project behind one `protocol.Provider`.

For each request the router plans the routes (`experts.plan`) and tries them in order. An expert that cannot answer
hands over to the next; a rate limit does not, because waiting helps. Each provider has a queue: it is sent at most
`concurrency` requests at once. Providers are made at their first request, so a key or a model file that the run does
not need may be missing.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from openskelo import errors
from openskelo.kernel.json import Json
from openskelo.providers import config, experts, failure_codes, kinds, prices, protocol
from openskelo.structs import replace

#: Failures that may pass, but for which the next expert is asked at once. A rate limit is waited for instead.
_OUT_OF_ORDER = frozenset({"PROVIDER_UNAVAILABLE", "PROVIDER_TIMEOUT"})


class Router:
    """A `protocol.Provider` over a project's experts. Keys are read, and models loaded, when they are first needed."""

    def __init__(self, models: config.Config, *, root: Path, environment: Mapping[str, str] | None = None) -> None:
        self._models = models
        self._root = root
        self._environment = os.environ if environment is None else environment
        self._providers: dict[str, protocol.Provider] = {}
        self._limits: dict[str, asyncio.Semaphore] = {}

    def plan(self, request: protocol.Request) -> tuple[protocol.Route, ...]:
        """Return the route of the expert that is asked, then those of its fallbacks, each with exactly what is sent."""
        return experts.plan(self._models, request)

    def cost(self, route: protocol.Route, usage: protocol.Usage) -> int:
        """Return the cost of `usage` on `route` in billionths of a dollar, at the answering provider's prices."""
        provider = config.answering_provider(self._models, route.provider)
        return prices.cost(provider, route.model or provider.model or "", usage) or 0

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        """Return the first answer on the planned routes; raise the error of the last route if all fail.

        Usage and cost of the answer include those of answers that could not be used.
        """
        routes = self.plan(request)
        unusable: list[protocol.Answer] = []
        for number, route in enumerate(routes, 1):
            try:
                return _add_usage(await self._ask(route, on_text), unusable)
            except errors.AttemptFailed as error:
                if isinstance(error, protocol.UnusableAnswer):
                    error.answer = replace(error.answer, served_by=route.expert)
                if number == len(routes) or not _hands_over(error):
                    if isinstance(error, protocol.UnusableAnswer):
                        error.answer = _add_usage(error.answer, unusable)
                    elif unusable:
                        raise protocol.BrokenAnswer(error, _add_usage(protocol.Answer(text=""), unusable)) from error
                    raise
                if isinstance(error, protocol.UnusableAnswer):
                    unusable.append(error.answer)
        raise failure_codes.final("EXPERT_MISSING", "no expert is left to ask")

    def missing(self, parameters: Mapping[str, Json]) -> str | None:
        """Return why no provider in the plan of such a request could answer now; None when one could."""
        try:
            routes = self.plan(protocol.Request(node="", messages=(), parameters=parameters))
        except errors.AttemptFailed as error:
            return error.message
        reasons = [self._missing(route.provider) for route in routes]
        if None in reasons:
            return None
        return f"{routes[0].provider}: {reasons[0]}"

    def media_types(self, parameters: Mapping[str, Json]) -> frozenset[str]:
        """Return the types of attachments that every provider in the plan of such a request takes."""
        routes = self.plan(protocol.Request(node="", messages=(), parameters=parameters))
        accepted_types = [kinds.KINDS[self._models.providers[route.provider].kind].media_types for route in routes]
        return functools.reduce(frozenset[str].intersection, accepted_types)

    async def close(self) -> None:
        """Close every provider."""
        providers = list(self._providers.values())
        self._providers.clear()
        for provider in providers:
            if isinstance(provider, protocol.Closable):
                await provider.close()

    async def complete_queued(self, name: str, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        """Return the answer of one provider, after waiting in its queue; a `protocol.QueueListener` is told."""
        limit = self._limit(name)
        listener = cast("protocol.QueueListener", on_text) if hasattr(on_text, "on_queued") else None
        if listener is not None:
            listener.on_queued()
        async with limit:
            if listener is not None:
                listener.on_sent()
            return await self._provider(name).complete(request, on_text)

    async def _ask(self, route: protocol.Route, on_text: protocol.OnText) -> protocol.Answer:
        answer = await self.complete_queued(route.provider, route.request, on_text)
        return replace(answer, served_by=route.expert)

    def _limit(self, name: str) -> asyncio.Semaphore:
        if name not in self._limits:
            self._limits[name] = asyncio.Semaphore(self._models.providers[name].concurrency)
        return self._limits[name]

    def _provider(self, name: str) -> protocol.Provider:
        if name not in self._providers:
            settings = self._models.providers[name]
            source = None if settings.record is None else _QueuedProvider(self, settings.record)
            self._providers[name] = make_provider(
                settings, root=self._root, environment=self._environment, source=source
            )
        return self._providers[name]

    def _missing(self, name: str) -> str | None:
        return missing_requirement(self._models.providers[name], root=self._root, environment=self._environment)


class _QueuedProvider:
    """The provider that a recorder records: another provider of the project, with its queue."""

    def __init__(self, router: Router, name: str) -> None:
        self._router = router
        self._name = name

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        return await self._router.complete_queued(self._name, request, on_text)


def _hands_over(error: errors.AttemptFailed) -> bool:
    return not error.retryable or error.code in _OUT_OF_ORDER


def _add_usage(answer: protocol.Answer, others: list[protocol.Answer]) -> protocol.Answer:
    """Return `answer` with the usage and cost of the others added to its own."""
    if not others:
        return answer
    usage = protocol.Usage(
        tokens_in=answer.usage.tokens_in + sum(other.usage.tokens_in for other in others),
        tokens_out=answer.usage.tokens_out + sum(other.usage.tokens_out for other in others),
    )
    cost = answer.cost_nanousd + sum(other.cost_nanousd for other in others)
    is_priced = answer.priced and all(other.priced for other in others)
    return replace(answer, usage=usage, cost_nanousd=cost, priced=is_priced)


def make_provider(
    settings: config.ProviderConfig,
    *,
    root: Path,
    environment: Mapping[str, str],
    source: protocol.Provider | None = None,
) -> protocol.Provider:
    """Return the provider that the settings describe, without loading or connecting anything.

    `source` is the provider that a recorder records.
    """
    kind = kinds.KINDS[settings.kind]
    provider = kind.make(settings, kinds.Setup(root=root, environment=environment, source=source))
    if kind.priced:
        return prices.PricedProvider(provider, settings)
    return provider


def missing_requirement(settings: config.ProviderConfig, *, root: Path, environment: Mapping[str, str]) -> str | None:
    """Return a message about what a provider needs before it can answer; None when nothing is missing.

    Nothing is imported or sent.
    """
    try:
        return kinds.KINDS[settings.kind].missing(settings, kinds.Setup(root=root, environment=environment))
    except OSError as error:  # a name that the file system does not accept
        return f"{error.filename} cannot be used: {error.strerror}"
