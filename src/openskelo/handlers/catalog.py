"""The built-in handlers by name, with the JSON Schema of each one's `config`.

Both the loader (before a run) and the handlers (at run time) hold a config to the same schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import schema

_TEXT: JsonObject = {"type": "string", "minLength": 1}
_FLAG: JsonObject = {"type": "boolean"}
_COUNT: JsonObject = {"type": "integer", "minimum": 1}
_TEXTS: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}
_EMITTED: JsonObject = {"properties": {"status": {"enum": ["ok", "failed", "denied", "escalated"]}}}


def _object(properties: JsonObject, **more: Json) -> JsonObject:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


CONFIG: Mapping[str, JsonObject] = MappingProxyType(
    {
        "builtin:pass": _object({}),
        "builtin:write-file": _object(
            {
                "content_from": _TEXT,
                "path_from": _TEXT,
                "default_path_template": _TEXT,
                "timestamp_format": _TEXT,
                "mkdir": _FLAG,
                "overwrite": _FLAG,
            },
            required=["content_from"],
        ),
        "builtin:read-file": _object(
            {
                "path": _TEXT,
                "path_from": _TEXT,
                "encoding": {"enum": ["utf-8", "ascii", "latin-1", "base64"]},
                "max_bytes": _COUNT,
            },
            anyOf=[{"required": ["path"]}, {"required": ["path_from"]}],
        ),
        "builtin:http-request": _object(
            {
                "url": _TEXT,
                "url_from": _TEXT,
                "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
                "headers": _TEXTS,
                "headers_from": _TEXT,
                "body": {"type": "string"},
                "body_from": _TEXT,
                "json": {},
                "json_from": _TEXT,
                "timeout_ms": _COUNT,
                "max_bytes": _COUNT,
                "accept_status": {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 100, "maximum": 599},
                    "minItems": 1,
                },
                "idempotency_key": _FLAG,
                "follow_redirects": _FLAG,
            },
            anyOf=[{"required": ["url"]}, {"required": ["url_from"]}],
        ),
        "builtin:step": _object(
            {
                "op": {"enum": ["verify", "tool_call", "transform", "emit"]},
                "args": {"type": "object"},
                "refs": _TEXTS,
                "mode": {"enum": ["normal", "degraded", "offline"]},
            },
            required=["op", "args"],
            **{"if": {"properties": {"op": {"const": "emit"}}}, "then": {"properties": {"args": _EMITTED}}},
        ),
        "builtin:transform": _object(
            {"map": _TEXTS, "template": _TEXTS},
            anyOf=[{"required": ["map"]}, {"required": ["template"]}],
        ),
    }
)


def check_config(name: str, config: JsonObject) -> None:
    """Nothing when `config` is what the handler `name` takes; else AttemptFailed DET_CONFIG_INVALID, never retried."""
    violations = schema.compile(CONFIG[name]).check(config)
    if violations:
        listed = "; ".join(f"{found.path or '/'}: {found.message}" for found in violations)
        raise errors.AttemptFailed(f"{name} config: {listed}", code="DET_CONFIG_INVALID", retryable=False)


def text(config: JsonObject, key: str) -> str | None:
    """A string of an already checked config, None when it is not given."""
    value = config.get(key)
    return value if isinstance(value, str) else None


def number(config: JsonObject, key: str, default: int) -> int:
    """An integer of an already checked config."""
    value = config.get(key, default)
    return value if isinstance(value, int) else default
