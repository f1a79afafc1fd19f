"""The cost of an answer: by the prices in skelo.yaml, else by the public list of prices, else unknown."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from openskelo import errors
from openskelo.kernel import definition
from openskelo.providers import config, kinds, protocol
from openskelo.structs import replace

#: A server that reports more tokens than this for one answer is wrong.
_MAX_CREDIBLE_TOKENS = 2**30


def cost(provider: config.ProviderConfig, model: str, usage: protocol.Usage) -> int | None:
    """Return the cost of `usage` in billionths of a dollar; None if the price of the model is unknown.

    The public list does not apply to a provider with its own `base_url`.
    """
    if provider.prices is not None:
        return _own_cost(provider.prices, usage)
    kind = kinds.KINDS[provider.kind]
    if kind.free:
        return 0
    if provider.base_url is not None or kind.price_list is None:
        return None
    return _listed_cost(kind.price_list, model, usage)


def _own_cost(prices: config.Prices, usage: protocol.Usage) -> int:
    plain = prices.input_usd_per_mtok
    rows = (
        (plain, usage.tokens_in - usage.cached_in - usage.cache_written_in),
        (_price_or(prices.cached_input_usd_per_mtok, plain), usage.cached_in),
        (_price_or(prices.cache_write_usd_per_mtok, plain), usage.cache_written_in),
        (prices.output_usd_per_mtok, usage.tokens_out),
    )
    usd = sum((Decimal(str(price)) * tokens for price, tokens in rows), Decimal(0))
    return _to_nanousd(usd / 10**6)


def _price_or(price: float | None, otherwise: float) -> float:
    return otherwise if price is None else price


def _listed_cost(provider: str, model: str, usage: protocol.Usage) -> int | None:
    try:
        import genai_prices  # noqa: PLC0415 -- comes with the extras, and is large
    except ImportError:
        return None
    usage_counts = genai_prices.Usage(
        input_tokens=usage.tokens_in,
        cache_read_tokens=usage.cached_in,
        cache_write_tokens=usage.cache_written_in,
        output_tokens=usage.tokens_out,
    )
    try:
        return _to_nanousd(genai_prices.calc_price(usage_counts, model, provider_id=provider).total_price)
    except LookupError:
        return None


def _to_nanousd(usd: Decimal) -> int:
    return int((usd * definition.NANO_PER_USD).to_integral_value(rounding=ROUND_HALF_UP))


class PricedProvider:
    """A provider that adds usage and cost to each answer, also to answers that broke off or cannot be used.

    Token counts that the server does not report, or that are not credible, are estimated: no answer counts as free.
    """

    def __init__(self, provider: protocol.Provider, settings: config.ProviderConfig) -> None:
        self._provider = provider
        self._settings = settings

    async def close(self) -> None:
        """Close the provider."""
        if isinstance(self._provider, protocol.Closable):
            await self._provider.close()

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        pieces: list[str] = []

        def receive(text: str) -> None:
            pieces.append(text)
            on_text(text)

        try:
            return self._add_cost(await self._provider.complete(request, receive), request)
        except protocol.UnusableAnswer as error:
            error.answer = self._add_cost(error.answer, request)
            raise
        except errors.AttemptFailed as error:
            if not pieces and error.code != "PROVIDER_TIMEOUT":
                raise  # the answer never began, and costs nothing
            raise protocol.BrokenAnswer(
                error, self._add_cost(self._partial(request, "".join(pieces)), request)
            ) from None

    def _partial(self, request: protocol.Request, text: str) -> protocol.Answer:
        model = request.parameters.get("model")
        return protocol.Answer(
            text=text,
            usage=protocol.estimate_usage(request, text),
            model=model if isinstance(model, str) else self._settings.model or "",
            finish_reason="error",
        )

    def _add_cost(self, answer: protocol.Answer, request: protocol.Request) -> protocol.Answer:
        answer = _with_credible_usage(answer, request)
        nanousd = cost(self._settings, answer.model, answer.usage)
        model = request.parameters.get("model")
        if nanousd is None and isinstance(model, str):
            # The server may name a dated version of the model, which the list does not have.
            nanousd = cost(self._settings, model, answer.usage)
        return replace(answer, cost_nanousd=nanousd or 0, priced=nanousd is not None)


def _with_credible_usage(answer: protocol.Answer, request: protocol.Request) -> protocol.Answer:
    """Return the answer with estimates in place of token counts that are missing or not credible."""
    usage = answer.usage
    is_empty = not answer.text and not usage.tokens_out
    if _is_credible(usage.tokens_in) and (_is_credible(usage.tokens_out) or is_empty):
        return answer
    estimate = protocol.estimate_usage(request, answer.text)
    tokens_in = usage.tokens_in if _is_credible(usage.tokens_in) else estimate.tokens_in
    tokens_out = usage.tokens_out if _is_credible(usage.tokens_out) else estimate.tokens_out
    return replace(answer, usage=protocol.Usage(tokens_in=tokens_in, tokens_out=tokens_out))


def _is_credible(tokens: int) -> bool:
    return 0 < tokens <= _MAX_CREDIBLE_TOKENS
