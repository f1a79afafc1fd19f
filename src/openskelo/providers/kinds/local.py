"""The kind `local`: a model in this process. llama.cpp runs a GGUF file, and decoding follows the schema.

A loaded model has one thread, on which its generations run one after the other. The event loop gets each piece of text
from that thread as it is generated. A request that is cancelled, or takes too long, sets `stop`; the thread checks it
after each piece and while it reads the prompt.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, decoding_schema, failure_codes, kinds, llama, protocol
from openskelo.structs import field, mutable

#: The most tokens of an answer, unless the request sets a limit.
_MAX_TOKENS = 512
#: Keys of `model_params` that llama.cpp accepts.
_EXTRAS = frozenset({"top_k", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty"})
#: A small model without a penalty repeats itself; the fixed seed makes a run repeatable.
_DEFAULTS: JsonObject = {"temperature": 0.3, "seed": 0, "repeat_penalty": 1.1}


class Local:
    """One GGUF file, loaded at the first request and kept for the life of the process; one generation at a time."""

    def __init__(self, settings: config.ProviderConfig, root: Path) -> None:
        self._settings = settings
        self._path = model_file(settings, root)

    async def complete(self, request: protocol.Request, on_text: protocol.OnText) -> protocol.Answer:
        import asyncio  # noqa: PLC0415 -- reading skelo.yaml imports this module, and must not import asyncio

        loop = asyncio.get_running_loop()
        body = _body(request)
        model = _loaded(self._existing(), self._settings.n_ctx, self._settings.threads)
        stop = threading.Event()

        def on_piece(piece: str) -> None:
            if not stop.is_set():
                loop.call_soon_threadsafe(on_text, piece)

        generation = _Generation(body=body, on_piece=on_piece, stop=stop)
        try:
            async with asyncio.timeout(self._settings.timeout_ms / 1000):
                await loop.run_in_executor(model.thread, model.run, generation)
        except TimeoutError as error:
            timeout_seconds = self._settings.timeout_ms / 1000
            message = f"{self._settings.name} did not answer within {timeout_seconds:g} s"
            raise failure_codes.transient("PROVIDER_TIMEOUT", message, hint="raise its timeout_ms") from error
        finally:
            stop.set()  # the caller has returned or was cancelled
        return failure_codes.require_usable(_answer(generation, self._name()), request.schema)

    def _existing(self) -> Path:
        if self._path is None:
            raise failure_codes.missing("the embedded model is not installed", hint=llama.INSTALL)
        if not self._path.is_file():
            raise failure_codes.missing(f"there is no model file {self._path}", hint="correct model_path in skelo.yaml")
        return self._path

    def _name(self) -> str:
        if self._settings.model_path is None:
            return llama.EMBEDDED_MODEL
        return Path(self._settings.model_path).stem


def model_file(settings: config.ProviderConfig, root: Path) -> Path | None:
    """Return the GGUF file that a local provider runs; None when the embedded model is not installed."""
    if settings.model_path is None:
        return llama.embedded_weights()
    return root / Path(settings.model_path).expanduser()


@mutable
class _Generation:
    """A generation in progress: the request, the callback for its pieces, and the text and counts so far."""

    body: dict[str, Json]
    on_piece: Callable[[str], None]
    stop: threading.Event
    pieces: list[str] = field(default_factory=list[str])
    tokens_in: int = 0
    tokens_out: int = 0
    finish_reason: str = "stop"
    failed: BaseException | None = None

    def take(self, chunk: Mapping[str, Json]) -> bool:
        """Read one piece of the stream, on the model's thread. Return True to stop the generation."""
        try:
            self._read(chunk)
        except Exception as error:
            self.failed = error  # llama.cpp would ignore it; `run` raises it
        return self.failed is not None or self.stop.is_set()

    def _read(self, chunk: Mapping[str, Json]) -> None:
        match chunk:
            case {"error": {"message": str() as message, **rest}}:
                raise _failure(message, rest)
            case {"usage": {"prompt_tokens": int() as tokens_in, "completion_tokens": int() as tokens_out}}:
                self.tokens_in, self.tokens_out = tokens_in, tokens_out
            case {"choices": [{"finish_reason": str() as reason}]}:
                self.finish_reason = reason
            case {"choices": [{"delta": {"content": str() as piece}}]} if piece:
                self.pieces.append(piece)
                self._check_start()
                self.on_piece(piece)
            case _:
                pass  # the role, or how far the prompt has been read

    def _check_start(self) -> None:
        """Raise unless the answer begins like JSON: the decoder silently ignores a grammar that it cannot build."""
        if "grammar" not in self.body or len(self.pieces) > 8:
            return
        start = "".join(self.pieces).lstrip()
        if start and start[0] not in '{["-0123456789tfn':
            raise failure_codes.final(
                "PROVIDER_BAD_REQUEST",
                "the model's decoder cannot follow this schema",
                hint="simplify the outputs of the block, or ask another provider",
            )


