"""The `scope` gate: every path of a list (`files_changed` of an agent) is one that may change.

A pattern is a path with wildcards (`values.regex.compile_path`). A path passes if it matches a pattern of `allow` (all
do without it) and none of `deny`.
"""

from __future__ import annotations

from collections.abc import Sequence

from openskelo import gates
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import regex

_MOST_LISTED = 20


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port = gates.text(parameters, "port")
    paths = ctx.port(port)
    if isinstance(paths, str) or not isinstance(paths, Sequence) or not all(isinstance(path, str) for path in paths):
        return gates.failed(f"{port!r} is not a list of paths")
    allowed, denied = _patterns(parameters.get("allow")), _patterns(parameters.get("deny"))
    outside: list[Json] = [
        path for path in map(str, paths) if (allowed and not _matches(allowed, path)) or _matches(denied, path)
    ]
    if not outside:
        return gates.passed()
    count = len(outside)
    reason = f"{count} {'path is' if count == 1 else 'paths are'} outside of what may change"
    return gates.failed(reason, {"outside": outside[:_MOST_LISTED]})


def _patterns(value: Json) -> list[regex.Pattern]:
    if isinstance(value, str):
        value = [value]
    entries = value if isinstance(value, Sequence) else ()
    return [regex.compile_path(str(entry)) for entry in entries]


def _matches(patterns: Sequence[regex.Pattern], path: str) -> bool:
    return any(pattern.fullmatch(path) for pattern in patterns)


GATE = gates.Gate(
    name="scope",
    summary="Every path of a list matches a pattern of `allow`, and none of `deny`.",
    parameters={
        "port": gates.port_parameter(),
        "allow": gates.texts_parameter(),
        "deny": gates.texts_parameter(),
    },
    check=_check,
    any_of=("allow", "deny"),
)
