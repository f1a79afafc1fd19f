"""Read the registries of `skelo.yaml` for plans: `modes`, `tools`, `checkers`, `transforms`, `contexts` and `mcp`.

A plan may be written by a model, so it can use nothing but what its project has registered here by name, with fixed
arguments, effect, cost and time limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar, cast
from urllib.parse import urlsplit

from openskelo import errors
from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.ops import functions
from openskelo.values.schema import validator
from openskelo.workflows.blocks import expression_scope, handlers, limits
from openskelo.workflows.text import cursor, problems

_T = TypeVar("_T")

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
#: A Python interpreter that is named without its folder.
_PYTHON = re.compile(r"python[0-9.]*\Z")
_MAX_TIMEOUT_MS = 86_400_000
_MAX_CONTEXT_BYTES = 64 * 1024 * 1024


def read(fields: cursor.Fields, folders: handlers.Folders, experts: Collection[str]) -> project_registry.Registry:
    """Return what the file registers; `experts` are the names of the project's experts."""
    servers = _read_all(fields, "mcp", lambda name, entry: _server(name, entry, folders))
    tools = _read_all(fields, "tools", lambda name, entry: _tool(name, entry, servers, folders))
    return project_registry.Registry(
        modes=_modes(fields.get("modes"), tools.keys() | functions.TOOLS.keys(), experts),
        tools=tools,
        checkers=_functions(fields, "checkers", functions.CHECKERS, folders),
        transforms=_functions(fields, "transforms", functions.TRANSFORMS, folders),
        contexts=_read_all(fields, "contexts", _context),
        mcp=servers,
    )


def _read_all(
    fields: cursor.Fields, section: str, read_entry: Callable[[str, cursor.Cursor], _T | None]
) -> dict[str, _T]:
    """Return the entries of a section that have no Problems, by name."""
    entries = ((name, read_entry(name, entry)) for name, entry in _entries(fields, section))
    return {name: value for name, value in entries if value is not None}


def _entries(fields: cursor.Fields, section: str) -> Iterator[tuple[str, cursor.Cursor]]:
    """Yield the entries of a section with a valid name; report the others."""
    place = fields.get(section)
    entry_fields = None if place is None else place.fields()
    pattern = _CONTEXT_NAME if section == "contexts" else _NAME
    for entry in () if entry_fields is None else entry_fields:
        name = str(entry.path[-1])
        if pattern.match(name):
            yield name, entry
        else:
            hint = "letters, digits, _, - and ., beginning with a letter or _"
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot stand under `{section}`", hint=hint)


def _tool(
    name: str, entry: cursor.Cursor, servers: Mapping[str, project_registry.McpServer], folders: handlers.Folders
) -> project_registry.Tool | None:
    fields = _expand_short_form(entry).fields(_TOOL_KEYS)
    kind = None if fields is None else _one_kind(fields, _TOOL_KINDS)
    target = None if fields is None or kind is None else _target(fields, kind, folders, functions.TOOLS, servers)
    if fields is None or kind is None or target is None:
        return None
    if kind == "builtin":
        base = functions.TOOLS[target]
    else:
        base = project_registry.Tool(name=name, kind="python", target=target)
    config, args = fields.map("config"), _schema(fields.get("args"))
    _check_config(fields, config, base.args or args)
    if kind != "mcp" and (other := fields.get("tool")) is not None:
        other.key_problem("CONFLICT", "`tool` is the name at an MCP server", hint="leave it out")
    return project_registry.Tool(
        name=name,
        kind=cast("project_registry.ToolKind", kind),
        target=target,
        tool=fields.text("tool", name) if kind == "mcp" else "",
        args=args or base.args,
        returns=_schema(fields.get("returns")),
        config=config,
        effect=cast("definition.Effect", fields.choice("effect", _EFFECTS, base.effect)),
        # A function or a server may use the network, unless the author says that it does not.
        network=fields.flag("network", default=base.network if kind == "builtin" else True),
        cost_nanousd=limits.to_nanousd(fields.number("cost_usd", 0, 0, 1_000_000)),
        timeout_ms=fields.integer("timeout_ms", base.timeout_ms, 1, _MAX_TIMEOUT_MS),
        modes=_mode_names(fields.get("modes")),
        description=fields.text("description"),
    )


def _functions(
    fields: cursor.Fields, section: str, builtins: Mapping[str, project_registry.Function], folders: handlers.Folders
) -> dict[str, project_registry.Function]:
    return _read_all(fields, section, lambda name, entry: _function(name, entry, builtins, folders))