class _Model:
    """A loaded model and the one thread it runs on."""

    def __init__(self, path: Path, n_ctx: int, threads: int) -> None:
        self._path = path
        self._n_ctx = n_ctx
        self._threads = threads
        self._server: llama.Server | None = None
        from concurrent import futures  # noqa: PLC0415 -- see `Local.complete`

        self.thread = futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="skelo-model")

    def run(self, generation: _Generation) -> None:
        """Run the generation to its end, or until it is stopped; called on the model's thread."""
        if generation.stop.is_set():
            return
        if self._server is None:
            self._server = llama.load(self._path, n_ctx=self._n_ctx, threads=self._threads)
        try:
            self._server.handle_chat_completions(generation.body, generation.take)
        except (RuntimeError, ValueError) as error:
            raise failure_codes.final("PROVIDER_BAD_REQUEST", f"llama.cpp refused the request: {error}") from error
        if generation.failed is not None:
            raise generation.failed


@functools.lru_cache(maxsize=4)
def _loaded(path: Path, n_ctx: int, threads: int) -> _Model:
    """Return the model of a file, one for the whole process, because its weights are large."""
    return _Model(path, n_ctx, threads)


def _body(request: protocol.Request) -> dict[str, Json]:
    parameters = request.parameters
    limit = request.max_tokens or _MAX_TOKENS
    body: dict[str, Json] = {
        **_DEFAULTS,
        **{key: parameters[key] for key in ("temperature", "top_p", "seed", "stop") if parameters.get(key) is not None},
        **_extras(parameters.get("model_params")),
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        "max_tokens": limit,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # so that it can be stopped while it still reads the prompt
    }
    if request.schema is not None:
        schema = decoding_schema.constrain(request.schema, limit)
        compact = {**schema, "x-guidance": {"whitespace_flexible": False}}
        body["grammar"] = f"%llguidance {{}}\nstart: %json {json.dumps(compact)}"
    return body


def _extras(model_params: Json) -> JsonObject:
    if not isinstance(model_params, Mapping):
        return {}
    unknown = sorted(model_params.keys() - _EXTRAS)
    if unknown:
        raise failure_codes.final(
            "PROVIDER_BAD_REQUEST",
            f"a local model does not know the parameter {unknown[0]!r}",
            hint=f"it knows {', '.join(sorted(_EXTRAS))}",
        )
    return model_params


def _failure(message: str, rest: Mapping[str, Json]) -> errors.AttemptFailed:
    if rest.get("type") == "exceed_context_size_error":
        hint = "raise n_ctx of the provider, or shorten the prompt"
        return failure_codes.final("PROVIDER_BAD_REQUEST", f"the prompt is too long: {message}", hint=hint)
    code = rest.get("code")
    if isinstance(code, int) and code >= 500:
        return failure_codes.transient("PROVIDER_UNAVAILABLE", message)
    return failure_codes.final("PROVIDER_BAD_REQUEST", message)


def _answer(generation: _Generation, model: str) -> protocol.Answer:
    return protocol.Answer(
        text="".join(generation.pieces),
        usage=protocol.Usage(tokens_in=generation.tokens_in, tokens_out=generation.tokens_out),
        model=model,
        finish_reason=generation.finish_reason,
    )


def _make(settings: config.ProviderConfig, setup: kinds.Setup) -> protocol.Provider:
    return Local(settings, setup.root)


def _missing(settings: config.ProviderConfig, setup: kinds.Setup) -> str | None:
    if importlib.util.find_spec(llama.RUNTIME) is None:
        return f"{llama.RUNTIME} is not installed: skelo model install"
    path = model_file(settings, setup.root)
    if path is None:
        return "the embedded model is not installed: skelo model install"
    if not path.is_file():
        return f"there is no model file {path}"
    with path.open("rb") as file:  # an incomplete download, or the pointer that git keeps for a large file
        if file.read(4) == b"GGUF":
            return None
        return f"{path} is not a GGUF file"


KIND = kinds.Kind(
    name="local",
    summary="A GGUF model in this process, run by llama.cpp.",
    keys=frozenset({"model_path", "n_ctx", "threads"}),
    make=_make,
    missing=_missing,
    doc="`model_path`, `n_ctx` (8192) and `threads` (1)",
    free=True,
    local=True,
    max_draft_tokens=2_000,
    concurrency=1,
)
