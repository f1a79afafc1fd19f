"""The project around a workflow: its root, and what `skelo.yaml` allows there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from openskelo import errors
from openskelo.frozen import field, frozen
from openskelo.handlers import registry
from openskelo.kernel.json import Json
from openskelo.providers import config
from openskelo.values import nearest
from openskelo.workflows import cursor, experts, problems, registries, source

if TYPE_CHECKING:
    from openskelo.contract import webhook

FILE = "skelo.yaml"
DATA_DIR = ".skelo"
_KEYS = frozenset({"name", "data_dir", "write_roots", "read_roots", "allow", "secrets", "webhooks"})
#: What no workflow has.
_TELLING = (_KEYS - {"name"}) | experts.KEYS | registries.KEYS
_REFERENCE = re.compile(r"\$\{env:[A-Za-z_][A-Za-z0-9_]*\}\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}\Z")


@frozen
class ProjectFile:
    """What `skelo.yaml` says. Paths are as written, relative to the root; secrets are references, never values."""

    name: str = ""
    data_dir: str | None = None
    write_roots: tuple[str, ...] = ()
    read_roots: tuple[str, ...] = ()
    allow_commands: bool = False
    allow_private_addresses: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    models: config.Config = field(default_factory=config.embedded)
    registry: registry.Registry = field(default_factory=registry.Registry)
    webhooks: tuple[webhook.Webhook, ...] = ()


def find_root(path: Path) -> Path:
    """The nearest folder at or above `path` that has `skelo.yaml` or `.skelo/`, else the file's own folder."""
    start = path if path.is_dir() else path.parent
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / FILE).is_file() or (folder / DATA_DIR).is_dir():
            return folder
    return start


def load(root: Path) -> ProjectFile:
    """The project's file, or the defaults where there is none; InvalidWorkflow lists what is wrong with it."""
    found, listed = check(root)
    wrong = tuple(problem for problem in listed if problem.severity == "error")
    if wrong:
        raise errors.InvalidWorkflow(wrong)
    return found


def is_project(name: str, value: Json) -> bool:
    """Whether a document is the file of a project: by the file's name, or by keys that nothing else has."""
    if name == FILE:
        return True
    if not isinstance(value, Mapping) or value.keys().isdisjoint(_TELLING):
        return False
    return not any(nearest.name_like(key, ("blocks",)) for key in islice(value, 100))


def check(root: Path) -> tuple[ProjectFile, tuple[problems.Problem, ...]]:
    """As `load`, with the Problems as a value."""
    path = root / FILE
    return check_file(path) if path.exists() else (ProjectFile(), ())


def check_file(path: Path) -> tuple[ProjectFile, tuple[problems.Problem, ...]]:
    """As `check`, for a project's file by whatever name."""
    try:
        read = source.read(path)
    except errors.InvalidWorkflow as error:
        listed = tuple(one for one in error.problems if isinstance(one, problems.Problem))
        # An empty file is enough to mark the root.
        return ProjectFile(), tuple(one for one in listed if one.code != "EMPTY")
    report = read.report()
    if read.value is None:
        return ProjectFile(), ()
    fields = cursor.Cursor(read.value, (), report).fields(_KEYS | experts.KEYS | registries.KEYS)
    found = ProjectFile() if fields is None else _read(fields, path.parent)
    return found, report.problems()


def _read(fields: cursor.Fields, root: Path) -> ProjectFile:
    allow = fields.get("allow")
    switches = None if allow is None else allow.fields({"commands", "private_addresses"})
    data_dir = fields.get("data_dir")
    models = experts.read(fields)
    return ProjectFile(
        name=fields.text("name"),
        data_dir=None if data_dir is None else data_dir.text(blank=False),
        write_roots=fields.texts("write_roots"),
        read_roots=fields.texts("read_roots"),
        allow_commands=switches is not None and switches.flag("commands", default=False),
        allow_private_addresses=switches is not None and switches.flag("private_addresses", default=False),
        secrets=_secrets(fields.get("secrets")),
        models=models,
        registry=registries.read(fields, root, models.experts.keys()),
        webhooks=_webhooks(fields.get("webhooks")),
    )


def _webhooks(found: cursor.Cursor | None) -> tuple[webhook.Webhook, ...]:
    if found is None:
        return ()
    from openskelo.workflows import webhooks  # noqa: PLC0415  few projects have any

    return webhooks.read(found)


def _secrets(found: cursor.Cursor | None) -> dict[str, str]:
    fields = None if found is None else found.fields()
    named: dict[str, str] = {}
    for entry in () if fields is None else fields:
        name = str(entry.path[-1])
        if not _NAME.match(name):
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot name a secret")
        elif not isinstance(entry.value, str) or not _REFERENCE.match(entry.value):
            # The value itself is not shown: somebody may have put the secret here.
            hint = "write ${env:NAME}; the value itself stays out of the file"
            entry.problem("SECRET_INVALID", f"the secret {name!r} must name an environment variable", hint=hint)
        else:
            named[name] = entry.value
    return named