def _function(
    name: str, entry: cursor.Cursor, builtins: Mapping[str, project_registry.Function], folders: handlers.Folders
) -> project_registry.Function | None:
    fields = _expand_short_form(entry).fields(_FUNCTION_KEYS)
    kind = None if fields is None else _one_kind(fields, ("builtin", "python"))
    target = None if fields is None or kind is None else _target(fields, kind, folders, builtins, {})
    if fields is None or kind is None or target is None:
        return None
    base = builtins[target] if kind == "builtin" else project_registry.Function(name=name, kind="python", target=target)
    config, args = fields.map("config"), _schema(fields.get("args"))
    _check_config(fields, config, base.args or args)
    if kind == "builtin" and (place := fields.get("config")) is not None:
        expression_scope.check_literals(target, config, place)
        argv = config.get("argv")
        if isinstance(argv, Sequence) and not isinstance(argv, str):
            handlers.check_program(place, [str(word) for word in argv], folders, str(config.get("repo", ".")))
    return project_registry.Function(
        name=name,
        kind=cast("project_registry.FunctionKind", kind),
        target=target,
        args=args or base.args,
        config=config,
        timeout_ms=fields.integer("timeout_ms", base.timeout_ms, 1, _MAX_TIMEOUT_MS),
        needs_input=fields.flag("needs_input", default=base.needs_input),
        description=fields.text("description"),
    )


def _expand_short_form(entry: cursor.Cursor) -> cursor.Cursor:
    """Return the entry as a map; a name alone is short for the function in that file."""
    if isinstance(entry.value, str):
        return cursor.Cursor({"python": entry.value}, entry.path, entry.report)
    return entry


def _one_kind(fields: cursor.Fields, kinds: tuple[str, ...]) -> str | None:
    """Return the one key that says what kind the entry is; None after a Problem if it has none or several."""
    present = [kind for kind in kinds if kind in fields]
    if len(present) == 1:
        return present[0]
    kind_list = ", ".join(f"`{kind}`" for kind in kinds)
    code = "CONFLICT" if present else "MISSING_KEY"
    fields.cursor.problem(code, f"{fields.cursor.name} needs exactly one of {kind_list}")
    return None


def _target(
    fields: cursor.Fields,
    kind: str,
    folders: handlers.Folders,
    builtins: Collection[str],
    servers: Collection[str],
) -> str | None:
    place = fields.need(kind)
    text = None if place is None else place.text(blank=False)
    if place is None or text is None:
        return None
    if kind == "python":
        handlers.check_file(place, text, folders)
        return text
    names = builtins if kind == "builtin" else servers
    if text in names:
        return text
    noun = "MCP server" if kind == "mcp" else "built-in"
    otherwise = f"known: {', '.join(names)}" if names else "declare it under `mcp`"
    code = "MCP_UNKNOWN" if kind == "mcp" else "BUILTIN_UNKNOWN"
    hint = problems.did_you_mean(text, names, otherwise=otherwise)
    place.problem(code, f"there is no {noun} {text[:60]!r}", hint=hint)
    return None


def _check_config(fields: cursor.Fields, config: JsonObject, rules: JsonObject | None) -> None:
    """Report fixed arguments that the function does not accept; a plan gives the other arguments."""
    place = fields.get("config")
    if place is None or rules is None:
        return
    properties = rules.get("properties")
    if isinstance(properties, Mapping) and rules.get("additionalProperties") is False:
        place.fields(properties.keys())
        config = {key: value for key, value in config.items() if key in properties}
    loose = {key: rule for key, rule in rules.items() if key not in ("required", "anyOf", "oneOf")}
    for violation in validator.compile(loose).check(config):
        spot = cursor.Cursor(config, place.path, place.report).below(violation.path)
        spot.problem("CONFIG_INVALID", violation.message)


def _context(name: str, entry: cursor.Cursor) -> project_registry.Context | None:
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
    return project_registry.Context(
        name=name,
        kind=cast("project_registry.ContextKind", kind),
        source=text,
        repo=fields.text("repo", "."),
        paths=fields.texts("paths"),
        max_bytes=fields.integer("max_bytes", project_registry.CONTEXT_MAX_BYTES, 1, _MAX_CONTEXT_BYTES),
    )


