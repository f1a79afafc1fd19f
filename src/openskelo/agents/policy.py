"""Which calls an agent may make: a pure decision on one call by the rules of the project.

    deny   a rule of `deny` fits                       deny wins over ask, ask over allow, in whatever order they stand
    deny   the node withholds it (`withheld`)
    ask    a rule of `ask` fits
    allow  a rule of `allow` fits, or the call only reads the workspace
    ask    everything else that may change something (with `permissions: skip`: allow)

A rule fits if all that it names fits: the kind of the call, its paths, its command, its tool, and what the turn has
cost so far. Patterns are convenience: a shell has many ways to write a command. What an agent cannot get out
of is its sandbox.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

from openskelo import agent_settings
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values import regex

Decision = Literal["allow", "ask", "deny"]
#: The arguments that agents call a path, and those that they call a command.
_PATH_ARGUMENTS = (
    "file_path",
    "path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "dir_path",
    "old_path",
    "new_path",
)
_COMMAND_ARGUMENTS = ("command", "cmd")
#: How a patch of Codex begins, which its hook calls a command, and how it names the files that it changes.
_PATCH = "*** Begin Patch"
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
#: Where one command of a shell ends and another may begin, or output may go elsewhere.
_SHELL_OPERATORS = re.compile(r"[;&|<>\n`]|\$\(")
#: What makes a file a document and no code: its suffix, or a folder that it is in.
_DOCUMENT_SUFFIXES = frozenset({".md", ".rst", ".txt", ".adoc"})
_DOCUMENT_FOLDERS = frozenset({"docs", "doc"})
#: Kinds of the protocol that belong together here.
_KINDS: Mapping[str, agent_settings.CallKind] = {
    "read": "read",
    "search": "read",
    "think": "read",
    "edit": "edit",
    "delete": "edit",
    "move": "edit",
    "execute": "execute",
    "fetch": "fetch",
}


@frozen
class Call:
    """A call that an agent wants to make. `arguments` is None if they could not be read.

    `paths` are relative to the workspace; a path that leads out of it is absolute.
    """

    tool: str
    kind: agent_settings.CallKind
    arguments: JsonObject | None
    paths: tuple[str, ...] = ()
    command: str | None = None

    @property
    def leaves_workspace(self) -> bool:
        """True if one of its paths is outside of the workspace."""
        return any(path.startswith("/") for path in self.paths)


@frozen
class Verdict:
    """What the policy says of a call, and why, in words for a person and for the model."""

    decision: Decision
    why: str


def make_call(
    tool: str, kind: str, arguments: Json, folder: Path, *, locations: Sequence[str] = (), is_tool_server: bool = False
) -> Call:
    """Return a call as the policy sees it; `kind` is that of the protocol, `folder` the agent's current one."""
    readable = arguments if isinstance(arguments, Mapping) else None
    named = [readable[name] for name in _PATH_ARGUMENTS if name in readable] if readable else []
    command = _command(readable)
    if command is not None and command.lstrip().startswith(_PATCH):
        named += _PATCHED_FILE.findall(command)
        command = None
    paths = dict.fromkeys(_inner_path(str(path), folder) for path in (*named, *locations) if path)
    return Call(
        tool=tool,
        kind="mcp" if is_tool_server else _KINDS.get(kind, "other"),
        arguments=readable,
        paths=tuple(paths),
        command=command,
    )


def _command(arguments: JsonObject | None) -> str | None:
    for name in _COMMAND_ARGUMENTS:
        value = (arguments or {}).get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, Sequence):
            return " ".join(str(word) for word in value)
    return None


def _inner_path(path: str, folder: Path) -> str:
    """Return a path relative to the folder, with links followed; absolute if it leads out of it."""
    real = Path(os.path.realpath(folder / path.replace("\0", "")))
    root = Path(os.path.realpath(folder))
    return str(PurePosixPath(real.relative_to(root))) if real.is_relative_to(root) else str(real)


def decide(
    call: Call, agent: agent_settings.AgentSettings, remembered: Sequence[JsonObject], spent_usd: float
) -> Verdict:
    """Return what happens with a call. `remembered` are rules that a person has made by an approval."""
    rules = agent.policy
    for rule in rules.deny:
        if _fits(rule, call, spent_usd, is_wary=True):
            return Verdict(decision="deny", why=f"the project denies it ({_describe(rule)})")
    withheld = _withheld(call, agent.withheld)
    if withheld is not None:
        return Verdict(decision="deny", why=withheld)
    if call.kind == "edit" and call.leaves_workspace:
        return Verdict(decision="deny", why="it would change a file outside of the workspace")
    if any(_is_remembered(rule, call) for rule in remembered):
        return Verdict(decision="allow", why="a person has allowed calls like this one")
    for rule in rules.ask:
        if _fits(rule, call, spent_usd, is_wary=True):
            return Verdict(decision="ask", why=f"the project asks about it ({_describe(rule)})")
    for rule in rules.allow:
        if _fits(rule, call, spent_usd, is_wary=False):
            return Verdict(decision="allow", why=f"the project allows it ({_describe(rule)})")
    if call.kind == "read" and not call.leaves_workspace:
        return Verdict(decision="allow", why="it only reads the workspace")
    if agent.permissions == "skip":
        return Verdict(decision="allow", why="permissions: skip")
    return Verdict(decision="ask", why=_why_ask(call))


