"""The `scope` gate: every path of a list (`files_changed` of an agent) is one that may change, and they are not many.

`openskelo.values.path_scope` says which paths are in the scope.
"""

from __future__ import annotations

from collections.abc import Sequence

from openskelo import gates
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import path_scope

_MOST_LISTED = 20


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port = gates.text(parameters, "port")
    paths = ctx.port(port)
    if isinstance(paths, str) or not isinstance(paths, Sequence) or not all(isinstance(path, str) for path in paths):
        return gates.failed(f"{port!r} is not a list of paths")
    scope = path_scope.PathScope(
        allowed_paths=_patterns(parameters.get("allowed_paths")),
        forbidden_paths=_patterns(parameters.get("forbidden_paths")),
    )
    outside: list[Json] = [*path_scope.find_outside(scope, map(str, paths))]
    if outside:
        count = len(outside)
        reason = f"{count} {'path is' if count == 1 else 'paths are'} outside of what may change"
        return gates.failed(reason, {"outside": outside[:_MOST_LISTED]})
    most = parameters.get("max_changed_files")
    if isinstance(most, int) and len(paths) > most:
        return gates.failed(f"{len(paths)} files are changed, more than {most}", {"files": len(paths)})
    return gates.passed()


def _patterns(value: Json) -> list[str]:
    entries = [value] if isinstance(value, str) else value
    if isinstance(entries, Sequence):
        return [str(entry) for entry in entries]
    return []


#: More of the reference, after the table of its keys.
_DOC = """\
In a pattern `*` stands for any characters but `/`, `**` for any folders, `?` for one character. Forbidden wins over
allowed. The evidence lists up to 20 paths under `outside`, or the number of `files`.
"""

GATE = gates.Gate(
    name="scope",
    summary="Every path of a list matches `allowed_paths` and none of `forbidden_paths`; at most `max_changed_files`.",
    parameters={
        "port": gates.port_parameter("a list of paths, such as `files_changed` of an [agent](../guide/agents.md)"),
        "allowed_paths": gates.texts_parameter("what may change; without it everything may"),
        "forbidden_paths": gates.texts_parameter("what may not"),
        "max_changed_files": gates.integer_parameter("how many files may change", 0, 1_000_000),
    },
    check=_check,
    any_of=("allowed_paths", "forbidden_paths", "max_changed_files"),
    doc=_DOC,
)
