"""Ollama's `/api/chat`: a stream of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from tests.providers.servers import loopback


class Ollama:
    kind: Literal["ollama"] = "ollama"
    prefix = "/v1"  # its OpenAI-compatible address, as many files have it: the same server is meant

    def key(self, headers: Mapping[str, str]) -> str:
        return next((value for name, value in headers.items() if name.lower() == "authorization"), "")[len("Bearer ") :]

    def answers(self, path: str) -> bool:
        return path == "/api/chat"

    def events(self, text: str, finish: str) -> Sequence[bytes]:
        pieces = [self.line({"message": {"role": "assistant", "content": piece}}) for piece in loopback.pieces(text)]
        return [*pieces, self.end(finish)]

    def refusal(self) -> Sequence[bytes]:
        raise NotImplementedError("Ollama has no word for a refusal")

    def error(self, status: int, message: str) -> object:
        return {"error": message}

    def line(self, document: Mapping[str, object]) -> bytes:
        return json.dumps({"model": "llama3", "done": False, **document}).encode() + b"\n"

    def end(self, finish: str) -> bytes:
        counts = {"prompt_eval_count": 11, "eval_count": 5}
        message = {"role": "assistant", "content": ""}
        return self.line({"message": message, "done": True, "done_reason": finish, **counts})
