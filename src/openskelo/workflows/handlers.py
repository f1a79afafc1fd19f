"""The handler of a deterministic block: a built-in with its config, a file of the project, or a function in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from openskelo.handlers import catalog
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import schema
from openskelo.workflows import cursor, scope, suggest

#: Built-ins an author may name; `builtin:pass` belongs to sub-workflows, and does no harm elsewhere.
BUILTINS = tuple(catalog.CONFIG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A checked `deterministic` section."""

    name: str
    config: JsonObject


def read(found: cursor.Cursor, root: Path | None) -> Handler | None:
    """The section under `deterministic`; the config of a built-in is checked here, ports in `check_ports`."""
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
            hint = suggest.did_you_mean(name, BUILTINS, otherwise=f"built in: {known}")
            named.problem("HANDLER_UNKNOWN", f"there is no handler {name[:60]!r}", hint=hint)
            return None
        _check_config(settings or found, name, {} if config is None else config.value)
    elif not name.startswith("local:"):
        _check_file(named, name, root)
    return Handler(name=name, config={} if config is None else config.value)


def _check_config(place: cursor.Cursor, name: str, config: JsonObject) -> None:
    rules = catalog.CONFIG[name]
    known = rules.get("properties")
    if isinstance(known, Mapping):
        cursor.Cursor(config, place.path, place.report).fields(known.keys())
        config = {key: value for key, value in config.items() if key in known}
    for violation in schema.compile(rules).check(config):
        below: list[str | int] = [part for part in violation.path.split("/") if part]
        spot = cursor.Cursor(None, (*place.path, *below), place.report)
        spot.problem("CONFIG_INVALID", f"{name}: {violation.message}")


def check_ports(node: definition.Node, place: cursor.Cursor) -> None:
    """What a built-in's config says about ports and expressions has to agree with the block."""
    if node.handler not in catalog.CONFIG:
        return
    inputs = [port.name for port in node.inputs]
    outputs = [port.name for port in node.outputs]
    for key, value in node.config.items():
        if key.endswith("_from") and isinstance(value, str) and value not in inputs:
            _missing_port(place.at(key, value), value, inputs, outputs)
    if node.handler == "builtin:transform":
        _check_transform(node, place)


def _missing_port(spot: cursor.Cursor, name: str, inputs: list[str], outputs: list[str]) -> None:
    if spot.path[-1] == "path_from":
        # An unset path falls back to the template, so this is an oversight at worst.
        if name not in outputs:
            hint = suggest.did_you_mean(name, inputs)
            spot.warn("UNKNOWN_PORT", f"this block has no input {name[:60]!r}: the template is always used", hint=hint)
        return
    hint = suggest.did_you_mean(name, inputs)
    spot.problem("UNKNOWN_PORT", f"this block has no input {name[:60]!r}", hint=hint)


def _check_transform(node: definition.Node, place: cursor.Cursor) -> None:
    variables: dict[str, JsonObject | None] = {"inputs": scope.of_ports(node.inputs)}
    if node.foreach is not None:
        variables[node.foreach.name] = None
    outputs = {port.name: port for port in node.outputs}
    given: set[str] = set()
    for section in ("map", "template"):
        texts = node.config.get(section)
        for name, text in texts.items() if isinstance(texts, Mapping) else ():
            given.add(name)
            _check_output(place.at(section, texts).at(name, text), section, outputs, variables)
    for name, port in outputs.items():
        if port.required and not port.has_default and name not in given:
            place.problem("OUTPUT_MISSING", f"nothing here gives the output {name!r}")


def _check_output(
    spot: cursor.Cursor, section: str, outputs: Mapping[str, definition.Port], variables: scope.Variables
) -> None:
    name = str(spot.path[-1])
    port = outputs.get(name)
    if port is None:
        hint = suggest.did_you_mean(name, outputs)
        spot.key_problem("UNKNOWN_PORT", f"this block has no output {name[:60]!r}", hint=hint)
    if section == "template":
        scope.check_template(spot, variables)
        result: JsonObject | None = {"type": "string"}
    else:
        result = scope.check_expression(spot, variables)
    if port is not None and result is not None and (why := schema.fits(result, port.schema)) is not None:
        spot.problem("TYPE_MISMATCH", f"this does not fit the output {name!r}: {why}")


def _check_file(named: cursor.Cursor, name: str, root: Path | None) -> None:
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
        hint = _nearest_file(real, root)
        named.problem("HANDLER_NOT_FOUND", f"there is no file {path[:80]!r} in the project", hint=hint)
    elif not path.endswith(".py") and not os.access(real, os.X_OK):
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
    except (OSError, RuntimeError):
        return "cannot be followed"
    return None if real.is_relative_to(root.resolve()) else "leads outside of the project through a link"


def _nearest_file(real: Path, root: Path) -> str | None:
    try:
        names = sorted(entry.name for entry in real.parent.iterdir() if entry.is_file())[:500]
    except OSError:
        return None
    found = suggest.nearest(real.name, names)
    return None if found is None else f"did you mean {(real.parent / found).relative_to(root).as_posix()!r}?"


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
