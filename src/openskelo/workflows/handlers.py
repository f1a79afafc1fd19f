"""The handler of a deterministic block: a built-in, a file of the project, or a function in memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from openskelo.frozen import frozen
from openskelo.handlers import catalog
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import schema
from openskelo.workflows import cursor, handler_file, nearby, suggest

#: Built-ins an author may name; `builtin:pass` belongs to sub-workflows, and does no harm elsewhere.
BUILTINS = tuple(catalog.CONFIG)


@frozen
class Handler:
    """A checked `deterministic` section."""

    name: str
    config: JsonObject


def read(found: cursor.Cursor, root: Path | None) -> Handler | None:
    """The section under `deterministic`; `builtin` checks a built-in against the rest of its block."""
    fields = found.fields({"handler", "config"})
    named = None if fields is None else fields.need("handler")
    if fields is None or named is None:
        return None
    name = named.text(blank=False)
    settings = fields.get("config")
    config = None if settings is None or settings.value is None else settings.fields()
    if name is None:
        return None
    if name.startswith("builtin:"):
        if name not in BUILTINS:
            known = ", ".join(BUILTINS)
            hint = suggest.near(name, BUILTINS, otherwise=f"built in: {known}")
            named.problem("HANDLER_UNKNOWN", f"there is no handler {name[:60]!r}", hint=hint)
            return None
        _check_config(settings or found, name, {} if config is None else config.value)
    elif not name.startswith("local:"):
        check_file(named, name, root)
    return Handler(name=name, config={} if config is None else config.value)


def _check_config(place: cursor.Cursor, name: str, config: JsonObject) -> None:
    rules = catalog.CONFIG[name]
    known = rules.get("properties")
    if isinstance(known, Mapping):
        cursor.Cursor(config, place.path, place.report).fields(known.keys())
        config = {key: value for key, value in config.items() if key in known}
    for one_of in _needs(rules):
        if not any(key in config for key in one_of):
            words = " or ".join(f"`{key}`" for key in one_of)
            place.problem("DET_CONFIG_INVALID", f"{name} needs {words}")
    values = {key: rule for key, rule in rules.items() if key not in ("required", "anyOf")}
    for violation in schema.compile(values).check(config):
        spot = cursor.Cursor(config, place.path, place.report).below(violation.path)
        spot.problem("DET_CONFIG_INVALID", f"{name}: {violation.message}")


def _needs(rules: JsonObject) -> list[list[str]]:
    """What a config must have: of each list at least one key."""
    required, ways = rules.get("required"), rules.get("anyOf")
    needs = [[key] for key in required if isinstance(key, str)] if isinstance(required, list) else []
    if isinstance(ways, list):
        found = [way["required"] for way in ways if isinstance(way, Mapping) and "required" in way]
        needs.append([key for keys in found if isinstance(keys, list) for key in keys if isinstance(key, str)])
    return needs


def check_file(named: cursor.Cursor, name: str, root: Path | None) -> None:
    """A Problem unless `name` is a file of the project that can be called: `file.py:function`, or an executable."""
    path, _, function = name.partition(":")
    if function and not (path.endswith(".py") and function.isidentifier()):
        named.problem("HANDLER_INVALID", f"{name[:80]!r} is neither `file.py:name` nor a file")
        return
    if root is None:
        named.problem("HANDLER_INVALID", "a handler file needs a project", hint="give `root`, or use local:NAME")
        return
    problem = outside(path, root)
    if problem is not None:
        named.problem("HANDLER_OUTSIDE", f"{path[:80]!r} {problem}", hint="handlers are files inside the project")
        return
    real = root / path
    if not real.is_file():
        hint = nearby.meant(real, path)
        named.problem("HANDLER_NOT_FOUND", f"there is no file {path[:80]!r} in the project", hint=hint)
    elif path.endswith(".py"):
        handler_file.check(named, real, function or "handler")
    elif not os.access(real, os.X_OK):
        named.problem("HANDLER_NOT_EXECUTABLE", f"{path[:80]!r} is neither Python nor executable", hint="chmod +x it")


def outside(path: str, root: Path) -> str | None:
    """Why `path` does not stay inside the project by its own words or through a link; None when it does."""
    parts = PurePosixPath(path)
    if "\0" in path or len(path) > 1024:
        return "is no file name"
    if parts.is_absolute() or ".." in parts.parts or "\\" in path:
        return "leads outside of the project"
    try:
        real = (root / path).resolve()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(real)  # a name that the file system does not take says so here
    except (OSError, RuntimeError):
        return "cannot be followed"
    return None if real.is_relative_to(root.resolve()) else "leads outside of the project through a link"


def default_effect(name: str, config: JsonObject) -> definition.Effect:
    """How careful the engine has to be with a handler after a crash, unless the author says otherwise."""
    match name:
        case "builtin:transform" | "builtin:read-file" | "builtin:pass":
            return "pure"
        case "builtin:http-request":
            return _http_effect(config)
        case _:
            return "idempotent"


def _http_effect(config: Mapping[str, Json]) -> definition.Effect:
    safe = config.get("method", "GET") in ("GET", "HEAD", "OPTIONS")
    keyed = config.get("idempotency_key") is True
    return "idempotent" if safe or keyed else "once"
