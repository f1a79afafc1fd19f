"""The calls that an agent may make: a pure decision on one call by the rules of the project.

    deny   a rule of `deny` fits                       deny wins over ask, ask over allow, in any order
    deny   the node withholds it (`withheld`)
    ask    a rule of `ask` fits, or a rule of `ask` or `deny` might, but the call cannot be read
    allow  a rule of `allow` fits, or the call only reads the workspace; never a call that cannot be read
    ask    everything else that may change something (with `permissions: skip`: allow)

A rule fits if all that it names fits: the kind of the call, its paths, its command, its tool, and what the turn has
cost so far. A call cannot be read if its arguments are no JSON object, if it is an edit that names no file, or if it
runs a command that is in none of the arguments known for it. Patterns are convenience: a shell has many ways to write a
command. What an agent cannot get out of is its sandbox.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

from openskelo import agent_settings
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values import regex

Decision = Literal["allow", "ask", "deny"]
#: The last word in the name of an argument that holds a path: `file_path`, `filePath`, `targets`.
_PATH_WORDS = frozenset({"path", "paths", "filepath", "file", "files", "filename", "dir", "directory", "folder", "uri"})
_PATH_NAMES = frozenset({"source", "destination", "target", "targets"})
#: How a path begins, or goes on, that leads out of the current folder.
_LEADS_OUT = re.compile(r"[/~]|file:|(?:.*/)?\.\.(?:/|$)")
_LAST_WORD = re.compile(r"[A-Z]?[a-z0-9]+$|[A-Z0-9]+$")
#: Arguments whose text may look like a path but is not, except for a tool that finds files by a pattern.
_PATTERN_ARGUMENTS = frozenset({"pattern", "query", "regex", "description", "content", "url"})
_COMMAND_ARGUMENTS = ("command", "cmd")
#: What the tools of editors call a command.
_EDITOR_COMMANDS = frozenset({"view", "create", "str_replace", "insert", "undo_edit"})
_FOLDER_ARGUMENTS = frozenset({"cwd", "workdir", "working_directory", "directory"})
#: Arguments of a command that change nothing about what it does.
_HARMLESS_ARGUMENTS = frozenset({*_COMMAND_ARGUMENTS, "description", "timeout"})
#: How a patch of Codex begins, which its hook calls a command, and how it names the files that it changes.
_PATCH = "*** Begin Patch"
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
#: Where one command of a shell ends and another may begin, output may go elsewhere, or words are made up.
_SHELL_OPERATORS = re.compile(r"[;&|<>\n`]|\$\(")
_SHELL_EXPANSIONS = re.compile(r"[;&|<>\n`$]")
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
    """A call that an agent wants to make."""

    tool: str
    kind: agent_settings.CallKind
    #: None if they could not be read.
    arguments: JsonObject | None
    #: Relative to the workspace; a path that leads out of it is absolute.
    paths: tuple[str, ...] = ()
    #: Also that of another server's tool, which says by itself what it does with it.
    command: str | None = None
    #: The absolute path of the folder in which a command is run.
    folder: str = "."

    @property
    def leaves_workspace(self) -> bool:
        """True if one of its paths is outside of the workspace."""
        return any(path.startswith("/") for path in self.paths)

    @property
    def is_unreadable(self) -> bool:
        """True if it cannot be known what the call is about."""
        names_no_file = self.kind == "edit" and not self.paths
        names_no_command = self.kind == "execute" and self.command is None
        return self.arguments is None or names_no_file or names_no_command


@frozen
class Verdict:
    """The policy's decision on a call, and its reason, in words for a person and for the model."""

    decision: Decision
    why: str


