"""Base of the remote providers: the description of an API, its key, and answers that contain thoughts.

A kind such as `providers/kinds/openai.py` describes its API as an `Api`; `remote` makes the requests. The two modules
are separate because reading skelo.yaml imports this one, and must stay fast.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from openskelo.kernel.json import JsonObject
from openskelo.providers import config, failure_codes, kinds
from openskelo.structs import frozen

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai import models

#: How skelo.yaml names the environment variable of a key, which is read at the first request.
KEY_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}\Z")
#: Sent to servers without keys, because client libraries require one.
_NO_KEY = "none"
_MASK = "[secret]"
#: Models put their thoughts between `<think>` and `</think>`.
_THINKING_END = "</think>"
_THINKING_START = re.compile(r"\s*<think>")
#: How an answer without thoughts starts: with JSON, or with a fence around it.
_ANSWER_START = re.compile(r"\s*[{\[`]")


@frozen
class Api:
    """A remote API, as far as it differs from the others."""

    #: The extra of this package that installs its client.
    extra: str
    #: A module of the client.
    sdk: str
    #: Returns pydantic-ai's object for one model. It imports the client.
    make_model: Callable[[config.ProviderConfig, str, str, httpx2.AsyncClient], models.Model]
    #: Returns a schema for the API's structured output; None if the API cannot follow this schema.
    constrain: Callable[[JsonObject], JsonObject | None]
    #: Ask for strict structured output.
    strict: bool | None = None


def missing(settings: config.ProviderConfig, setup: kinds.Setup, api: Api) -> str | None:
    """Return a message about what a remote provider needs; None when nothing is missing. Nothing is imported."""
    if not installed(api):
        return f"its client is not installed: pip install 'openskelo[{api.extra}]'"
    variable = key_variable(settings)
    if variable is not None and not setup.environment.get(variable, "").strip():
        return f"its key is not set: set {variable}"
    return None


def installed(api: Api) -> bool:
    """True if the client of an API is installed; nothing is imported."""
    try:
        return all(importlib.util.find_spec(module) is not None for module in ("pydantic_ai", api.sdk))
    except ModuleNotFoundError:  # the parent package of the module is not installed
        return False


def key_variable(settings: config.ProviderConfig) -> str | None:
    """Return the environment variable that holds the key; None when no key is needed.

    The kind's own variable counts for the kind's own address only: another server must not get that key.
    """
    if settings.api_key is not None:
        reference = KEY_REFERENCE.match(settings.api_key)
        return None if reference is None else reference.group(1)
    if settings.base_url is None:
        return kinds.KINDS[settings.kind].key_variable
    return None


def resolve_key(settings: config.ProviderConfig, environment: Mapping[str, str]) -> str:
    """Return the key (Missing PROVIDER_MISSING when the variable is not set)."""
    name = key_variable(settings)
    if name is None:
        return _NO_KEY
    key = environment.get(name, "").strip()
    if not key:
        raise failure_codes.missing(
            f"{settings.name} needs a key, and the environment variable {name} is not set",
            hint=f"set {name} before starting skelo",
        )
    return key


def mask_key(text: str, key: str) -> str:
    """Return `text` with the key masked."""
    return text.replace(key, _MASK) if len(key) >= 8 else text


def without_thinking(text: str, thinking: str = "") -> str:
    """Return the answer without the model's thoughts.

    `text` and `thinking` are the parts of the answer as the client separated them. It recognises the tags only if they
    arrive as separate pieces, and some servers put the opening tag into the prompt; so thoughts may be left in `text`,
    or the answer itself may be at the end of `thinking`. A tag inside a JSON value stays.
    """
    if not text.strip():
        if _THINKING_END in thinking:
            return thinking.rpartition(_THINKING_END)[2]
        return text
    if _THINKING_END in text and (_THINKING_START.match(text) or not _ANSWER_START.match(text)):
        return text.partition(_THINKING_END)[2]
    return text
