"""The tools, checkers and transforms that are built in, with the JSON Schema of each one's arguments.

The checker of plans (before a run) and the executors (at run time) hold arguments to the same schema. Keys that end
in `_ref` hold a ref as written, and whatever it stands for at run time: their schema says nothing about the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from openskelo.handlers import registry
from openskelo.kernel.json import Json, JsonObject

_TEXT: JsonObject = {"type": "string", "minLength": 1}
_ANY_TEXT: JsonObject = {"type": "string"}
_FLAG: JsonObject = {"type": "boolean"}
_COUNT: JsonObject = {"type": "integer", "minimum": 1}
_TEXTS: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}
_ANYTHING: JsonObject = {}
_REVISIONS: JsonObject = {"type": "string", "maxLength": 200}
_PATHS: JsonObject = {"type": "array", "items": _TEXT, "maxItems": 100}


def _object(properties: JsonObject, **more: Json) -> JsonObject:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def _git(name: str, properties: JsonObject, **more: Json) -> registry.Tool:
    """A tool that reads a repository of the project, `repo` from its root."""
    args = _object({"repo": _TEXT, **properties}, **more)
    return registry.Tool(name=name, kind="builtin", target=name, effect="pure", args=args)


def _checker(name: str, args: JsonObject, *, needs_input: bool = True) -> registry.Function:
    return registry.Function(name=name, kind="builtin", target=name, args=args, needs_input=needs_input)


def _transform(name: str, args: JsonObject) -> registry.Function:
    return registry.Function(name=name, kind="builtin", target=name, args=args)


TOOLS: Mapping[str, registry.Tool] = MappingProxyType(
    {
        "read-file": registry.Tool(
            name="read-file",
            kind="builtin",
            target="read-file",
            effect="pure",
            args=_object(
                {
                    "path": _TEXT,
                    "encoding": {"enum": ["utf-8", "ascii", "latin-1", "base64"]},
                    "max_bytes": _COUNT,
                },
                required=["path"],
            ),
        ),
        "write-file": registry.Tool(
            name="write-file",
            kind="builtin",
            target="write-file",
            effect="idempotent",
            args=_object(
                {"path": _TEXT, "content": _ANY_TEXT, "mkdir": _FLAG, "overwrite": _FLAG},
                required=["path", "content"],
            ),
        ),
        "http-request": registry.Tool(
            name="http-request",
            kind="builtin",
            target="http-request",
            effect="once",
            network=True,
            args=_object(
                {
                    "url": _TEXT,
                    "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
                    "headers": _TEXTS,
                    "body": _ANY_TEXT,
                    "json": _ANYTHING,
                    "timeout_ms": _COUNT,
                    "max_bytes": _COUNT,
                },
                required=["url"],
            ),
        ),
        "git-diff": _git("git-diff", {"range": _REVISIONS, "paths": _PATHS}),
        "git-log": _git("git-log", {"range": _REVISIONS, "paths": _PATHS, "max": {**_COUNT, "maximum": 1000}}),
        "git-show": _git("git-show", {"revision": _REVISIONS, "path": _TEXT}, required=["path"]),
    }
)

CHECKERS: Mapping[str, registry.Function] = MappingProxyType(
    {
        "diff_applies_cleanly": _checker("diff_applies_cleanly", _object({"repo": _TEXT})),
        "json_schema": _checker(
            "json_schema", _object({"schema": {"type": "object"}, "parse": _FLAG}, required=["schema"])
        ),
        "regex": _checker("regex", _object({"pattern": _TEXT, "full": _FLAG, "negate": _FLAG}, required=["pattern"])),
        "tests_pass": _checker(
            "tests_pass",
            _object(
                {"argv": {"type": "array", "minItems": 1, "items": _ANY_TEXT}, "repo": _TEXT, "timeout_ms": _COUNT},
                required=["argv"],
            ),
            needs_input=False,
        ),
        "equals": _checker("equals", _object({"expected": _ANYTHING}, required=["expected"])),
        "cites_sources": _checker(
            "cites_sources",
            _object(
                {
                    "source_refs": {"type": "array", "minItems": 1},
                    "sources": {"type": "object", "minProperties": 1},
                    "each": {"enum": ["text", "paragraph", "sentence"]},
                    "min_quote_words": _COUNT,
                },
                anyOf=[{"required": ["source_refs"]}, {"required": ["sources"]}],
            ),
        ),
    }
)

#: Checkers whose verdict depends on more than their arguments.
LOOKING_OUT = frozenset({"diff_applies_cleanly", "tests_pass"})

TRANSFORMS: Mapping[str, registry.Function] = MappingProxyType(
    {
        "assemble_prompt": _transform(
            "assemble_prompt", _object({"refs": {"type": "array"}, "task": _ANYTHING, "instructions": _ANYTHING})
        ),
        "join": _transform("join", _object({"refs": {"type": "array"}, "separator": _ANY_TEXT}, required=["refs"])),
        "pick": _transform(
            "pick",
            _object({"from_ref": _ANYTHING, "keys": {"type": "array", "items": _TEXT}}, required=["from_ref", "keys"]),
        ),
        "template": _transform(
            "template", _object({"template": _ANY_TEXT, "values": {"type": "object"}}, required=["template"])
        ),
        "merge": _transform("merge", _object({"refs": {"type": "array", "minItems": 1}}, required=["refs"])),
        "parse_json": _transform("parse_json", _object({"from_ref": _ANYTHING}, required=["from_ref"])),
        "unfence": _transform("unfence", _object({"from_ref": _ANYTHING}, required=["from_ref"])),
    }
)


def tool(found: registry.Registry, name: str) -> registry.Tool | None:
    """The tool of that name: the project's own, or else the built-in."""
    return found.tools.get(name) or TOOLS.get(name)


def checker(found: registry.Registry, name: str) -> registry.Function | None:
    """The checker of that name: the project's own, or else the built-in."""
    return found.checkers.get(name) or CHECKERS.get(name)


def transform(found: registry.Registry, name: str) -> registry.Function | None:
    """The transform of that name: the project's own, or else the built-in."""
    return found.transforms.get(name) or TRANSFORMS.get(name)