def make_call(
    tool: str, kind: str, arguments: Json, folder: Path, *, locations: Sequence[str] = (), is_tool_server: bool = False
) -> Call:
    """Return a call as the policy sees it; `kind` is that of the protocol, `folder` the agent's current one.

    The kind is the agent's own word: a call with a command is one under any name.
    """
    readable = arguments if isinstance(arguments, Mapping) else None
    texts = [] if readable is None else list(_texts("", readable))
    path_texts = [text for name, text in texts if _is_path_name(name)]
    call_kind: agent_settings.CallKind = "mcp" if is_tool_server else _KINDS.get(kind, "other")
    command = _command(readable)
    if call_kind == "edit" and command is not None and command.lstrip().startswith(_PATCH):
        path_texts += _PATCHED_FILE.findall(command)
        command = None
    elif command in _EDITOR_COMMANDS and call_kind in ("read", "edit"):
        command = None
    elif command is not None and call_kind != "mcp":
        call_kind = "execute"
    if call_kind == "read":
        path_texts += _paths_outside(texts, is_glob="glob" in tool.lower())
    paths = dict.fromkeys(_inner_path(path, folder) for path in (*path_texts, *locations) if path)
    where = next((text for name, text in texts if name in _FOLDER_ARGUMENTS), "")
    return Call(
        tool=tool,
        kind=call_kind,
        arguments=readable,
        paths=tuple(paths),
        command=command,
        folder=_inner_path(where, folder) if where and command is not None else ".",
    )


def change_arguments(call: Call, arguments: JsonObject, folder: Path) -> Call:
    """Return a call with the arguments that a person has given it in place of its own."""
    return make_call(call.tool, call.kind, arguments, folder, is_tool_server=call.kind == "mcp")


def _command(arguments: JsonObject | None) -> str | None:
    """Return the command in the arguments; if there are several, each in a line of its own."""
    commands: dict[str, None] = {}
    for name in _COMMAND_ARGUMENTS:
        value = (arguments or {}).get(name)
        if isinstance(value, str):
            commands[value] = None
        elif isinstance(value, Sequence):
            commands[" ".join(str(word) for word in value)] = None
    return "\n".join(commands) if commands else None


def _texts(name: str, value: Json) -> Iterator[tuple[str, str]]:
    """Yield every text in a value with the name of the argument that holds it."""
    match value:
        case str():
            yield name, value
        case Mapping():
            for inner, part in value.items():
                yield from _texts(inner, part)
        case Sequence():
            for part in value:
                yield from _texts(name, part)
        case _:
            pass


def _is_path_name(name: str) -> bool:
    """True if an argument of this name holds a path, such as `path`, `file_path` or `targets`."""
    match = _LAST_WORD.search(name)
    return name in _PATH_NAMES or (match is not None and match.group().lower() in _PATH_WORDS)


def _paths_outside(texts: Iterable[tuple[str, str]], *, is_glob: bool) -> list[str]:
    """Return the texts that would lead out of the workspace if they were paths, under any name."""
    left_out = frozenset[str]() if is_glob else _PATTERN_ARGUMENTS
    return [text for name, text in texts if name not in left_out and "\n" not in text and _LEADS_OUT.match(text)]


def _inner_path(path: str, folder: Path) -> str:
    """Return a path relative to the folder, with links followed; absolute if it leads out of it."""
    path = path.removeprefix("file://").replace("\0", "")
    if path.startswith("~"):  # a home folder, which is never the workspace
        return str(Path("/") / path)
    real = Path(os.path.realpath(folder / path))
    root = Path(os.path.realpath(folder))
    if real.is_relative_to(root):
        return str(PurePosixPath(real.relative_to(root)))
    return str(real)


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
    for rule in (*rules.deny, *rules.ask):
        if call.is_unreadable and _might_fit(rule, call, spent_usd):
            return Verdict(decision="ask", why=f"{_why_ask(call)}, and a rule might hold for it ({_describe(rule)})")
    for rule in rules.allow:
        if _fits(rule, call, spent_usd, is_wary=False):
            return Verdict(decision="allow", why=f"the project allows it ({_describe(rule)})")
    if call.kind == "read" and not call.is_unreadable and not call.leaves_workspace:
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
    if call.is_unreadable:
        return "it does not say which file it changes" if call.kind == "edit" else "it does not say what it runs"
    if call.kind == "read":
        return "it reads outside of the workspace"
    if call.folder.startswith("/"):
        return "it runs outside of the workspace"
    return "no rule allows it"


