"""OpenAI's chat completions, which many other servers speak too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tests.providers.servers import loopback


class OpenAI:
    kind: Literal["openai"] = "openai"
    prefix = "/v1"
    #: What an answer says that it took; None says nothing, as many servers do.
    took: tuple[int, int] | None = (11, 5)

    def key(self, headers: Mapping[str, str]) -> str:
        return next((value for name, value in headers.items() if name.lower() == "authorization"), "")[len("Bearer ") :]

    def answers(self, path: str) -> bool:
        return path == "/v1/chat/completions"

    def events(self, text: str, finish: str) -> Sequence[bytes]:
        parts = [self._chunk({"content": piece}) for piece in loopback.pieces(text)]
        return [self._chunk({"role": "assistant", "content": ""}), *parts, *self._end(finish)]

    def refusal(self) -> Sequence[bytes]:
        return [self._chunk({"role": "assistant", "refusal": "I cannot help with that."}), *self._end("stop")]

    def error(self, status: int, message: str) -> object:
        return {"error": {"message": message, "type": "some_error", "param": None, "code": None}}

    def _chunk(self, delta: object, finish: str | None = None) -> bytes:
        return loopback.event(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "gpt-4o-mini",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }
        )

    def _end(self, finish: str) -> list[bytes]:
        last = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-mini"}
        told: list[bytes] = []
        if self.took is not None:
            tokens_in, tokens_out = self.took
            usage = {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
            }
            told = [loopback.event({**last, "choices": [], "usage": usage})]
        return [self._chunk({}, finish), *told, b"data: [DONE]\n\n"]


class Silent(OpenAI):
    """A server that does not say what an answer took."""

    took = None


class Boastful(OpenAI):
    """A server that says what cannot be."""

    took = (2**60, 2**60)


class Thinker(OpenAI):
    """A model that thinks for long before it says a word."""

    def events(self, text: str, finish: str) -> Sequence[bytes]:
        thoughts = [self._chunk({"role": "assistant", "reasoning_content": "Hm, bees. "}) for _ in range(9)]
        return [*thoughts, *super().events(text, finish)]
