"""The door to llama.cpp: a GGUF file becomes a model that answers in this process."""

from __future__ import annotations

import importlib
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, cast

from openskelo.kernel.json import Json
from openskelo.providers import failure, weights

INSTALL = "`skelo model install` installs the embedded model and what runs it"
#: A prompt is read in steps of this many tokens, and can be stopped between them.
_BATCH = 64


class Server(Protocol):
    """A loaded model."""

    def handle_chat_completions(
        self, request: dict[str, Json], callback: Callable[[Mapping[str, Json]], bool], /
    ) -> object:
        """Give each piece of the answer to `callback`, which says whether to stop; without the GIL in between."""
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
    """What is used of xllamacpp, which says nothing about its types itself."""

    def CommonParams(self) -> _Parameters: ...  # noqa: N802 -- its name there
    def Server(self, parameters: _Parameters, /) -> Server: ...  # noqa: N802 -- its name there


def load(path: Path, *, n_ctx: int, threads: int) -> Server:
    """The model in `path`; `AttemptFailed` PROVIDER_MISSING when llama.cpp or a file it can read is not there."""
    try:
        module = cast("_Module", importlib.import_module(weights.RUNTIME))
    except ImportError as error:
        hint = f"{INSTALL}, or: pip install 'openskelo[local]'"
        raise failure.missing("xllamacpp, which runs local models, is not installed", hint=hint) from error
    parameters = module.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = n_ctx
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.cache_ram_mib = 0
    parameters.warmup = False
    parameters.verbosity = -1
    # llama.cpp also listens on a port of the loopback address; nobody is told this key.
    parameters.api_keys = [secrets.token_hex(32)]
    try:
        return module.Server(parameters)
    except RuntimeError as error:
        raise failure.missing(
            f"{path} cannot be loaded as a model", hint="it must be a GGUF file that llama.cpp knows"
        ) from error
