"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tests.providers.servers import loopback


class Anthropic:
    kind: Literal["anthropic"] = "anthropic"
    prefix = ""

    def key(self, headers: Mapping[str, str]) -> str:
        sent = {name.lower(): value for name, value in headers.items()}
        return sent.get("x-api-key") or sent.get("authorization", "").removeprefix("Bearer ")

    def answers(self, path: str) -> bool:
        return path == "/v1/messages"

    def events(self, text: str, finish: str) -> Sequence[bytes]:
        return self._message(text, {"stop": "end_turn", "length": "max_tokens"}[finish])

    def refusal(self) -> Sequence[bytes]:
        return self._message("I", "refusal")

    def error(self, status: int, message: str) -> object:
        kinds = {401: "authentication_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "invalid_request_error"), "message": message}}

    def _message(self, text: str, reason: str) -> list[bytes]:
        begun: dict[str, object] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 1},
        }
        block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        ended = {"stop_reason": reason, "stop_sequence": None}
        return [
            loopback.event({"type": "message_start", "message": begun}, "message_start"),
            loopback.event(block, "content_block_start"),
            *(self._delta(piece) for piece in loopback.pieces(text)),
            loopback.event({"type": "content_block_stop", "index": 0}, "content_block_stop"),
            loopback.event({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}}, "message_delta"),
            loopback.event({"type": "message_stop"}, "message_stop"),
        ]

    def _delta(self, piece: str) -> bytes:
        delta = {"type": "text_delta", "text": piece}
        return loopback.event({"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta")
