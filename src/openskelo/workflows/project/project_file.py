"""The project around a workflow: find its root, read `skelo.yaml`, and return a `Project`.

    path ── find_root ──> root ── check/load ──> ProjectFile (as written) ── project_at ──> Project (real paths)

A file without `skelo.yaml` above it is a project too, with the defaults. Secrets are references (`${env:NAME}`); the
file never holds a value, and messages never show what stands in place of one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from openskelo import errors
from openskelo.agent_settings import AgentsConfig
from openskelo.handlers import file_access, project_registry
from openskelo.kernel.json import Json
from openskelo.project import Project
from openskelo.providers import config
from openskelo.structs import field, frozen
from openskelo.values import suggestions
from openskelo.wire import webhook
from openskelo.workflows.blocks import handlers, limits
from openskelo.workflows.project import agents, experts, registries
from openskelo.workflows.text import cursor, problems, source

FILE = "skelo.yaml"
DATA_DIR = ".skelo"
_KEYS = frozenset(
    {"name", "data_dir", "write_roots", "read_roots", "allow", "secrets", "webhooks", "agents", "handler_timeout_ms"}
)
#: Keys that no workflow has.
_ONLY_IN_PROJECTS = (_KEYS - {"name"}) | experts.KEYS | registries.KEYS
_ENV_REFERENCE = re.compile(r"\$\{env:[A-Za-z_][A-Za-z0-9_]*\}\Z")
_SECRET_REFERENCE = re.compile(r"\$\{(env|secret):[A-Za-z_][A-Za-z0-9_.-]*\}")
_SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}\Z")


@frozen
class ProjectFile:
    """The content of `skelo.yaml`. Paths are as written, relative to the root; secrets are references, never values."""

    name: str = ""
    data_dir: str | None = None
    write_roots: tuple[str, ...] = ()
    read_roots: tuple[str, ...] = ()
    allow_commands: bool = False
    allow_private_addresses: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    models: config.Config = field(default_factory=config.embedded)
    registry: project_registry.Registry = field(default_factory=project_registry.Registry)
    webhooks: tuple[webhook.Webhook, ...] = ()
    agents: AgentsConfig = field(default_factory=AgentsConfig)
    handler_timeout_ms: int = limits.HANDLER_TIMEOUT_MS


def find_root(path: Path) -> Path:
    """Return the nearest folder at or above `path` that has `skelo.yaml` or `.skelo/`, else the file's own folder."""
    start = path if path.is_dir() else path.parent
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / FILE).is_file() or (folder / DATA_DIR).is_dir():
            return folder
    return start


def project_at(path: Path | str = ".", *, data_dir: Path | str | None = None) -> Project:
    """Return the project around a file or folder; raise InvalidInput, or InvalidWorkflow for a faulty `skelo.yaml`.

    The data dir is `data_dir`, else `SKELO_HOME`, else what `skelo.yaml` says, else `.skelo/` in the root.
    """
    try:
        root = find_root(Path(path)).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise _invalid_path(path, error) from error
    file = load(root)
    project_folders = folders(file, root, data_dir)
    return Project(
        root=root,
        data_dir=project_folders.data_dir,
        write_roots=project_folders.write_roots,
        read_roots=tuple(_real_path(root, text) for text in file.read_roots),
        allow_commands=file.allow_commands,
        allow_private_addresses=file.allow_private_addresses,
        secrets=file.secrets,
        models=file.models,
        registry=file.registry,
        webhooks=file.webhooks,
        agents=file.agents,
    )


def folders(file: ProjectFile, root: Path, data_dir: Path | str | None = None) -> handlers.Folders:
    """Return the project's root, its write roots and its data dir as real paths; `data_dir` as for `project_at`."""
    return _folders(root, file.write_roots, _find_data_dir(root, file.data_dir, data_dir))


