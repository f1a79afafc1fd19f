"""From configuration to a provider: which class serves a kind, and what it still needs before it can."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from openskelo.providers import clients, config, keys, local, prices, recorded, remote, seam, weights


def make(
    settings: config.ProviderConfig, *, root: Path, environment: Mapping[str, str], source: seam.Provider | None = None
) -> seam.Provider:
    """The provider that `settings` describe; nothing is loaded or connected yet. `source` is what a recorder asks."""
    match settings.kind:
        case "local":
            return prices.Priced(local.Local(settings, root), settings)
        case "openai" | "anthropic" | "gemini" | "ollama":
            return prices.Priced(remote.Remote(settings, environment), settings)
        case "recorded":
            return recorded.Recorded(recordings(settings, root), source)
        case _ as never:
            assert_never(never)


def recordings(settings: config.ProviderConfig, root: Path) -> Path:
    """The folder of a recorded provider."""
    return root / (settings.recordings or "recordings")


def missing(settings: config.ProviderConfig, *, root: Path, environment: Mapping[str, str]) -> str | None:
    """What a provider needs before it can answer, for people; None when all is there. Nothing is imported or sent."""
    try:
        return _missing(settings, root, environment)
    except OSError as error:  # a name that the file system does not take
        return f"{error.filename} cannot be used: {error.strerror}"


def _missing(settings: config.ProviderConfig, root: Path, environment: Mapping[str, str]) -> str | None:
    match settings.kind:
        case "local":
            return _missing_locally(settings, root)
        case "openai" | "anthropic" | "gemini" | "ollama":
            if not clients.installed(settings.kind):
                return f"its client is not installed: pip install 'openskelo[{clients.extra_of(settings.kind)}]'"
            name = keys.variable(settings)
            return (
                f"its key is not set: set {name}"
                if name is not None and not environment.get(name, "").strip()
                else None
            )
        case "recorded":
            folder = recordings(settings, root)
            return None if settings.record or folder.is_dir() else f"there is no folder {folder}"
        case _ as never:
            assert_never(never)


def _missing_locally(settings: config.ProviderConfig, root: Path) -> str | None:
    if importlib.util.find_spec(weights.RUNTIME) is None:
        return f"{weights.RUNTIME} is not installed: skelo model install"
    path = local.model_file(settings, root)
    if path is None:
        return "the embedded model is not installed: skelo model install"
    if not path.is_file():
        return f"there is no model file {path}"
    with path.open("rb") as file:  # half a download, or the pointer that git keeps for a large file
        return None if file.read(4) == b"GGUF" else f"{path} is no GGUF file"
