"""The kinds of providers: each module of this package is one (`docs/extending/provider.md` says how to add one).

A module holds the constant `KIND`, and everything else reads it:

    the reader of skelo.yaml    `keys`, `concurrency`             workflows/project/experts.py
    the router                  `make`, `missing`                 providers/router.py
    prices and modes            `free`, `price_list`, `local`     providers/prices.py
    keys                        `key_variable`                    providers/remote_api.py

A provider answers one request. Retries, budgets, fallbacks and contracts are decided outside of it. Making a provider
neither loads a model nor opens a connection, and importing its module imports no client library: that happens at the
first request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from openskelo.extensions import Catalog
from openskelo.providers import config, protocol
from openskelo.structs import frozen

#: The keys in skelo.yaml of a provider that is reached over HTTP.
REMOTE_KEYS = frozenset({"base_url", "api_key", "model", "prices"})

#: `Kind.doc` of a provider that has just these.
REMOTE_DOC = (
    "`base_url`, `api_key` (`${env:NAME}`), `model` and `prices` (`input_usd_per_mtok` and `output_usd_per_mtok`)"
)


@frozen
class Setup:
    """The arguments of `Kind.make`: the project's root, the environment, and for a recorder the provider it records."""

    root: Path
    environment: Mapping[str, str]
    source: protocol.Provider | None = None


@frozen
class Kind:
    """A kind of provider."""

    name: str
    summary: str
    #: Its keys in skelo.yaml, beside `kind`, `timeout_ms` and `concurrency`.
    keys: frozenset[str]
    #: Returns the provider.
    make: Callable[[config.ProviderConfig, Setup], protocol.Provider]
    #: Returns a message about what it needs before it can answer; None when nothing is missing. It imports and sends
    #: nothing.
    missing: Callable[[config.ProviderConfig, Setup], str | None]
    #: Its keys and their defaults, for the reference.
    doc: str
    #: Its answers cost nothing, unless skelo.yaml has prices for it.
    free: bool = False
    #: Its name in the public list of prices.
    price_list: str | None = None
    #: It answers without a network.
    local: bool = False
    #: The most tokens of a plan that it drafts: less where it is slow and its window small.
    max_draft_tokens: int = 8_000
    #: Its answers are counted and priced (`providers.prices`); a recording keeps the recorded counts.
    priced: bool = True
    #: The environment variable of its key, when the project names none and no other address.
    key_variable: str | None = None
    #: How many requests it is sent at once, unless skelo.yaml sets it.
    concurrency: int = config.CONCURRENCY
    #: The types of files that its models take beside text.
    media_types: frozenset[str] = frozenset()


KINDS: Mapping[str, Kind] = Catalog(__name__, "KIND", Kind)


def is_local(models: config.Config, name: str) -> bool:
    """True if a provider answers without a network; a recorder only if the provider that it records does."""
    settings = models.providers[name]
    if settings.record is not None:
        return is_local(models, settings.record)
    return KINDS[settings.kind].local
