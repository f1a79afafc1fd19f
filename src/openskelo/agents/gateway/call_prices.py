"""The cost of an agent's calls: by the prices of the project, else by the public list, else unknown."""

from __future__ import annotations

from openskelo import agent_settings
from openskelo.agents import profiles
from openskelo.agents.gateway import model_protocols
from openskelo.providers import config, prices, protocol

_KINDS: dict[model_protocols.Vendor, str] = {"anthropic": "anthropic", "openai": "openai", "google": "gemini"}


def cost(
    agent: agent_settings.AgentSettings, vendor: model_protocols.Vendor, model: str, usage: protocol.Usage
) -> int | None:
    """Return the cost of a call in billionths of a dollar; None if the price of the model is unknown.

    The public list does not hold for a model at an address of the project's own.
    """
    own_prices = agent.prices
    settings = config.ProviderConfig(
        name=agent.name,
        kind=_KINDS[vendor],
        base_url=agent.base_url,
        prices=None
        if own_prices is None
        else config.Prices(
            input_usd_per_mtok=own_prices.input_usd_per_mtok,
            output_usd_per_mtok=own_prices.output_usd_per_mtok,
            cached_input_usd_per_mtok=own_prices.cached_input_usd_per_mtok,
            cache_write_usd_per_mtok=own_prices.cache_write_usd_per_mtok,
        ),
    )
    return prices.cost(settings, model, usage)


def is_known(agent: agent_settings.AgentSettings) -> bool:
    """True if the price of the agent's model is known before it is started."""
    if agent.login == "own":
        return False
    profile = profiles.PROFILES[agent.provider]
    model = agent.model or profile.default_model
    if agent.prices is not None:
        return True
    if profile.vendor is None or not model:
        return False
    return cost(agent, profile.vendor, model, protocol.Usage(tokens_in=1, tokens_out=1)) is not None
