"""What `skelo.yaml` registers for plans: `modes`, `tools`, `checkers`, `transforms`, `contexts` and `mcp`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from openskelo import errors
from openskelo.handlers import op_catalog, registry
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.values import schema
from openskelo.workflows import cursor, handlers, limits, literals, suggest

KEYS = frozenset({"modes", "tools", "checkers", "transforms", "contexts", "mcp"})
MODES = ("normal", "degraded", "offline")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")
_CONTEXT_NAME = re.compile(r"(?:(?:ctx|snap):)?[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_EFFECTS = ("pure", "idempotent", "once")
_TOOL_KINDS = ("builtin", "python", "mcp")
_TOOL_KEYS = frozenset(
    {"builtin", "python", "mcp", "tool", "args", "returns", "config", "effect", "network", "cost_usd"}
    | {"timeout_ms", "modes", "description"}
)
_FUNCTION_KEYS = frozenset({"builtin", "python", "args", "config", "timeout_ms", "needs_input", "description"})
_CONTEXT_KINDS = ("file", "git_diff", "artifact", "text")
_CONTEXT_KEYS = frozenset({"file", "git_diff", "artifact", "text", "repo", "paths", "max_bytes"})
_SERVER_KEYS = frozenset({"command", "url", "env", "headers", "folder", "timeout_ms"})
_MODE_KEYS = frozenset({"experts", "tools", "max_tool_spend_usd"})
#: A git revision or a range of them: never an option, never a path.
_REVISIONS = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_./~^@{}-]{0,199}\Z")
_LONGEST_MS = 86_400_000
_LARGEST_CONTEXT = 64 * 1024 * 1024


def read(fields: cursor.Fields, root: Path, experts: Collection[str]) -> registry.Registry:
    """What the file registers; `experts` are those of the project."""
    servers = {name: one for name, entry in _entries(fields, "mcp") if (one := _server(name, entry)) is not None}
    tools = {name: one for name, entry in _entries(fields, "tools") if (one := _tool(name, entry, servers, root))}
    return registry.Registry(
        modes=_modes(fields.get("modes"), tools.keys() | op_catalog.TOOLS.keys(), experts),
        tools=tools,
        checkers=_functions(fields, "checkers", op_catalog.CHECKERS, root),
        transforms=_functions(fields, "transforms", op_catalog.TRANSFORMS, root),
        contexts={name: one for name, entry in _entries(fields, "contexts") if (one := _context(name, entry))},
        mcp=servers,
    )


def _entries(fields: cursor.Fields, section: str) -> Iterator[tuple[str, cursor.Cursor]]:
    found = fields.get(section)
    listed = None if found is None else found.fields()
    pattern = _CONTEXT_NAME if section == "contexts" else _NAME
    for entry in () if listed is None else listed:
        name = str(entry.path[-1])
        if pattern.match(name):
            yield name, entry
        else:
            hint = "letters, digits, _, - and ., beginning with a letter or _"
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot stand under `{section}`", hint=hint)


def _tool(
    name: str, entry: cursor.Cursor, servers: Mapping[str, registry.McpServer], root: Path
) -> registry.Tool | None:
    fields = _long(entry).fields(_TOOL_KEYS)
    kind = None if fields is None else _one_kind(fields, _TOOL_KINDS)
    target = None if fields is None or kind is None else _target(fields, kind, root, op_catalog.TOOLS, servers)
    if fields is None or kind is None or target is None:
        return None
    base = op_catalog.TOOLS[target] if kind == "builtin" else registry.Tool(name=name, kind="python", target=target)
    config, args = fields.map("config"), _schema(fields.get("args"))
    _check_config(fields, config, base.args or args)
    if kind != "mcp" and (other := fields.get("tool")) is not None:
        other.key_problem("CONFLICT", "`tool` is the name at an MCP server", hint="leave it out")
    return registry.Tool(
        name=name,
        kind=cast("registry.ToolKind", kind),
        target=target,
        tool=fields.text("tool", name) if kind == "mcp" else "",
        args=args or base.args,
        returns=_schema(fields.get("returns")),
        config=config,
        effect=cast("definition.Effect", fields.choice("effect", _EFFECTS, base.effect)),
        # Nobody knows what a function or a server reaches: it counts as network until its author says otherwise.
        network=fields.flag("network", default=base.network if kind == "builtin" else True),
        cost_nanousd=limits.nano(fields.number("cost_usd", 0, 0, 1_000_000)),
        timeout_ms=fields.integer("timeout_ms", base.timeout_ms, 1, _LONGEST_MS),
        modes=_mode_names(fields.get("modes")),
        description=fields.text("description"),
    )


def _functions(
    fields: cursor.Fields, section: str, builtins: Mapping[str, registry.Function], root: Path
) -> dict[str, registry.Function]:
    found = ((name, _function(name, entry, builtins, root)) for name, entry in _entries(fields, section))
    return {name: one for name, one in found if one is not None}


def _function(
    name: str, entry: cursor.Cursor, builtins: Mapping[str, registry.Function], root: Path
) -> registry.Function | None:
    fields = _long(entry).fields(_FUNCTION_KEYS)
    kind = None if fields is None else _one_kind(fields, ("builtin", "python"))
    target = None if fields is None or kind is None else _target(fields, kind, root, builtins, {})
    if fields is None or kind is None or target is None:
        return None
    base = builtins[target] if kind == "builtin" else registry.Function(name=name, kind="python", target=target)
    config, args = fields.map("config"), _schema(fields.get("args"))
    _check_config(fields, config, base.args or args)
    if kind == "builtin" and (place := fields.get("config")) is not None:
        literals.check(target, config, place)
    return registry.Function(
        name=name,
        kind=cast("registry.FunctionKind", kind),
        target=target,
        args=args or base.args,
        config=config,
        timeout_ms=fields.integer("timeout_ms", base.timeout_ms, 1, _LONGEST_MS),
        needs_input=fields.flag("needs_input", default=base.needs_input),
        description=fields.text("description"),
    )


def _long(entry: cursor.Cursor) -> cursor.Cursor:
    """A name alone is short for the function in that file."""
    return cursor.Cursor({"python": entry.value}, entry.path, entry.report) if isinstance(entry.value, str) else entry


def _one_kind(fields: cursor.Fields, kinds: tuple[str, ...]) -> str | None:
    """Which of the keys that say what an entry is, it has; a Problem unless it is one."""
    found = [kind for kind in kinds if kind in fields]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"`{kind}`" for kind in kinds)
    code = "CONFLICT" if found else "MISSING_KEY"
    fields.cursor.problem(code, f"{fields.cursor.name} needs exactly one of {listed}")
    return None


def _target(
    fields: cursor.Fields,
    kind: str,
    root: Path,
    builtins: Collection[str],
    servers: Collection[str],
) -> str | None:
    place = fields.need(kind)
    text = None if place is None else place.text(blank=False)
    if place is None or text is None:
        return None
    if kind == "python":
        handlers.check_file(place, text, root)
        return text
    known = builtins if kind == "builtin" else servers
    if text in known:
        return text
    what = "MCP server" if kind == "mcp" else "built-in"
    otherwise = f"known: {', '.join(known)}" if known else "declare it under `mcp`"
    code = "MCP_UNKNOWN" if kind == "mcp" else "BUILTIN_UNKNOWN"
    place.problem(code, f"there is no {what} {text[:60]!r}", hint=suggest.near(text, known, otherwise=otherwise))
    return None


def _check_config(fields: cursor.Fields, config: JsonObject, rules: JsonObject | None) -> None:
    """What the project fixes has to be what the function takes; the rest comes from a plan."""
    place = fields.get("config")
    if place is None or rules is None:
        return
    known = rules.get("properties")
    if isinstance(known, Mapping) and rules.get("additionalProperties") is False:
        place.fields(known.keys())
        config = {key: value for key, value in config.items() if key in known}
    loose = {key: rule for key, rule in rules.items() if key not in ("required", "anyOf", "oneOf")}
    for violation in schema.compile(loose).check(config):
        spot = cursor.Cursor(config, place.path, place.report).below(violation.path)
        spot.problem("CONFIG_INVALID", violation.message)


def _context(name: str, entry: cursor.Cursor) -> registry.Context | None:
    if isinstance(entry.value, str):  # a name alone is short for the file
        entry = cursor.Cursor({"file": entry.value}, entry.path, entry.report)
    fields = entry.fields(_CONTEXT_KEYS)
    kind = None if fields is None else _one_kind(fields, _CONTEXT_KINDS)
    place = None if fields is None or kind is None else fields.need(kind)
    text = None if place is None else place.text(blank=kind in ("text", "git_diff"))
    if fields is None or kind is None or place is None or text is None:
        return None
    if kind == "git_diff" and text and not _REVISIONS.match(text):
        place.problem("CONTEXT_INVALID", "`git_diff` must name revisions", hint="like HEAD~1..HEAD, or empty")
    if kind != "git_diff":
        for key in ("repo", "paths"):
            if (extra := fields.get(key)) is not None:
                extra.key_problem("CONFLICT", f"`{key}` belongs to `git_diff`")
    return registry.Context(
        name=name,
        kind=cast("registry.ContextKind", kind),
        source=text,
        repo=fields.text("repo", "."),
        paths=fields.texts("paths"),
        max_bytes=fields.integer("max_bytes", registry.CONTEXT_MAX_BYTES, 1, _LARGEST_CONTEXT),
    )


def _server(name: str, entry: cursor.Cursor) -> registry.McpServer | None:
    fields = entry.fields(_SERVER_KEYS)
    kind = None if fields is None else _one_kind(fields, ("command", "url"))
    if fields is None or kind is None:
        return None
    misplaced = ("env", "folder") if kind == "url" else ("headers",)
    for key in misplaced:
        if (extra := fields.get(key)) is not None:
            extra.key_problem("CONFLICT", f"`{key}` means nothing beside `{kind}`")
    url = fields.get("url")
    if url is not None and not _is_address(url.text(blank=False)):
        url.problem("ADDRESS_INVALID", "`url` must be an http or https address without a name or password")
        return None
    program = fields.get("command")
    if program is not None and isinstance(program.value, str):
        program.wrong_type("a list: the program, then each of its arguments", hint=_as_list(program.value))
        return None
    command = fields.texts("command")
    if program is not None and not command:
        program.problem("EMPTY", "`command` is empty")
        return None
    return registry.McpServer(
        name=name,
        command=command,
        url=None if url is None else str(url.value),
        env=_texts(fields.get("env")),
        headers=_texts(fields.get("headers")),
        folder=fields.text("folder", "."),
        timeout_ms=fields.integer("timeout_ms", registry.TOOL_TIMEOUT_MS, 1, _LONGEST_MS),
    )


def _as_list(command: str) -> str | None:
    """How a command that was written as a text looks as a list; None where that would be a guess."""
    plain = not set(command) & set("\"'\\$`&|;<>(){}[]#,:")
    return f"[{', '.join(command.split())}]" if plain and command.strip() else None


def _is_address(text: str | None) -> bool:
    try:
        parts = urlsplit(text or "")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def _modes(
    found: cursor.Cursor | None, tools: Collection[str], experts: Collection[str]
) -> dict[str, registry.ModeRule]:
    listed = None if found is None else found.fields(frozenset(MODES))
    rules: dict[str, registry.ModeRule] = {}
    for entry in () if listed is None else listed:
        fields = entry.fields(_MODE_KEYS)
        if fields is None or entry.path[-1] not in MODES:
            continue
        spend = fields.get("max_tool_spend_usd")
        most = None if spend is None else spend.number(0, 1_000_000)
        rules[str(entry.path[-1])] = registry.ModeRule(
            experts=_known(fields, "experts", "EXPERT_UNKNOWN", experts),
            tools=_known(fields, "tools", "TOOL_UNKNOWN", tools),
            max_tool_nanousd=None if most is None else limits.nano(most),
        )
    return rules


def _known(fields: cursor.Fields, key: str, code: str, known: Collection[str]) -> tuple[str, ...] | None:
    found = fields.get(key)
    if found is None:
        return None
    for entry in [found] if isinstance(found.value, str) else found.items() or []:
        name = entry.value
        if isinstance(name, str) and name not in known:
            hint = suggest.near(name, known, otherwise=f"known: {', '.join(sorted(known)[:20]) or 'none'}")
            entry.problem(code, f"there is no {key.removesuffix('s')} {name[:60]!r}", hint=hint)
    return fields.texts(key)


def _mode_names(found: cursor.Cursor | None) -> tuple[definition.PlanMode, ...]:
    chosen = [entry.choice(MODES) for entry in ([] if found is None else found.items() or [])]
    return tuple(dict.fromkeys(cast("definition.PlanMode", one) for one in chosen if one is not None))


def _schema(found: cursor.Cursor | None) -> JsonObject | None:
    fields = None if found is None else found.fields()
    if found is None or fields is None:
        return None
    try:
        schema.compile(fields.value)
    except errors.InvalidInput as error:
        found.problem(error.code, f"{found.name} is no JSON Schema: {error.message}", hint=error.hint)
        return None
    return fields.value


def _texts(found: cursor.Cursor | None) -> dict[str, str]:
    fields = None if found is None else found.fields()
    read = ((str(entry.path[-1]), entry.text()) for entry in (() if fields is None else fields))
    return {name: text for name, text in read if text is not None}