def _server(name: str, entry: cursor.Cursor, folders: handlers.Folders) -> project_registry.McpServer | None:
    fields = entry.fields(_SERVER_KEYS)
    kind = None if fields is None else _one_kind(fields, ("command", "url"))
    if fields is None or kind is None:
        return None
    misplaced_keys = ("env", "folder") if kind == "url" else ("headers",)
    for key in misplaced_keys:
        if (extra := fields.get(key)) is not None:
            extra.key_problem("CONFLICT", f"`{key}` means nothing beside `{kind}`")
    url = fields.get("url")
    if url is not None and not _is_address(url.text(blank=False)):
        url.problem("ADDRESS_INVALID", "`url` must be an http or https address without a name or password")
        return None
    program = fields.get("command")
    if program is not None and isinstance(program.value, str):
        program.wrong_type("a list: the program, then each of its arguments", hint=_suggest_list(program.value))
        return None
    command = fields.texts("command")
    if program is not None and not command:
        program.problem("EMPTY", "`command` is empty")
        return None
    if program is not None and _PYTHON.match(command[0]):
        message = f"{command[0]!r} is the first Python on PATH, which may lack what the server needs"
        hint = "write the absolute path of the interpreter, such as /srv/venv/bin/python"
        program.at(0, command[0]).warn("PROGRAM_ON_PATH", message, hint=hint)
    if program is not None:
        handlers.check_program(program, command, folders, fields.text("folder", "."))
    return project_registry.McpServer(
        name=name,
        command=command,
        url=None if url is None else str(url.value),
        env=_texts(fields.get("env")),
        headers=_texts(fields.get("headers")),
        folder=fields.text("folder", "."),
        timeout_ms=fields.integer("timeout_ms", project_registry.TOOL_TIMEOUT_MS, 1, _MAX_TIMEOUT_MS),
    )


def _suggest_list(command: str) -> str | None:
    """Return how a command written as a text looks as a list; None where that would be a guess."""
    plain = not set(command) & set("\"'\\$`&|;<>(){}[]#,:")
    if plain and command.strip():
        return f"[{', '.join(command.split())}]"
    return None


def _is_address(text: str | None) -> bool:
    try:
        parts = urlsplit(text or "")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def _modes(
    section: cursor.Cursor | None, tools: Collection[str], experts: Collection[str]
) -> dict[str, project_registry.ModeRule]:
    mode_fields = None if section is None else section.fields(frozenset(MODES))
    rules: dict[str, project_registry.ModeRule] = {}
    for entry in () if mode_fields is None else mode_fields:
        fields = entry.fields(_MODE_KEYS)
        if fields is None or entry.path[-1] not in MODES:
            continue
        spend = fields.get("max_tool_spend_usd")
        max_spend = None if spend is None else spend.number(0, 1_000_000)
        rules[str(entry.path[-1])] = project_registry.ModeRule(
            experts=_registered_names(fields, "experts", "EXPERT_UNKNOWN", experts),
            tools=_registered_names(fields, "tools", "TOOL_UNKNOWN", tools),
            max_tool_nanousd=None if max_spend is None else limits.to_nanousd(max_spend),
        )
    return rules


def _registered_names(
    fields: cursor.Fields, key: str, code: str, registered: Collection[str]
) -> tuple[str, ...] | None:
    """Return the names in a list; report unregistered names. None if the key is absent."""
    section = fields.get(key)
    if section is None:
        return None
    for entry in [section] if isinstance(section.value, str) else section.items() or []:
        name = entry.value
        if isinstance(name, str) and name not in registered:
            otherwise = f"known: {', '.join(sorted(registered)[:20]) or 'none'}"
            hint = problems.did_you_mean(name, registered, otherwise=otherwise)
            entry.problem(code, f"there is no {key.removesuffix('s')} {name[:60]!r}", hint=hint)
    return fields.texts(key)


def _mode_names(section: cursor.Cursor | None) -> tuple[definition.PlanMode, ...]:
    names = [entry.choice(MODES) for entry in ([] if section is None else section.items() or [])]
    return tuple(dict.fromkeys(cast("definition.PlanMode", mode) for mode in names if mode is not None))


def _schema(section: cursor.Cursor | None) -> JsonObject | None:
    fields = None if section is None else section.fields()
    if section is None or fields is None:
        return None
    try:
        validator.compile(fields.value)
    except errors.InvalidInput as error:
        section.problem(error.code, f"{section.name} is not a JSON Schema: {error.message}", hint=error.hint)
        return None
    return fields.value


def _texts(section: cursor.Cursor | None) -> dict[str, str]:
    fields = None if section is None else section.fields()
    read = ((str(entry.path[-1]), entry.text()) for entry in (() if fields is None else fields))
    return {name: text for name, text in read if text is not None}
