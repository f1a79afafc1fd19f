"""A model in this process: llama.cpp runs a GGUF file, and decoding keeps to the schema token by token."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from collections.abc import Callable, Mapping
from concurrent import futures
from pathlib import Path

from openskelo import errors
from openskelo.frozen import field, mutable
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, decoding, failure, llama, seam, weights

#: How many tokens an answer may have when nobody says.
_MAX_TOKENS = 512
#: What the author may say beside the parameters every model has.
_EXTRAS = frozenset({"top_k", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty"})
#: A small model without a penalty says the same thing again and again; the fixed seed makes a run repeatable.
_DEFAULTS: JsonObject = {"temperature": 0.3, "seed": 0, "repeat_penalty": 1.1}


class Local:
    """One GGUF file, loaded at the first request and kept for the life of the process; one generation at a time."""

    def __init__(self, settings: config.ProviderConfig, root: Path) -> None:
        self._settings = settings
        self._path = model_file(settings, root)

    async def complete(self, request: seam.Request, on_text: seam.OnText) -> seam.Answer:
        loop = asyncio.get_running_loop()
        body = _body(request)
        model = _loaded(self._existing(), self._settings.n_ctx, self._settings.threads)
        stop = threading.Event()

        def hear(piece: str) -> None:
            if not stop.is_set():
                loop.call_soon_threadsafe(on_text, piece)

        generation = _Generation(body=body, hear=hear, stop=stop)
        try:
            async with asyncio.timeout(self._settings.timeout_ms / 1000):
                await loop.run_in_executor(model.thread, model.run, generation)
        except TimeoutError as error:
            waited = self._settings.timeout_ms / 1000
            message = f"{self._settings.name} did not answer within {waited:g} s"
            raise failure.transient("PROVIDER_TIMEOUT", message, hint="raise its timeout_ms") from error
        finally:
            stop.set()  # whatever the reason, nobody listens any more
        return failure.usable(_answer(generation, self._name()), request.schema)

    def _existing(self) -> Path:
        if self._path is None:
            raise failure.missing("the embedded model is not installed", hint=llama.INSTALL)
        if not self._path.is_file():
            raise failure.missing(f"there is no model file {self._path}", hint="mend model_path in skelo.yaml")
        return self._path

    def _name(self) -> str:
        if self._settings.model_path is None:
            return weights.MODEL
        return Path(self._settings.model_path).stem


def model_file(settings: config.ProviderConfig, root: Path) -> Path | None:
    """The GGUF file that a local provider runs; None when it is the embedded one and that is not installed."""
    if settings.model_path is None:
        return weights.embedded()
    return root / Path(settings.model_path).expanduser()


@mutable
class _Generation:
    """One generation under way: what is asked, who listens, and what has come so far."""

    body: dict[str, Json]
    hear: Callable[[str], None]
    stop: threading.Event
    pieces: list[str] = field(default_factory=list[str])
    tokens_in: int = 0
    tokens_out: int = 0
    finish_reason: str = "stop"
    failed: BaseException | None = None

    def take(self, chunk: Mapping[str, Json]) -> bool:
        """Read one piece of the stream, on the model's thread. True stops the generation."""
        try:
            self._read(chunk)
        except Exception as error:
            self.failed = error  # llama.cpp would drop it; `run` raises it
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
                self.hear(piece)
            case _:
                pass  # the role, or how far the prompt has been read

    def _check_start(self) -> None:
        """A grammar that the decoder cannot build is dropped without a word; its answer then begins with anything."""
        begun = "".join(self.pieces[:8]).lstrip() if "grammar" in self.body and len(self.pieces) <= 8 else ""
        if begun and begun[0] not in '{["-0123456789tfn':
            raise failure.final(
                "PROVIDER_BAD_REQUEST",
                "the model's decoder cannot hold this schema",
                hint="simplify the outputs of the block, or ask another provider",
            )


class _Model:
    """A loaded model and the one thread it runs on."""

    def __init__(self, path: Path, n_ctx: int, threads: int) -> None:
        self._path = path
        self._n_ctx = n_ctx
        self._threads = threads
        self._server: llama.Server | None = None
        self.thread = futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="skelo-model")

    def run(self, generation: _Generation) -> None:
        """Generate until the end or until stopped; on the model's own thread."""
        if generation.stop.is_set():
            return
        if self._server is None:
            self._server = llama.load(self._path, n_ctx=self._n_ctx, threads=self._threads)
        try:
            self._server.handle_chat_completions(generation.body, generation.take)
        except (RuntimeError, ValueError) as error:
            raise failure.final("PROVIDER_BAD_REQUEST", f"llama.cpp refused the request: {error}") from error
        if generation.failed is not None:
            raise generation.failed


@functools.lru_cache(maxsize=4)
def _loaded(path: Path, n_ctx: int, threads: int) -> _Model:
    """The model of a file; the same for everybody in this process, because its weights are large."""
    return _Model(path, n_ctx, threads)


def _body(request: seam.Request) -> dict[str, Json]:
    given = request.parameters
    limit = request.max_tokens or _MAX_TOKENS
    body: dict[str, Json] = {
        **_DEFAULTS,
        **{key: given[key] for key in ("temperature", "top_p", "seed", "stop") if given.get(key) is not None},
        **_extras(given.get("model_params")),
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        "max_tokens": limit,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # so that it can be stopped while it still reads the prompt
    }
    if request.schema is not None:
        held = decoding.holdable(request.schema, limit)
        compact = {**held, "x-guidance": {"whitespace_flexible": False}}
        body["grammar"] = f"%llguidance {{}}\nstart: %json {json.dumps(compact)}"
    return body


def _extras(given: Json) -> JsonObject:
    if not isinstance(given, Mapping):
        return {}
    unknown = sorted(given.keys() - _EXTRAS)
    if unknown:
        raise failure.final(
            "PROVIDER_BAD_REQUEST",
            f"a local model does not know the parameter {unknown[0]!r}",
            hint=f"it knows {', '.join(sorted(_EXTRAS))}",
        )
    return given


def _failure(message: str, rest: Mapping[str, Json]) -> errors.AttemptFailed:
    if rest.get("type") == "exceed_context_size_error":
        hint = "raise n_ctx of the provider, or shorten the prompt"
        return failure.final("PROVIDER_BAD_REQUEST", f"the prompt is too long: {message}", hint=hint)
    code = rest.get("code")
    if isinstance(code, int) and code >= 500:
        return failure.transient("PROVIDER_UNAVAILABLE", message)
    return failure.final("PROVIDER_BAD_REQUEST", message)


def _answer(generation: _Generation, model: str) -> seam.Answer:
    return seam.Answer(
        text="".join(generation.pieces),
        usage=seam.Usage(tokens_in=generation.tokens_in, tokens_out=generation.tokens_out),
        model=model,
        finish_reason=generation.finish_reason,
    )
