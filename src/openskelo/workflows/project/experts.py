"""The models of a project in `skelo.yaml`: `providers`, `experts` and `default_expert`.

A provider is one model API with its address and key; an expert is a named provider with a model and parameters, which
blocks and plans refer to. Keys are references (`${env:NAME}`) and never stand in the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import cast
from urllib.parse import urlsplit

from openskelo.providers import config, kinds, remote_api
from openskelo.values import suggestions
from openskelo.workflows.text import cursor

KEYS = frozenset({"providers", "experts", "default_expert"})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")
_COMMON_KEYS = frozenset({"kind", "timeout_ms", "concurrency"})
_EXPERT_KEYS = frozenset(
    {"provider", "model", "max_tokens", "temperature", "top_p", "seed", "parameters", "system", "modes", "fallbacks"}
)
_PRICES = ("input_usd_per_mtok", "output_usd_per_mtok")
_MAX_TOKENS = 10_000_000
_MAX_TIMEOUT_MS = 86_400_000


def read(fields: cursor.Fields) -> config.Config:
    """Return the models of the file; without any, the expert `default` with the embedded model."""
    if fields.value.keys().isdisjoint(KEYS):
        return config.embedded()
    providers = _providers(fields.get("providers"))
    experts = _experts(fields.get("experts"), providers)
    _check_recorders(fields.get("providers"), providers)
    _check_fallbacks(fields.get("experts"))
    if "experts" not in fields and len(providers) == 1:
        (only,) = providers
        experts = {"default": config.ExpertConfig(name="default", provider=only)}
    return config.Config(providers=providers, experts=experts, default_expert=_default(fields, experts))


def _default(fields: cursor.Fields, experts: Collection[str]) -> str | None:
    section = fields.get("default_expert")
    if section is not None:
        return _name_in(section, "EXPERT_UNKNOWN", "expert", experts)
    if "default" in experts:
        return "default"
    return next(iter(experts)) if len(experts) == 1 else None


def _providers(section: cursor.Cursor | None) -> dict[str, config.ProviderConfig]:
    if section is None:  # experts alone: they are of the embedded model
        return dict(config.embedded().providers)
    fields = section.fields()
    read = [_provider(entry) for entry in (() if fields is None else fields) if _has_valid_name(entry, "provider")]
    return {provider.name: provider for provider in read if provider is not None}


def _provider(entry: cursor.Cursor) -> config.ProviderConfig | None:
    fields = entry.fields()
    kind = None if fields is None else fields.need("kind")
    kind_fields = None if kind is None else _kind(kind)
    if fields is None or kind_fields is None:
        return None
    kind_definition = kinds.KINDS[kind_fields]
    entry.fields(_COMMON_KEYS | kind_definition.keys)  # reports what this kind does not know
    return config.ProviderConfig(
        name=str(entry.path[-1]),
        kind=kind_fields,
        base_url=_address(fields.get("base_url")),
        api_key=_key(fields.get("api_key")),
        model=_text(fields, "model"),
        timeout_ms=fields.integer("timeout_ms", config.TIMEOUT_MS, 1, _MAX_TIMEOUT_MS),
        concurrency=fields.integer("concurrency", kind_definition.concurrency, 1, 1000),
        model_path=_text(fields, "model_path"),
        n_ctx=fields.integer("n_ctx", config.N_CTX, 256, 1_048_576),
        threads=fields.integer("threads", 1, 1, 1024),
        recordings=_text(fields, "recordings"),
        record=_text(fields, "record"),
        prices=_prices(fields.get("prices")),
    )


def _kind(section: cursor.Cursor) -> str | None:
    text = section.text(blank=False)
    if text is None or text in kinds.KINDS:
        return text
    kind_list = ", ".join(kinds.KINDS)
    hint = suggestions.did_you_mean(
        text, kinds.KINDS, otherwise="a server that speaks OpenAI's API is `openai` with a base_url"
    )
    section.problem("PROVIDER_UNKNOWN", f"there is no kind of provider {text[:60]!r}; there are {kind_list}", hint=hint)
    return None


def _address(section: cursor.Cursor | None) -> str | None:
    text = None if section is None else section.text(blank=False)
    if section is None or text is None:
        return None
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid, parts = False, None
    if not is_valid or parts is None:
        section.problem(
            "ADDRESS_INVALID", "`base_url` must be an http or https address", hint="like http://127.0.0.1:8000/v1"
        )
        return None
    if parts.password is not None or parts.username is not None:
        section.problem(
            "SECRET_INVALID", "`base_url` must not hold a name or password", hint="use api_key: ${env:NAME}"
        )
        return None
    return text


def _key(section: cursor.Cursor | None) -> str | None:
    if section is None:
        return None
    if not isinstance(section.value, str) or not remote_api.KEY_REFERENCE.match(section.value):
        # The value is not shown: the author may have written the key itself here.
        hint = "write ${env:NAME}; the key itself stays out of the file"
        section.problem("SECRET_INVALID", "`api_key` must name an environment variable", hint=hint)
        return None
    return section.value


def _prices(section: cursor.Cursor | None) -> config.Prices | None:
    fields = None if section is None else section.fields(frozenset(_PRICES))
    if fields is None:
        return None
    places = [fields.need(name) for name in _PRICES]
    values = [None if place is None else place.number(0, 1_000_000) for place in places]
    if values[0] is None or values[1] is None:
        return None
    return config.Prices(input_usd_per_mtok=values[0], output_usd_per_mtok=values[1])


def _experts(section: cursor.Cursor | None, providers: Collection[str]) -> dict[str, config.ExpertConfig]:
    fields = None if section is None else section.fields()
    read = [
        _expert(entry, providers) for entry in (() if fields is None else fields) if _has_valid_name(entry, "expert")
    ]
    return {expert.name: expert for expert in read if expert is not None}


def _expert(entry: cursor.Cursor, providers: Collection[str]) -> config.ExpertConfig | None:
    fields = entry.fields(_EXPERT_KEYS)
    place = None if fields is None else fields.need("provider")
    provider = None if place is None else _name_in(place, "PROVIDER_UNKNOWN", "provider", providers)
    if fields is None or provider is None:
        return None
    return config.ExpertConfig(
        name=str(entry.path[-1]),
        provider=provider,
        model=_text(fields, "model"),
        max_tokens=_integer(fields.get("max_tokens"), 1, _MAX_TOKENS),
        temperature=_number(fields.get("temperature"), 2),
        top_p=_number(fields.get("top_p"), 1),
        seed=_integer(fields.get("seed"), 0, 2**31 - 1),
        parameters=fields.map("parameters"),
        system=fields.text("system"),
        modes=_modes(fields.get("modes")),
        fallbacks=fields.texts("fallbacks"),
    )


def _modes(section: cursor.Cursor | None) -> tuple[config.Mode, ...]:
    entries = [] if section is None else section.items() or []
    modes = [entry.choice(config.MODES) for entry in entries]
    return tuple(dict.fromkeys(cast("config.Mode", mode) for mode in modes if mode is not None))


def _check_recorders(section: cursor.Cursor | None, providers: Mapping[str, config.ProviderConfig]) -> None:
    """Report recorders that do not lead, directly or through others, to a provider that is not a recorder."""
    for name, provider in providers.items():
        source = provider.record
        if source is None or section is None:
            continue
        place = section.at(name, None).at("record", source)
        if _name_in(place, "PROVIDER_UNKNOWN", "provider", providers) and providers[source].kind == "recorded":
            place.problem("CONFLICT", f"{source!r} is itself a recorded provider", hint="name one that answers")


def _check_fallbacks(section: cursor.Cursor | None) -> None:
    """Report fallbacks that are not other experts of the file; an expert with Problems counts."""
    fields = None if section is None else section.fields()
    names = frozenset(() if fields is None else fields.value)
    for entry in () if fields is None else fields:
        fallbacks = entry.value.get("fallbacks") if isinstance(entry.value, Mapping) else None
        place = entry.at("fallbacks", fallbacks)
        if fallbacks is None:
            continue
        for fallback in [place] if isinstance(fallbacks, str) else place.items() or []:
            if fallback.value == entry.path[-1]:
                fallback.problem("CONFLICT", f"{fallback.value!r} cannot fall back on itself")
            elif isinstance(fallback.value, str):
                _name_in(fallback, "EXPERT_UNKNOWN", "expert", names)


def _name_in(place: cursor.Cursor, code: str, what: str, names: Collection[str]) -> str | None:
    """Return the name at `place` if it is one of `names`; report it otherwise."""
    text = place.text(blank=False)
    if text is None or text in names:
        return text
    otherwise = f"known: {', '.join(sorted(names))}" if names else f"declare it under `{what}s`"
    hint = suggestions.did_you_mean(text, names, otherwise=otherwise)
    place.problem(code, f"there is no {what} {text[:60]!r}", hint=hint)
    return None


def _has_valid_name(entry: cursor.Cursor, what: str) -> bool:
    name = str(entry.path[-1])
    if _NAME.match(name):
        return True
    entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot name a {what}")
    return False


def _text(fields: cursor.Fields, key: str) -> str | None:
    section = fields.get(key)
    return None if section is None else section.text(blank=False)


def _integer(section: cursor.Cursor | None, low: int, high: int) -> int | None:
    return None if section is None else section.integer(low, high)


def _number(section: cursor.Cursor | None, high: float) -> float | None:
    return None if section is None else section.number(0, high)
