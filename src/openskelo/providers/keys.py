"""The key of a provider: named in the project's file, looked up when it is needed, and never shown."""

from __future__ import annotations

import re
from collections.abc import Mapping

from openskelo.providers import config, failure

REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}\Z")
#: What servers without keys are sent, because their clients insist on one.
_NONE = "none"
_MASK = "[secret]"


def variable(settings: config.ProviderConfig) -> str | None:
    """The environment variable that holds the key; None when no key is needed.

    The usual variable is read for the usual address only: another server is not handed a key it was not given.
    """
    if settings.api_key is not None:
        found = REFERENCE.match(settings.api_key)
        return None if found is None else found.group(1)
    return config.USUAL_KEYS.get(settings.kind) if settings.base_url is None else None


def resolve(settings: config.ProviderConfig, environment: Mapping[str, str]) -> str:
    """The key itself (AttemptFailed PROVIDER_AUTH, final, when it is not set)."""
    name = variable(settings)
    if name is None:
        return _NONE
    key = environment.get(name, "").strip()
    if not key:
        raise failure.final(
            "PROVIDER_AUTH",
            f"{settings.name} needs a key, and the environment variable {name} is not set",
            hint=f"set {name} before starting skelo",
        )
    return key


def mask(text: str, key: str) -> str:
    """`text` without the key."""
    return text.replace(key, _MASK) if len(key) >= 8 else text
