"""What a project says about its models: providers, experts and prices, as plain checked values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from openskelo.frozen import field, frozen
from openskelo.kernel.json import Json

Kind: TypeAlias = Literal["local", "openai", "anthropic", "gemini", "ollama", "recorded"]
Mode: TypeAlias = Literal["normal", "degraded", "offline"]

KINDS: tuple[Kind, ...] = get_args(Kind)
MODES: tuple[Mode, ...] = get_args(Mode)

#: Kinds whose answers cost nothing.
FREE: frozenset[Kind] = frozenset({"local", "recorded", "ollama"})

#: Where each kind's key is when the project does not say.
USUAL_KEYS: Mapping[Kind, str] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}

#: How many requests a provider is sent at once when the project does not say.
CONCURRENCY = 4
TIMEOUT_MS = 120_000
#: How many tokens a local model sees at once, when the project does not say and the model can.
N_CTX = 8192


@frozen
class Prices:
    """What a million tokens cost, by the project's own word."""

    input_usd_per_mtok: float
    output_usd_per_mtok: float


@frozen
class ProviderConfig:
    """One model API. `api_key` is a reference (`${env:NAME}`), never a key; paths are as written, from the root.

    `recordings` is the folder of a recorded provider, `record` the provider that is asked what is not recorded yet.
    """

    name: str
    kind: Kind
    base_url: str | None = None
    api_key: str | None = None
    model: str | None = None
    timeout_ms: int = TIMEOUT_MS
    concurrency: int = CONCURRENCY
    model_path: str | None = None
    n_ctx: int = N_CTX
    threads: int = 1
    recordings: str | None = None
    record: str | None = None
    prices: Prices | None = None


@frozen
class ExpertConfig:
    """A named way to ask a provider. Without `model` the provider's own is asked; without `modes` it serves in any."""

    name: str
    provider: str
    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])
    system: str = ""
    modes: tuple[Mode, ...] = ()
    fallbacks: tuple[str, ...] = ()


@frozen
class Config:
    """All models of a project. Every name in it leads somewhere: the reader of the file has checked that."""

    providers: Mapping[str, ProviderConfig] = field(default_factory=dict[str, ProviderConfig])
    experts: Mapping[str, ExpertConfig] = field(default_factory=dict[str, ExpertConfig])
    default_expert: str | None = None


def embedded() -> Config:
    """The models of a project that names none: the embedded one, in the expert `default`."""
    return Config(
        providers={"local": ProviderConfig(name="local", kind="local", concurrency=1)},
        experts={"default": ExpertConfig(name="default", provider="local", max_tokens=512)},
        default_expert="default",
    )


def is_local(models: Config, name: str) -> bool:
    """Whether a provider answers without network: embedded or recorded, and recording from nobody who does not."""
    settings = models.providers[name]
    if settings.kind == "recorded":
        return settings.record is None or is_local(models, settings.record)
    return settings.kind == "local"


def asked_in_the_end(models: Config, name: str) -> ProviderConfig:
    """The provider that answers for `name` when nothing is kept: of a recorder, the one that it records from."""
    settings = models.providers[name]
    return settings if settings.record is None else models.providers[settings.record]
