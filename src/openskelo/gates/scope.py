"""The `scope` gate: every path of a list (`files_changed` of an agent) is one that may change, and they are not many.

`openskelo.values.path_scope` says which paths are in the scope. The unified diff of the same change, if the author
names it, also shows links, submodules and changed modes, which no path can show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from openskelo import errors, gates
from openskelo.handlers import file_access
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import path_scope

_MOST_LISTED = 20
_MODE_LINES = {
    "new file mode 120000": "it is a link",
    "new file mode 160000": "it is a submodule",
    "old mode ": "its mode is changed",
}


async def _check(parameters: JsonObject, ctx: gates.GateContext) -> gates.Finding:
    port = gates.text(parameters, "port")
    paths = ctx.port(port)
    if isinstance(paths, str) or not isinstance(paths, Sequence) or not all(isinstance(path, str) for path in paths):
        return gates.failed(f"{port!r} is not a list of paths")
    names = [str(path) for path in paths]
    scopes = [_own_scope(parameters)]
    if "allowlist" in parameters:
        scopes.append(_read_allowlist(gates.text(parameters, "allowlist"), parameters, ctx))
    outside = [found for scope in scopes for found in path_scope.find_outside(scope, names)]
    if "diff" in parameters:
        diff = ctx.port(gates.text(parameters, "diff"))
        if not isinstance(diff, str) or (names and not diff.startswith("diff --git ")):
            return gates.failed(f"{gates.text(parameters, 'diff')!r} is not the diff of these files")
        outside += _find_modes(diff)
    reasons = {found.path: found.why for found in reversed(outside)}
    if reasons:
        count = len(reasons)
        listed: list[Json] = [{"file": path, "why": reasons[path]} for path in sorted(reasons)]
        reason = f"{count} {'path is' if count == 1 else 'paths are'} outside of what may change"
        return gates.failed(reason, {"files": len(names), "outside": listed[:_MOST_LISTED]})
    limits = [scope.max_changed_files for scope in scopes if scope.max_changed_files is not None]
    if limits and len(names) > min(limits):
        return gates.failed(f"{len(names)} files are changed, more than {min(limits)}", {"files": len(names)})
    return gates.passed({"files": len(names)})


def _own_scope(parameters: JsonObject) -> path_scope.PathScope:
    most = parameters.get("max_changed_files")
    return path_scope.PathScope(
        allowed_paths=_patterns(parameters["allowed_paths"]) if "allowed_paths" in parameters else None,
        forbidden_paths=_patterns(parameters.get("forbidden_paths", ())),
        protected_paths=_protected(parameters),
        max_changed_files=most if isinstance(most, int) else None,
    )


def _protected(parameters: JsonObject) -> Sequence[str]:
    if "protected_paths" in parameters:
        return _patterns(parameters["protected_paths"])
    return path_scope.PROTECTED_PATHS


def _read_allowlist(name: str, parameters: JsonObject, ctx: gates.GateContext) -> path_scope.PathScope:
    """Return the scope of a file of the project, which data cannot have written (AttemptFailed, InvalidInput)."""
    from openskelo.checks import scope  # noqa: PLC0415 -- imports asyncio

    path, _ = file_access.resolve_inside(name, (ctx.project.root, *ctx.project.read_roots), ctx.project)
    if file_access.is_inside(path, file_access.writable_roots(ctx.project.root, ctx.project.write_roots)):
        raise errors.AttemptFailed(
            f"{name[:80]!r} is in a folder that data may write to, so it limits nothing",
            code="ALLOWLIST_INVALID",
            hint="move it, or name other `write_roots` in skelo.yaml",
            retryable=False,
        )
    return scope.read_allowlist(path, _protected(parameters))


def _patterns(value: Json) -> list[str]:
    entries = [value] if isinstance(value, str) else value
    if isinstance(entries, Sequence):
        return [str(entry) for entry in entries]
    return []


def _find_modes(diff: str) -> Iterator[path_scope.Outside]:
    """Yield the links, submodules and changed modes of a diff; lines in a hunk begin with a sign or a space."""
    path = ""
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            path = line.rpartition(" b/")[2]
        for start, why in _MODE_LINES.items():
            if line.startswith(start):
                yield path_scope.Outside(path=path, why=why)


#: More of the reference, after the table of its keys.
_DOC = """\
In a pattern `*` stands for any characters but `/`, `**` for any folders, `?` for one character. Forbidden and protected
win over allowed, and are compared without case. A path that is not in its one form (`src//x`, `src/./x`, `../x`) and
everything in `.git` is outside. Where both an allowlist and patterns are named, a path has to be in both. The evidence
has the number of `files`, and up to 20 of the paths that are `outside`, each with its `why`.
[Scope](../guide/scope.md) lists what is protected unless `protected_paths` says otherwise.
"""

GATE = gates.Gate(
    name="scope",
    summary=(
        "Every path of a list matches `allowed_paths`, none is forbidden or protected, and there are at most "
        "`max_changed_files`."
    ),
    parameters={
        "port": gates.port_parameter("a list of paths, such as `files_changed` of an [agent](../guide/agents.md)"),
        "allowed_paths": gates.texts_parameter("what may change; without it everything may"),
        "forbidden_paths": gates.texts_parameter("what may not"),
        "protected_paths": gates.Parameter(
            kind="json",
            schema={"type": "array", "items": {"type": "string", "minLength": 1}},
            doc="what may not, in place of the project, lock, CI, container, env and other files that are protected",
        ),
        "max_changed_files": gates.integer_parameter("how many files may change", 0, 1_000_000),
        "allowlist": gates.text_parameter(
            "a file of the project with `allowed_paths`, `forbidden_paths` and `max_changed_files`"
        ),
        "diff": gates.port_parameter(
            "the unified diff of the change, such as `diff` of an agent: new links and submodules, and changed modes, "
            "are outside",
            required=False,
        ),
    },
    check=_check,
    any_of=("allowed_paths", "forbidden_paths", "max_changed_files", "allowlist"),
    doc=_DOC,
)
