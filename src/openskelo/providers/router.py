"""All models of a project behind one seam: finds the expert, sends what it sends, and falls back when it cannot."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from openskelo import errors
from openskelo.frozen import replace
from openskelo.kernel.json import Json
from openskelo.providers import catalog, config, experts, failure, prices, seam

#: Transient failures that another expert may not have. A rate limit is waited for instead.
_OUT_OF_ORDER = frozenset({"PROVIDER_UNAVAILABLE", "PROVIDER_TIMEOUT"})


class Router:
    """A `seam.Provider` over a project's experts. Keys are looked up, and models loaded, when they are first needed."""

    def __init__(self, models: config.Config, *, root: Path, environment: Mapping[str, str] | None = None) -> None:
        self._models = models
        self._root = root
        self._environment = os.environ if environment is None else environment
        self._providers: dict[str, seam.Provider] = {}
        self._limits: dict[str, asyncio.Semaphore] = {}

    def plan(self, request: seam.Request) -> tuple[seam.Planned, ...]:
        """The expert that is asked, then its fallbacks, each with exactly what it is sent."""
        return experts.plan(self._models, request)

    def cost(self, way: seam.Planned, usage: seam.Usage) -> int:
        """What so many tokens cost that way, at the prices of whoever is asked in the end."""
        payee = config.asked_in_the_end(self._models, way.provider)
        return prices.cost(payee, way.model or payee.model or "", usage) or 0

    async def complete(self, request: seam.Request, on_text: seam.OnText) -> seam.Answer:
        """The first answer of the plan: an expert that can give none hands over to the next; the last error counts.

        What experts took who answered in vain is in the answer's usage and cost.
        """
        ways = self.plan(request)
        lost: list[seam.Answer] = []
        for number, way in enumerate(ways, 1):
            try:
                return _sum(await self._ask(way, on_text), lost)
            except errors.AttemptFailed as error:
                if isinstance(error, seam.Unusable):
                    error.answer = replace(error.answer, served_by=way.expert)
                if number == len(ways) or not _hands_over(error):
                    if isinstance(error, seam.Unusable):
                        error.answer = _sum(error.answer, lost)
                    elif lost:
                        raise seam.Broken(error, _sum(seam.Answer(text=""), lost)) from error
                    raise
                if isinstance(error, seam.Unusable):
                    lost.append(error.answer)
        raise failure.final("EXPERT_MISSING", "no expert is left to ask")

    def missing(self, parameters: Mapping[str, Json]) -> str | None:
        """Why nobody in the plan of such a request could answer now, for people; None when somebody could."""
        try:
            ways = self.plan(seam.Request(node="", messages=(), parameters=parameters))
        except errors.AttemptFailed as error:
            return error.message
        found = [self._missing(way.provider) for way in ways]
        return None if None in found else f"{ways[0].provider}: {found[0]}"

    async def close(self) -> None:
        """Let go of every connection."""
        providers = list(self._providers.values())
        self._providers.clear()
        for provider in providers:
            if isinstance(provider, seam.Closable):
                await provider.close()

    async def in_turn(self, name: str, request: seam.Request, on_text: seam.OnText) -> seam.Answer:
        """The answer of one provider, which is sent no more at once than it takes; a `seam.Patient` is told of it."""
        limit = self._limit(name)
        listener = None if getattr(on_text, "waits", None) is None else cast("seam.Patient", on_text)
        if listener is not None:
            listener.waits()
        async with limit:
            if listener is not None:
                listener.goes()
            return await self._provider(name).complete(request, on_text)

    async def _ask(self, way: seam.Planned, on_text: seam.OnText) -> seam.Answer:
        answer = await self.in_turn(way.provider, way.request, on_text)
        return replace(answer, served_by=way.expert)

    def _limit(self, name: str) -> asyncio.Semaphore:
        if name not in self._limits:
            self._limits[name] = asyncio.Semaphore(self._models.providers[name].concurrency)
        return self._limits[name]

    def _provider(self, name: str) -> seam.Provider:
        if name not in self._providers:
            settings = self._models.providers[name]
            source = None if settings.record is None else _InTurn(self, settings.record)
            self._providers[name] = catalog.make(
                settings, root=self._root, environment=self._environment, source=source
            )
        return self._providers[name]

    def _missing(self, name: str) -> str | None:
        return catalog.missing(self._models.providers[name], root=self._root, environment=self._environment)


class _InTurn:
    """What a recorder asks: another provider of the project, within that one's own limit."""

    def __init__(self, router: Router, name: str) -> None:
        self._router = router
        self._name = name

    async def complete(self, request: seam.Request, on_text: seam.OnText) -> seam.Answer:
        return await self._router.in_turn(self._name, request, on_text)


def _hands_over(error: errors.AttemptFailed) -> bool:
    return not error.retryable or error.code in _OUT_OF_ORDER


def _sum(answer: seam.Answer, lost: list[seam.Answer]) -> seam.Answer:
    if not lost:
        return answer
    usage = seam.Usage(
        tokens_in=answer.usage.tokens_in + sum(one.usage.tokens_in for one in lost),
        tokens_out=answer.usage.tokens_out + sum(one.usage.tokens_out for one in lost),
    )
    cost = answer.cost_nanousd + sum(one.cost_nanousd for one in lost)
    return replace(answer, usage=usage, cost_nanousd=cost, priced=answer.priced and all(one.priced for one in lost))
