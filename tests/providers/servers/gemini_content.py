"""Gemini's streamGenerateContent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tests.providers.servers import loopback


class Gemini:
    kind: Literal["gemini"] = "gemini"
    prefix = ""

    def key(self, headers: Mapping[str, str]) -> str:
        return next((value for name, value in headers.items() if name.lower() == "x-goog-api-key"), "")

    def answers(self, path: str) -> bool:
        return path.startswith(("/v1/models/", "/v1beta/models/")) and path.endswith(":streamGenerateContent")

    def events(self, text: str, finish: str) -> Sequence[bytes]:
        *first, last = loopback.pieces(text)
        reason = {"stop": "STOP", "length": "MAX_TOKENS"}[finish]
        return [*(self._chunk(piece) for piece in first), self._chunk(last, reason)]

    def refusal(self) -> Sequence[bytes]:
        return [self._chunk("I"), self._chunk("", "SAFETY")]

    def error(self, status: int, message: str) -> object:
        words = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
        return {"error": {"code": status, "message": message, "status": words.get(status, "INVALID_ARGUMENT")}}

    def _chunk(self, piece: str, reason: str | None = None) -> bytes:
        candidate: dict[str, object] = {"index": 0, "content": {"role": "model", "parts": [{"text": piece}]}}
        if reason is not None:
            candidate["finishReason"] = reason
        usage = {"promptTokenCount": 11, "candidatesTokenCount": 5, "totalTokenCount": 16}
        return loopback.event(
            {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-flash", "responseId": "r"}
        )