def load(root: Path) -> ProjectFile:
    """Return the project's file, or the defaults without a file; raise InvalidWorkflow with its Problems."""
    file, all_problems = check(root)
    faults = tuple(problem for problem in all_problems if problem.severity == "error")
    if faults:
        raise errors.InvalidWorkflow(faults)
    return file


def is_project(name: str, value: Json) -> bool:
    """True if a document is a project file: by its file name, or by keys that nothing else has."""
    if name == FILE:
        return True
    if not isinstance(value, Mapping) or value.keys().isdisjoint(_ONLY_IN_PROJECTS):
        return False
    return not any(suggestions.name_like(key, ("blocks",)) for key in islice(value, 100))


def check(root: Path) -> tuple[ProjectFile, tuple[problems.Problem, ...]]:
    """Return the project file of the folder `root` and its Problems; an empty one if there is no file."""
    path = root / FILE
    if path.exists():
        return check_file(path)
    return (ProjectFile(), ())


def check_file(path: Path) -> tuple[ProjectFile, tuple[problems.Problem, ...]]:
    """Return the project file at `path`, whatever its name, and its Problems."""
    try:
        document = source.read(path)
    except errors.InvalidWorkflow as error:
        faults = tuple(problem for problem in error.problems if isinstance(problem, problems.Problem))
        # An empty file is enough to mark the root.
        return ProjectFile(), tuple(problem for problem in faults if problem.code != "EMPTY")
    report = document.report()
    if document.value is None:
        return ProjectFile(), ()
    fields = cursor.Cursor(document.value, (), report).fields(_KEYS | experts.KEYS | registries.KEYS)
    file = ProjectFile() if fields is None else _read(fields, path.parent)
    return file, report.problems()


def _read(fields: cursor.Fields, root: Path) -> ProjectFile:
    allow = fields.get("allow")
    switches = None if allow is None else allow.fields({"commands", "private_addresses"})
    data_dir = fields.get("data_dir")
    models = experts.read(fields)
    configured_data_dir = None if data_dir is None else data_dir.text(blank=False)
    write_roots = _read_write_roots(fields, root)
    used_folders = _folders(root, write_roots, _find_data_dir(root, configured_data_dir))
    return ProjectFile(
        name=fields.text("name"),
        data_dir=configured_data_dir,
        write_roots=write_roots,
        read_roots=fields.texts("read_roots"),
        allow_commands=switches is not None and switches.flag("commands", default=False),
        allow_private_addresses=switches is not None and switches.flag("private_addresses", default=False),
        secrets=_read_secrets(fields.get("secrets")),
        models=models,
        registry=registries.read(fields, used_folders, models.experts.keys()),
        webhooks=_read_webhooks(fields.get("webhooks")),
        agents=agents.read(fields.get("agents"), used_folders),
        handler_timeout_ms=limits.handler_timeout(fields),
    )


def _read_write_roots(fields: cursor.Fields, root: Path) -> tuple[str, ...]:
    """Return the folders that data may write to, as written; report folders with code or the project's own data."""
    section = fields.get("write_roots")
    entries: list[cursor.Cursor] = []
    if section is not None:
        entries = [section] if isinstance(section.value, str) else section.items() or []
    data_dir = _real_path(root, fields.text("data_dir") or DATA_DIR)
    for entry in entries:
        text = entry.value if isinstance(entry.value, str) else ""
        if text:
            reason = file_access.reason_against_write_root(_real_path(root, text), root.resolve(), data_dir)
        else:
            reason = None
        if reason is not None:
            hint = f"name a folder that holds nothing else, such as {file_access.DEFAULT_WRITE_ROOT}"
            entry.problem("WRITE_ROOT_INVALID", f"data may not be written to {text[:80]!r}: {reason}", hint=hint)
    return fields.texts("write_roots")


def _folders(root: Path, write_roots: Sequence[str], data_dir: Path) -> handlers.Folders:
    root = root.resolve()
    declared_paths = [_real_path(root, text) for text in write_roots]
    return handlers.Folders(root=root, write_roots=file_access.writable_roots(root, declared_paths), data_dir=data_dir)


