"""Prices: the project's own first, then the public list; what nobody knows stays unknown."""

from __future__ import annotations

import pytest

from openskelo.providers import config, prices, protocol

USAGE = protocol.Usage(tokens_in=1_000, tokens_out=500)
OWN = config.Prices(input_usd_per_mtok=0.1, output_usd_per_mtok=0.2)


def cost(kind: str, model: str, **more: str | config.Prices) -> int | None:
    return prices.cost(config.ProviderConfig(name="p", kind=kind, **more), model, USAGE)  # pyright: ignore[reportArgumentType] -- built by name


@pytest.mark.parametrize("kind", ["local", "ollama", "recorded"])
def test_what_runs_here_is_free(kind: str) -> None:
    assert cost(kind, "anything") == 0


def test_the_projects_own_price_counts_first() -> None:
    assert cost("openai", "gpt-4o-mini", prices=OWN) == 200_000
    assert cost("ollama", "anything", prices=OWN) == 200_000


@pytest.mark.parametrize(
    ("kind", "model", "nanousd"),
    [
        ("openai", "gpt-4o-mini", 450_000),
        ("anthropic", "claude-sonnet-4-5", 10_500_000),
        ("gemini", "gemini-2.5-flash", 1_550_000),
    ],
)
def test_known_models_have_listed_prices(kind: str, model: str, nanousd: int) -> None:
    assert cost(kind, model) == nanousd


def test_an_unknown_model_has_no_price() -> None:
    assert cost("openai", "nobody-knows-this-one") is None
    assert cost("openai", "gpt-4o-mini", base_url="http://127.0.0.1:1/v1") is None


@pytest.mark.parametrize(
    ("kind", "model"), [("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-5"), ("gemini", "gemini-2.5-pro")]
)
def test_what_a_cache_gave_costs_a_tenth_in_the_public_list(kind: str, model: str) -> None:
    provider = config.ProviderConfig(name="p", kind=kind)
    plain = prices.cost(provider, model, protocol.Usage(tokens_in=1_000_000))
    cached = prices.cost(provider, model, protocol.Usage(tokens_in=1_000_000, cached_in=1_000_000))
    assert plain is not None
    assert cached == plain // 10


def test_what_is_written_to_a_cache_has_its_own_price() -> None:
    provider = config.ProviderConfig(name="p", kind="anthropic")
    usage = protocol.Usage(tokens_in=100_000, cache_written_in=100_000)
    assert prices.cost(provider, "claude-sonnet-4-5", usage) == 375_000_000


def test_the_projects_own_prices_may_name_those_of_the_cache() -> None:
    usage = protocol.Usage(tokens_in=1_000_000, cached_in=600_000, cache_written_in=100_000, tokens_out=10)
    own = config.Prices(
        input_usd_per_mtok=1, output_usd_per_mtok=2, cached_input_usd_per_mtok=0, cache_write_usd_per_mtok=5
    )
    for table, nanousd in ((own, 300_000_000 + 500_000_000 + 20_000), (OWN, 100_000_000 + 2_000)):
        assert prices.cost(config.ProviderConfig(name="p", kind="openai", prices=table), "m", usage) == nanousd