def forbid_changes(call: Call) -> Verdict | None:
    """Return the denial of a call while the run is in PLANNING mode; None if it may go on to the rules.

    Commands go on: their workspace is read-only then, so that they can look but not change.
    """
    if call.kind in ("read", "execute"):
        return None
    return Verdict(decision="deny", why="the run is in PLANNING mode: look, and say what you would change")


def _withheld(call: Call, withheld: Sequence[agent_settings.Withheld]) -> str | None:
    """Return why the node's capabilities forbid a call, None if they do not."""
    if call.kind == "execute" and "commands" in withheld:
        return "this node may not run commands"
    if call.kind != "edit":
        return None
    are_docs = [_is_document(path) for path in call.paths]
    if "code" in withheld and not (are_docs and all(are_docs)):  # an edit that names no file may be of any
        return "this node may not change code"
    if "docs" in withheld and (any(are_docs) or not are_docs):
        return "this node may not change documents"
    return None


def _is_document(path: str) -> bool:
    parts = PurePosixPath(path)
    return parts.suffix.lower() in _DOCUMENT_SUFFIXES or bool(_DOCUMENT_FOLDERS & set(parts.parts[:-1]))


def _why_ask(call: Call) -> str:
    if call.arguments is None:
        return "its arguments could not be read"
    if call.kind == "read":
        return "it reads outside of the workspace"
    return "no rule allows it"


def rule_of(call: Call) -> JsonObject | None:
    """Return the rule of an approval for longer than once: calls like this one. None if it would be too wide."""
    if call.command is not None:
        return {"kind": call.kind, "command": call.command}
    if call.kind == "edit" and call.paths and not call.leaves_workspace:
        return {"kind": call.kind, "paths": list(call.paths)}
    if call.kind in ("mcp", "fetch") and call.arguments is not None:
        return {"kind": call.kind, "tool": call.tool}
    return None


def _is_remembered(rule: JsonObject, call: Call) -> bool:
    """True if a call is like the one that a person has allowed: the same command, files, or tool."""
    if rule.get("kind") != call.kind:
        return False
    if "command" in rule:
        return call.command == rule["command"]
    paths = rule.get("paths")
    if isinstance(paths, list):
        return bool(call.paths) and set(call.paths) <= set(paths)
    return rule.get("tool") == call.tool


def _fits(rule: agent_settings.CallRule, call: Call, spent_usd: float, *, is_wary: bool) -> bool:
    """True if a rule is about the call. For a wary rule (ask, deny) one path, or one part of the command, is enough."""
    if rule.kinds and call.kind not in rule.kinds:
        return False
    if rule.tools and not any(regex.compile_command(tool).fullmatch(call.tool) for tool in rule.tools):
        return False
    if rule.paths and not _matches_paths(rule.paths, call.paths, any if is_wary else all):
        return False
    if rule.commands and not _matches_command(rule.commands, call.command, is_wary=is_wary):
        return False
    return rule.over_usd is None or spent_usd > rule.over_usd


def _matches_paths(patterns: Sequence[str], paths: Sequence[str], quantifier: Callable[[Iterable[bool]], bool]) -> bool:
    compiled = [regex.compile_path(pattern) for pattern in patterns]
    return bool(paths) and quantifier(any(pattern.fullmatch(path) for pattern in compiled) for path in paths)


def _matches_command(patterns: Sequence[str], command: str | None, *, is_wary: bool) -> bool:
    if command is None:
        return False
    compiled = [regex.compile_command(pattern) for pattern in patterns]
    parts = [part.strip() for part in _SHELL_OPERATORS.split(command)]
    if is_wary:
        return any(pattern.fullmatch(part) for pattern in compiled for part in (command.strip(), *parts))
    return len(parts) == 1 and any(pattern.fullmatch(parts[0]) for pattern in compiled)


def _describe(rule: agent_settings.CallRule) -> str:
    parts = [
        ("kind", ", ".join(rule.kinds)),
        ("tools", ", ".join(rule.tools)),
        ("paths", ", ".join(rule.paths)),
        ("commands", ", ".join(rule.commands)),
        ("over_usd", "" if rule.over_usd is None else f"{rule.over_usd:g}"),
    ]
    return "; ".join(f"{name}: {text}" for name, text in parts if text) or "every call"
