"""What an answer costs: the project's own prices first, then the public list, else nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

from openskelo import errors
from openskelo.frozen import replace
from openskelo.providers import config, seam

#: The names of our kinds in the public list.
_LISTED: Mapping[config.Kind, str] = {"openai": "openai", "anthropic": "anthropic", "gemini": "google"}
_NANO = Decimal(10**9)
#: More tokens than this in one direction of one answer are a mistake of the server that says so.
_CREDIBLE = 2**30


def cost(provider: config.ProviderConfig, model: str, usage: seam.Usage) -> int | None:
    """What `usage` costs in billionths of a dollar; None when the price of the model is not known.

    A model on a server of its own (`base_url`) has only the price that the project gives it.
    """
    if provider.prices is not None:
        own = provider.prices
        million = Decimal(10**6)
        total = (
            Decimal(str(own.input_usd_per_mtok)) * usage.tokens_in
            + Decimal(str(own.output_usd_per_mtok)) * usage.tokens_out
        ) / million
        return _nano(total)
    if provider.kind in config.FREE:
        return 0
    if provider.base_url is not None or provider.kind not in _LISTED:
        return None
    return _listed(_LISTED[provider.kind], model, usage)


def _listed(provider: str, model: str, usage: seam.Usage) -> int | None:
    try:
        import genai_prices  # noqa: PLC0415 -- comes with the extras, and is large
    except ImportError:
        return None
    counted = genai_prices.Usage(input_tokens=usage.tokens_in, output_tokens=usage.tokens_out)
    try:
        return _nano(genai_prices.calc_price(counted, model, provider_id=provider).total_price)
    except LookupError:
        return None


def _nano(usd: Decimal) -> int:
    return int((usd * _NANO).to_integral_value(rounding=ROUND_HALF_UP))


class Priced:
    """A provider whose answers say what they took and what they cost, those that cannot be used or broke off included.

    What a server does not say, or cannot mean, is estimated: no answer takes nothing.
    """

    def __init__(self, provider: seam.Provider, settings: config.ProviderConfig) -> None:
        self._provider = provider
        self._settings = settings

    async def close(self) -> None:
        """Close what the provider holds open."""
        if isinstance(self._provider, seam.Closable):
            await self._provider.close()

    async def complete(self, request: seam.Request, on_text: seam.OnText) -> seam.Answer:
        heard: list[str] = []

        def hear(text: str) -> None:
            heard.append(text)
            on_text(text)

        try:
            return self._priced(await self._provider.complete(request, hear), request)
        except seam.Unusable as error:
            error.answer = self._priced(error.answer, request)
            raise
        except errors.AttemptFailed as error:
            if not heard and error.code != "PROVIDER_TIMEOUT":
                raise  # it never began: nobody pays for that
            raise seam.Broken(error, self._priced(self._partial(request, "".join(heard)), request)) from None

    def _partial(self, request: seam.Request, heard: str) -> seam.Answer:
        model = request.parameters.get("model")
        return seam.Answer(
            text=heard,
            usage=seam.estimated(request, heard),
            model=model if isinstance(model, str) else self._settings.model or "",
            finish_reason="error",
        )

    def _priced(self, answer: seam.Answer, request: seam.Request) -> seam.Answer:
        answer = _counted(answer, request)
        found = cost(self._settings, answer.model, answer.usage)
        asked = request.parameters.get("model")
        if found is None and isinstance(asked, str):
            # Servers may name a dated version that the list does not have.
            found = cost(self._settings, asked, answer.usage)
        return replace(answer, cost_nanousd=found or 0, priced=found is not None)


def _counted(answer: seam.Answer, request: seam.Request) -> seam.Answer:
    said = answer.usage
    if 0 < said.tokens_in <= _CREDIBLE and (0 < said.tokens_out <= _CREDIBLE or not (answer.text or said.tokens_out)):
        return answer
    guess = seam.estimated(request, answer.text)
    tokens_in = said.tokens_in if 0 < said.tokens_in <= _CREDIBLE else guess.tokens_in
    tokens_out = said.tokens_out if 0 < said.tokens_out <= _CREDIBLE else guess.tokens_out
    return replace(answer, usage=seam.Usage(tokens_in=tokens_in, tokens_out=tokens_out))
