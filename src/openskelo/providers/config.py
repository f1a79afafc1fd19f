"""The models of a project as skelo.yaml describes them: providers, experts and prices, as checked values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from openskelo.kernel.json import Json
from openskelo.structs import field, frozen

Mode: TypeAlias = Literal["normal", "degraded", "offline"]

MODES: tuple[Mode, ...] = get_args(Mode)

#: How many requests a provider is sent at once, unless skelo.yaml sets it.
CONCURRENCY = 4
TIMEOUT_MS = 120_000
#: The context size of a local model in tokens, unless skelo.yaml sets it.
N_CTX = 8192
#: Keys of a request's body that the engine sets, which `model_params` would replace: what is asked, of which model, for
#: how many tokens and answers, and in which form.
RESERVED_PARAMETERS = frozenset(
    {"model", "messages", "system", "input", "contents", "max_tokens", "max_completion_tokens", "max_output_tokens"}
    | {"n", "stream", "stream_options", "response_format", "output_config", "output_format"}
)
RESERVED_HINT = "the block, its expert and its provider say what is asked, of which model, and with which `max_tokens`"


@frozen
class Prices:
    """The price of a million tokens, from skelo.yaml. Without a price for the cache, its tokens cost as other input."""

    input_usd_per_mtok: float
    output_usd_per_mtok: float
    cached_input_usd_per_mtok: float | None = None
    cache_write_usd_per_mtok: float | None = None


@frozen
class ProviderConfig:
    """One model API. Paths are as written, relative to the project's root."""

    name: str
    #: The name of a definition in `providers.kinds`.
    kind: str
    base_url: str | None = None
    #: A reference (`${env:NAME}`), never a key.
    api_key: str | None = None
    model: str | None = None
    timeout_ms: int = TIMEOUT_MS
    concurrency: int = CONCURRENCY
    model_path: str | None = None
    n_ctx: int = N_CTX
    threads: int = 1
    #: The folder of a recorded provider.
    recordings: str | None = None
    #: The provider that answers requests without a recording.
    record: str | None = None
    prices: Prices | None = None


@frozen
class ExpertConfig:
    """A provider with a model and parameters, under a name."""

    name: str
    provider: str
    #: By default the provider's.
    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict[str, Json])
    system: str = ""
    #: By default all.
    modes: tuple[Mode, ...] = ()
    fallbacks: tuple[str, ...] = ()


@frozen
class Config:
    """All models of a project. The reader of skelo.yaml has checked that every name in it exists."""

    providers: Mapping[str, ProviderConfig] = field(default_factory=dict[str, ProviderConfig])
    experts: Mapping[str, ExpertConfig] = field(default_factory=dict[str, ExpertConfig])
    default_expert: str | None = None


def embedded() -> Config:
    """Return the models of a project without any in skelo.yaml: the embedded model, as the expert `default`."""
    return Config(
        providers={"local": ProviderConfig(name="local", kind="local", concurrency=1)},
        experts={"default": ExpertConfig(name="default", provider="local", max_tokens=512)},
        default_expert="default",
    )


def answering_provider(models: Config, name: str) -> ProviderConfig:
    """Return the provider `name`; for a recorder, the provider that it records."""
    settings = models.providers[name]
    if settings.record is None:
        return settings
    return models.providers[settings.record]
