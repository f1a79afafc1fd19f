"""Prices: the project's own first, then the public list; what nobody knows stays unknown."""

from __future__ import annotations

import pytest

from openskelo.providers import config, prices, seam

USAGE = seam.Usage(tokens_in=1_000, tokens_out=500)
OWN = config.Prices(input_usd_per_mtok=0.1, output_usd_per_mtok=0.2)


def cost(kind: config.Kind, model: str, **more: str | config.Prices) -> int | None:
    return prices.cost(config.ProviderConfig(name="p", kind=kind, **more), model, USAGE)  # pyright: ignore[reportArgumentType] -- built by name


@pytest.mark.parametrize("kind", ["local", "ollama", "recorded"])
def test_what_runs_here_is_free(kind: config.Kind) -> None:
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
def test_known_models_have_listed_prices(kind: config.Kind, model: str, nanousd: int) -> None:
    assert cost(kind, model) == nanousd


def test_an_unknown_model_has_no_price() -> None:
    assert cost("openai", "nobody-knows-this-one") is None
    assert cost("openai", "gpt-4o-mini", base_url="http://127.0.0.1:1/v1") is None