def _find_data_dir(root: Path, configured: str | None, explicit: Path | str | None = None) -> Path:
    """Return the real path of the data dir: the explicit one, else `SKELO_HOME`, else the project's own."""
    explicit = explicit or os.environ.get("SKELO_HOME")
    return _real_path(Path(), explicit) if explicit else _real_path(root, configured or DATA_DIR)


def _read_secrets(section: cursor.Cursor | None) -> dict[str, str]:
    fields = None if section is None else section.fields()
    secrets: dict[str, str] = {}
    for entry in () if fields is None else fields:
        name = str(entry.path[-1])
        if not _SECRET_NAME.match(name):
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot be the name of a secret")
        elif not isinstance(entry.value, str) or not _ENV_REFERENCE.match(entry.value):
            # The value is not shown: the author may have written the secret itself here.
            hint = "write ${env:NAME}; the value itself stays out of the file"
            entry.problem("SECRET_INVALID", f"the secret {name!r} must name an environment variable", hint=hint)
        else:
            secrets[name] = entry.value
    return secrets


def _read_webhooks(section: cursor.Cursor | None) -> tuple[webhook.Webhook, ...]:
    """Return the webhooks without Problems: the addresses a server calls when it asks a person or a run ends."""
    if section is None:
        return ()
    hooks: dict[str, webhook.Webhook] = {}
    for entry in section.items() or ():
        fields = entry.fields({"url", "events", "secret"})
        hook = None if fields is None else _read_webhook(fields)
        if hook is None:
            continue
        if hook.url in hooks:
            entry.problem("DUPLICATE_ID", "two webhooks have the same address", hint="list all events in one of them")
        hooks[hook.url] = hook
    return tuple(hooks.values())


def _read_webhook(fields: cursor.Fields) -> webhook.Webhook | None:
    url, secret = fields.need("url"), fields.need("secret")
    events = _read_webhook_events(fields.get("events"))
    address = None if url is None else url.text(blank=False)
    if url is not None and address is not None and not _is_web_address(address):
        # The address itself is not shown: what follows its host is often a secret.
        url.problem("ADDRESS_INVALID", "the webhook's `url` is not an http or https address")
        address = None
    reference = None if secret is None else secret.text(blank=False)
    if secret is not None and reference is not None and not _SECRET_REFERENCE.fullmatch(reference):
        hint = "write ${secret:NAME} and name it under `secrets`; the value itself stays out of the file"
        secret.problem("SECRET_INVALID", "the webhook's `secret` must name a secret", hint=hint)
        reference = None
    if address is None or reference is None or events is None:
        return None
    return webhook.Webhook(url=address, secret=reference, events=events)


def _read_webhook_events(section: cursor.Cursor | None) -> tuple[str, ...] | None:
    """Return the events that are named, all of them without the section, None after a Problem."""
    if section is None:
        return webhook.EVENTS
    event_names = [entry.choice(webhook.EVENTS) for entry in section.items() or ()]
    unique_names = tuple(dict.fromkeys(name for name in event_names if name is not None))
    if not event_names:
        section.problem("EMPTY", f"{section.name} is empty", hint="remove it to receive all events")
    return unique_names or None


def _is_web_address(text: str) -> bool:
    """True if `text` is an http or https address, or begins with a reference that may hold one."""
    if _SECRET_REFERENCE.match(text):
        return True
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        return False


def _real_path(base: Path, text: Path | str) -> Path:
    try:
        return (base / Path(text).expanduser()).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise _invalid_path(text, error) from error


def _invalid_path(path: Path | str, error: Exception) -> errors.InvalidInput:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return errors.InvalidInput(f"{str(path)[:200]!r} cannot be used as a path: {reason}", code="PATH_INVALID")
