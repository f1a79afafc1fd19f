"""The models of a project as `skelo.yaml` writes them: `providers`, `experts` and `default_expert`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import cast
from urllib.parse import urlsplit

from openskelo.providers import config, keys
from openskelo.workflows import cursor, suggest

KEYS = frozenset({"providers", "experts", "default_expert"})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")
_ANY = frozenset({"kind", "timeout_ms", "concurrency"})
_REMOTE = _ANY | {"base_url", "api_key", "model", "prices"}
_KNOWN: Mapping[str, frozenset[str]] = {
    "local": _ANY | {"model_path", "n_ctx", "threads"},
    "openai": _REMOTE,
    "anthropic": _REMOTE,
    "gemini": _REMOTE,
    "ollama": _REMOTE,
    "recorded": _ANY | {"recordings", "record"},
}
_EXPERT = frozenset(
    {"provider", "model", "max_tokens", "temperature", "top_p", "seed", "parameters", "system", "modes", "fallbacks"}
)
_PRICES = ("input_usd_per_mtok", "output_usd_per_mtok")
_MOST_TOKENS = 10_000_000
_LONGEST_MS = 86_400_000


def read(fields: cursor.Fields) -> config.Config:
    """What the file says about models; the embedded model in the expert `default` when it says nothing."""
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
    found = fields.get("default_expert")
    if found is not None:
        return _one_of(found, "EXPERT_UNKNOWN", "expert", experts)
    if "default" in experts:
        return "default"
    return next(iter(experts)) if len(experts) == 1 else None


def _providers(found: cursor.Cursor | None) -> dict[str, config.ProviderConfig]:
    if found is None:  # experts alone: they are of the embedded model
        return dict(config.embedded().providers)
    fields = found.fields()
    read = [_provider(entry) for entry in (() if fields is None else fields) if _named(entry, "provider")]
    return {one.name: one for one in read if one is not None}


def _provider(entry: cursor.Cursor) -> config.ProviderConfig | None:
    fields = entry.fields()
    kind = None if fields is None else fields.need("kind")
    chosen = None if kind is None else _kind(kind)
    if fields is None or chosen is None:
        return None
    entry.fields(_KNOWN[chosen])  # reports what this kind does not know
    local = chosen == "local"
    return config.ProviderConfig(
        name=str(entry.path[-1]),
        kind=chosen,
        base_url=_address(fields.get("base_url")),
        api_key=_key(fields.get("api_key")),
        model=_text(fields, "model"),
        timeout_ms=fields.integer("timeout_ms", config.TIMEOUT_MS, 1, _LONGEST_MS),
        concurrency=fields.integer("concurrency", 1 if local else config.CONCURRENCY, 1, 1000),
        model_path=_text(fields, "model_path"),
        n_ctx=fields.integer("n_ctx", config.N_CTX, 256, 1_048_576),
        threads=fields.integer("threads", 1, 1, 1024),
        recordings=_text(fields, "recordings"),
        record=_text(fields, "record"),
        prices=_prices(fields.get("prices")),
    )


def _kind(found: cursor.Cursor) -> config.Kind | None:
    text = found.text(blank=False)
    if text is None or text in config.KINDS:
        return text
    listed = ", ".join(config.KINDS)
    hint = suggest.did_you_mean(
        text, config.KINDS, otherwise="a server that speaks OpenAI's API is `openai` with a base_url"
    )
    found.problem("PROVIDER_UNKNOWN", f"there is no kind of provider {text[:60]!r}; there are {listed}", hint=hint)
    return None


def _address(found: cursor.Cursor | None) -> str | None:
    text = None if found is None else found.text(blank=False)
    if found is None or text is None:
        return None
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good, parts = False, None
    if not good or parts is None:
        found.problem(
            "ADDRESS_INVALID", "`base_url` must be an http or https address", hint="like http://127.0.0.1:8000/v1"
        )
        return None
    if parts.password is not None or parts.username is not None:
        found.problem("SECRET_INVALID", "`base_url` must not hold a name or password", hint="use api_key: ${env:NAME}")
        return None
    return text


def _key(found: cursor.Cursor | None) -> str | None:
    if found is None:
        return None
    if not isinstance(found.value, str) or not keys.REFERENCE.match(found.value):
        # The value itself is not shown: somebody may have put the key here.
        hint = "write ${env:NAME}; the key itself stays out of the file"
        found.problem("SECRET_INVALID", "`api_key` must name an environment variable", hint=hint)
        return None
    return found.value


def _prices(found: cursor.Cursor | None) -> config.Prices | None:
    fields = None if found is None else found.fields(frozenset(_PRICES))
    if fields is None:
        return None
    places = [fields.need(name) for name in _PRICES]
    values = [None if place is None else place.number(0, 1_000_000) for place in places]
    if values[0] is None or values[1] is None:
        return None
    return config.Prices(input_usd_per_mtok=values[0], output_usd_per_mtok=values[1])


def _experts(found: cursor.Cursor | None, providers: Collection[str]) -> dict[str, config.ExpertConfig]:
    fields = None if found is None else found.fields()
    read = [_expert(entry, providers) for entry in (() if fields is None else fields) if _named(entry, "expert")]
    return {one.name: one for one in read if one is not None}


def _expert(entry: cursor.Cursor, providers: Collection[str]) -> config.ExpertConfig | None:
    fields = entry.fields(_EXPERT)
    place = None if fields is None else fields.need("provider")
    provider = None if place is None else _one_of(place, "PROVIDER_UNKNOWN", "provider", providers)
    if fields is None or provider is None:
        return None
    return config.ExpertConfig(
        name=str(entry.path[-1]),
        provider=provider,
        model=_text(fields, "model"),
        max_tokens=_integer(fields.get("max_tokens"), 1, _MOST_TOKENS),
        temperature=_number(fields.get("temperature"), 2),
        top_p=_number(fields.get("top_p"), 1),
        seed=_integer(fields.get("seed"), 0, 2**31 - 1),
        parameters=fields.map("parameters"),
        system=fields.text("system"),
        modes=_modes(fields.get("modes")),
        fallbacks=fields.texts("fallbacks"),
    )


def _modes(found: cursor.Cursor | None) -> tuple[config.Mode, ...]:
    entries = [] if found is None else found.items() or []
    chosen = [entry.choice(config.MODES) for entry in entries]
    return tuple(dict.fromkeys(cast("config.Mode", one) for one in chosen if one is not None))


def _check_recorders(found: cursor.Cursor | None, providers: Mapping[str, config.ProviderConfig]) -> None:
    """A recorder asks another provider, and in the end one that is no recorder."""
    for name, one in providers.items():
        if one.record is None or found is None:
            continue
        place = found.at(name, None).at("record", one.record)
        if _one_of(place, "PROVIDER_UNKNOWN", "provider", providers) and providers[one.record].kind == "recorded":
            place.problem("CONFLICT", f"{one.record!r} is itself a recorded provider", hint="name one that answers")


def _check_fallbacks(found: cursor.Cursor | None) -> None:
    """Fallbacks name other experts of the file, those with Problems of their own included."""
    fields = None if found is None else found.fields()
    names = frozenset(() if fields is None else fields.value)
    for entry in () if fields is None else fields:
        listed = entry.value.get("fallbacks") if isinstance(entry.value, Mapping) else None
        place = entry.at("fallbacks", listed)
        for one in [place] if isinstance(listed, str) else (place.items() or []) if listed is not None else []:
            if one.value == entry.path[-1]:
                one.problem("CONFLICT", f"{one.value!r} cannot fall back on itself")
            elif isinstance(one.value, str):
                _one_of(one, "EXPERT_UNKNOWN", "expert", names)


def _one_of(place: cursor.Cursor, code: str, what: str, known: Collection[str]) -> str | None:
    text = place.text(blank=False)
    if text is None or text in known:
        return text
    otherwise = f"known: {', '.join(sorted(known))}" if known else f"declare it under `{what}s`"
    hint = suggest.did_you_mean(text, known, otherwise=otherwise)
    place.problem(code, f"there is no {what} {text[:60]!r}", hint=hint)
    return None


def _named(entry: cursor.Cursor, what: str) -> bool:
    name = str(entry.path[-1])
    if _NAME.match(name):
        return True
    entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot name a {what}")
    return False


def _text(fields: cursor.Fields, key: str) -> str | None:
    found = fields.get(key)
    return None if found is None else found.text(blank=False)


def _integer(found: cursor.Cursor | None, low: int, high: int) -> int | None:
    return None if found is None else found.integer(low, high)


def _number(found: cursor.Cursor | None, high: float) -> float | None:
    return None if found is None else found.number(0, high)