def rule_of(call: Call) -> JsonObject | None:
    """Return the rule of an approval for longer than once: calls like this one. None if it would be too wide."""
    if call.is_unreadable:
        return None
    if call.kind == "execute":
        more = _other_arguments(call)
        return {"kind": call.kind, "command": call.command, **({"with": more} if more else {})}
    if call.kind == "edit" and call.paths and not call.leaves_workspace:
        return {"kind": call.kind, "paths": list(call.paths)}
    if call.kind in ("mcp", "fetch"):
        return {"kind": call.kind, "tool": call.tool}
    return None


def _other_arguments(call: Call) -> JsonObject:
    """Return the arguments of a command that may change what it does."""
    return {name: value for name, value in (call.arguments or {}).items() if name not in _HARMLESS_ARGUMENTS}


def _is_remembered(rule: JsonObject, call: Call) -> bool:
    """True if a call is like the one that a person has allowed: the same command, files, or tool."""
    if rule.get("kind") != call.kind or call.is_unreadable:
        return False
    if "command" in rule:
        return (call.command, _other_arguments(call)) == (rule["command"], rule.get("with", {}))
    paths = rule.get("paths")
    if isinstance(paths, list):
        return bool(call.paths) and set(call.paths) <= set(paths)
    return rule.get("tool") == call.tool


def _fits(rule: agent_settings.CallRule, call: Call, spent_usd: float, *, is_wary: bool) -> bool:
    """True if a rule is about the call. For a wary rule (ask, deny) one path, or one part of the command, is enough."""
    if not _might_fit(rule, call, spent_usd):
        return False
    if not is_wary and not _may_be_allowed(rule, call):
        return False
    if rule.paths and not _matches_paths(rule.paths, call.paths, any if is_wary else all):
        return False
    return not rule.commands or _matches_command(rule.commands, call.command, is_wary=is_wary)


def _may_be_allowed(rule: agent_settings.CallRule, call: Call) -> bool:
    """True if a rule of `allow` can hold for the call: it can be read, and the rule is about what the call does."""
    says_too_little = call.command is not None and bool(rule.paths) and not rule.commands
    is_about_shell = bool(rule.commands) and call.kind != "execute"
    return not (call.is_unreadable or call.folder.startswith("/") or says_too_little or is_about_shell)


def _might_fit(rule: agent_settings.CallRule, call: Call, spent_usd: float) -> bool:
    """True if a rule is about the call as far as its arguments do not matter."""
    if rule.kinds and call.kind not in rule.kinds:
        return False
    if rule.tools and not any(regex.compile_command(tool).fullmatch(call.tool) for tool in rule.tools):
        return False
    return rule.over_usd is None or spent_usd > rule.over_usd


def _matches_paths(patterns: Sequence[str], paths: Sequence[str], quantifier: Callable[[Iterable[bool]], bool]) -> bool:
    path_patterns = [regex.compile_path(pattern) for pattern in patterns]
    return bool(paths) and quantifier(any(pattern.fullmatch(path) for pattern in path_patterns) for path in paths)


def _matches_command(patterns: Sequence[str], command: str | None, *, is_wary: bool) -> bool:
    if command is None:
        return False
    command_patterns = [regex.compile_command(pattern) for pattern in patterns]
    if is_wary:
        parts = (command, *_SHELL_OPERATORS.split(command))
        return any(pattern.fullmatch(part.strip()) for pattern in command_patterns for part in parts)
    if _SHELL_EXPANSIONS.search(command) is not None:
        return False
    return any(pattern.fullmatch(command.strip()) for pattern in command_patterns)


def _describe(rule: agent_settings.CallRule) -> str:
    parts = [
        ("kind", ", ".join(rule.kinds)),
        ("tools", ", ".join(rule.tools)),
        ("paths", ", ".join(rule.paths)),
        ("commands", ", ".join(rule.commands)),
        ("over_usd", "" if rule.over_usd is None else f"{rule.over_usd:g}"),
    ]
    return "; ".join(f"{name}: {text}" for name, text in parts if text) or "every call"
