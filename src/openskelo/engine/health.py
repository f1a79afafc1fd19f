"""The checks of `skelo doctor`: what a run needs of Python, the installed parts, the disk and the project."""

from __future__ import annotations

import asyncio
import fcntl
import importlib
import importlib.util
import os
import shlex
import shutil
import sqlite3
import stat
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from openskelo import errors
from openskelo.contract import webhook
from openskelo.engine import records
from openskelo.executors import task
from openskelo.frozen import frozen
from openskelo.handlers import registry, secret
from openskelo.providers import catalog, config
from openskelo.stores import datadir, deliveries, sqlite

PARTS = {
    "orjson": "JSON",
    "rfc8785": "canonical JSON",
    "yaml": "workflow files",
    "jsonschema_rs": "contracts",
    "cel_expr_python": "expressions",
    "re2": "patterns",
    "httpx": "HTTP requests",
    "rich": "the live view",
    "cryptography": "signatures",
}
_MCP_EXTRA = "pip install 'openskelo[mcp]'"
_LOW_SPACE = 200 * 1024 * 1024


@frozen
class Finding:
    """The result of one check."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    hint: str | None = None


async def doctor(project: task.Project) -> tuple[Finding, ...]:
    """Whether a run would find all that it needs here, one finding a check; none of them raises.

    Nobody is asked anything and nothing is sent. The `events.jsonl` of ended runs that are gone are written anew.
    """
    still = await asyncio.to_thread(_still, project)
    return (*still, await _checked("runs", _runs(project)), await _checked("events.jsonl", _copies(project)))


def machine() -> list[Finding]:
    """What does not depend on a project: Python, and the parts that are installed."""
    return [_python(), _sqlite(), *map(_part, PARTS)]


def _still(where: task.Project) -> list[Finding]:
    """The checks for which no log is opened, in an order a reader can follow."""
    findings = [*machine(), _project(where), *_providers(where), *_webhooks(where)]
    findings += [_server(where, server) for server in where.registry.mcp.values()]
    checks: dict[str, Callable[[task.Project], Finding]] = {
        "data dir": _data_dir,
        "disk space": _space,
        "file locks": _locks,
        "durable write": _sync,
        "secrets": _secrets,
    }
    for name, check in checks.items():
        try:
            findings.append(check(where))
        except (OSError, errors.OpenSkeloError) as error:
            findings.append(_failed(name, error))
    return findings


async def _checked(name: str, check: Awaitable[Finding]) -> Finding:
    try:
        return await check
    except (OSError, errors.OpenSkeloError) as error:
        return _failed(name, error)


def _failed(name: str, error: OSError | errors.OpenSkeloError) -> Finding:
    if isinstance(error, OSError):
        return Finding(name=name, state="fail", detail=error.strerror or str(error))
    return Finding(name=name, state="fail", detail=error.message, hint=error.hint)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    return Finding(
        name="python",
        state="ok" if good else "fail",
        detail=f"{version} on {sys.platform}",
        hint=None if good else "OpenSkelo needs Python 3.11 or newer",
    )


def _sqlite() -> Finding:
    return Finding(name="sqlite", state="ok", detail=sqlite3.sqlite_version)


def _part(name: str) -> Finding:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        return Finding(name=name, state="fail", detail=f"cannot be imported: {error}", hint=f"needed for {PARTS[name]}")
    if name == "yaml" and not hasattr(module, "CSafeLoader"):
        return Finding(name=name, state="fail", detail="without its C part", hint="install PyYAML with libyaml")
    return Finding(name=name, state="ok", detail=PARTS[name])


def _project(where: task.Project) -> Finding:
    marker = where.root / "skelo.yaml"
    if marker.exists():
        return Finding(name="project", state="ok", detail=str(marker))
    return Finding(
        name="project",
        state="warn",
        detail=f"no skelo.yaml at or above {Path.cwd()}",
        hint="skelo init writes one; without it everything optional is refused",
    )


def _data_dir(where: task.Project) -> Finding:
    if datadir.exists(where.data_dir):
        try:
            version = (where.data_dir / "version").read_text().strip()
        except FileNotFoundError:
            return Finding(
                name="data dir",
                state="warn",
                detail=f"{where.data_dir} has a log.db and no version: the file is lost",
                hint="whatever opens the log writes it anew; if this is a copy, see that the rest of it is whole",
            )
        detail = f"{where.data_dir} (version {version})"
        if os.access(where.data_dir, os.W_OK | os.X_OK):
            if not _is_open(where.data_dir):
                return Finding(name="data dir", state="ok", detail=detail)
            hint = f"chmod -R go= {shlex.quote(str(where.data_dir))}, unless they are to see what went through its runs"
            return Finding(name="data dir", state="warn", detail=f"{detail} can be read by others", hint=hint)
        hint = "what is in it can be looked at; to run something, give another --data-dir"
        return Finding(name="data dir", state="fail", detail=f"{detail} cannot be written", hint=hint)
    if where.data_dir.exists() and not where.data_dir.is_dir():
        hint = "move it away, or give another --data-dir"
        return Finding(name="data dir", state="fail", detail=f"{where.data_dir} is a file, not a folder", hint=hint)
    parent = _nearest(where.data_dir)
    if os.access(parent, os.W_OK | os.X_OK):
        return Finding(name="data dir", state="ok", detail=f"{where.data_dir} will be made by the first run")
    return Finding(name="data dir", state="fail", detail=f"{parent} is not writable", hint="give another --data-dir")


def _is_open(data_dir: Path) -> bool:
    """Whether somebody besides the owner can read the log: the folder of an earlier version, or one that was shared."""
    try:
        folder, file = data_dir.stat().st_mode, (data_dir / "log.db").stat().st_mode
    except FileNotFoundError:
        return False  # whoever opens the log says so
    return any(folder & who and file & who << 2 for who in (stat.S_IXGRP, stat.S_IXOTH))


def _space(where: task.Project) -> Finding:
    free = shutil.disk_usage(_nearest(where.data_dir)).free
    low = free < _LOW_SPACE
    detail = f"{free / 2**30:.1f} GiB free"
    return Finding(name="disk space", state="warn" if low else "ok", detail=detail, hint="make room" if low else None)


def _locks(where: task.Project) -> Finding:
    """Whether a lock that one holder has is refused to another: what keeps two drivers from one run."""
    with tempfile.NamedTemporaryFile(dir=_nearest(where.data_dir)) as first, Path(first.name).open("rb") as second:
        fcntl.flock(first.fileno(), fcntl.LOCK_EX)
        try:
            fcntl.flock(second.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return Finding(name="file locks", state="ok", detail="held")
    return Finding(
        name="file locks",
        state="fail",
        detail="this file system does not hold locks",
        hint="use a --data-dir on a local disk",
    )


def _sync(where: task.Project) -> Finding:
    """How long one durable line takes here: what every step of a run costs at least."""
    times: list[float] = []
    with tempfile.NamedTemporaryFile(dir=_nearest(where.data_dir)) as file:
        for _ in range(20):
            started = time.perf_counter()
            file.write(b"x" * 400)
            file.flush()
            getattr(os, "fdatasync", os.fsync)(file.fileno())  # macOS has only fsync
            times.append(time.perf_counter() - started)
    usual = statistics.median(times)
    slow = usual > 0.02
    return Finding(
        name="durable write",
        state="warn" if slow else "ok",
        detail=f"{usual * 1000:.2f} ms" if usual < 0.01 else f"{usual * 1000:.0f} ms",
        hint="every step waits that long; a faster disk helps" if slow else None,
    )


def _secrets(where: task.Project) -> Finding:
    """Whether every secret that the project names has a value here; the values themselves stay unseen."""
    unset: list[str] = []
    for name in where.secrets or {}:
        try:
            secret.lookup(where.secrets, name)
        except errors.AttemptFailed:
            unset.append(name)
    if unset:
        hint = "set the environment variables that skelo.yaml names for them"
        return Finding(name="secrets", state="warn", detail=f"without a value: {', '.join(unset)}", hint=hint)
    return Finding(name="secrets", state="ok", detail=f"{len(where.secrets or {})} declared")


def _providers(where: task.Project) -> list[Finding]:
    """Whether each provider has what it needs: its client, its key, its model file. None is asked anything."""
    found: list[Finding] = []
    models = where.models or config.Config()
    for name, settings in models.providers.items():
        missing = catalog.missing(settings, root=where.root, environment=os.environ)
        serves = [expert.name for expert in models.experts.values() if expert.provider == name]
        detail = f"{settings.kind}, for {', '.join(serves)}" if serves else settings.kind
        if missing is None:
            found.append(Finding(name=f"provider {name}", state="ok", detail=detail))
        else:
            what, _, remedy = missing.partition(": ")
            hint = remedy or "mend skelo.yaml"
            found.append(Finding(name=f"provider {name}", state="warn", detail=f"{detail}: {what}", hint=hint))
    return found


def _webhooks(where: task.Project) -> list[Finding]:
    """Whether each webhook has what it needs, and what it is owed. Nothing is sent."""
    if not where.webhooks:
        return []
    try:
        owed = _owed(where)
    except errors.OpenSkeloError as error:
        return [Finding(name="webhooks", state="fail", detail=error.message, hint=error.hint)]
    return [_webhook(where, hook, owed.get(hook.id)) for hook in where.webhooks]


def _owed(where: task.Project) -> dict[str, deliveries.Backlog]:
    if not (where.data_dir / deliveries.FILE).exists():
        return {}
    opened = deliveries.Deliveries(where.data_dir)
    try:
        return {found.hook: found for found in opened.backlog()}
    finally:
        opened.close()


def _webhook(where: task.Project, hook: webhook.Webhook, owed: deliveries.Backlog | None) -> Finding:
    name = f"webhook {hook.label}"
    try:
        for text in (hook.url, hook.secret):
            secret.resolve(text, where.secrets)
    except errors.AttemptFailed as error:
        return Finding(name=name, state="warn", detail=error.message, hint=error.hint)
    if owed is None:
        return Finding(name=name, state="ok", detail=", ".join(hook.events))
    detail = f"{owed.waiting} wait to be delivered"
    hint = "a server (`skelo serve`) delivers them"
    if owed.dead:
        detail += f", {owed.dead} were given up"
        hint = "mend what is wrong, then start the server anew: it tries them once more"
    if owed.error:
        detail += f"; last: {owed.error}"
    return Finding(name=name, state="warn", detail=detail, hint=hint)


def _server(where: task.Project, server: registry.McpServer) -> Finding:
    """Whether an MCP server has what it needs: the extra, its program, its secrets. It is not started."""
    name = f"mcp {server.name}"
    uses = [tool.name for tool in where.registry.tools.values() if (tool.kind, tool.target) == ("mcp", server.name)]
    detail = (server.url or server.command[0]) + (f", for {', '.join(uses)}" if uses else "")
    if importlib.util.find_spec("mcp") is None:
        return Finding(name=name, state="warn", detail=f"{detail}: MCP is not installed", hint=_MCP_EXTRA)
    try:
        for text in (*server.env.values(), *server.headers.values()):
            secret.resolve(text, where.secrets)
    except errors.AttemptFailed as error:
        return Finding(name=name, state="warn", detail=f"{detail}: {error.message}", hint=error.hint)
    if server.command and not _is_there(where, server):
        hint = "install it, or mend `command` in skelo.yaml"
        return Finding(name=name, state="warn", detail=f"{detail}: there is no such program", hint=hint)
    return Finding(name=name, state="ok", detail=detail)


def _is_there(where: task.Project, server: registry.McpServer) -> bool:
    """Whether its program is found as the system would: by PATH, or from the server's folder when it is a path."""
    program = server.command[0]
    if os.sep in program:
        return shutil.which(where.root / server.folder / program) is not None
    return shutil.which(program, path=server.env.get("PATH")) is not None


async def _runs(where: task.Project) -> Finding:
    """Whether a run waits for a driver that has died."""
    lost = await _undriven(where) if datadir.exists(where.data_dir) else []
    if lost:
        hint = f"go on with: skelo resume {lost[0]}"
        return Finding(name="runs", state="warn", detail=f"{len(lost)} without a process that drives them", hint=hint)
    return Finding(name="runs", state="ok", detail="none was left behind")


async def _undriven(where: task.Project) -> list[str]:
    async with records.reading(where) as found:
        log = found.store
        rows = await log.rows(status="running", limit=1000)
        return [row.run_id for row in rows if not await log.driver_alive(row.run_id)]


async def _copies(where: task.Project) -> Finding:
    """Whether every run that ended has its file; those that have none (of a restored data dir) are written."""
    written = await _written(where) if datadir.exists(where.data_dir) else 0
    detail = f"{written} were missing and have been written" if written else "every ended run has its own"
    return Finding(name="events.jsonl", state="ok", detail=detail)


async def _written(where: task.Project) -> int:
    written = 0
    async with records.reading(where) as found:
        log = found.store
        rows = await log.rows(limit=1000)
        while rows:
            for row in rows:
                missing = not (where.data_dir / "runs" / row.run_id / "events.jsonl").exists()
                if row.ending is not None and missing and isinstance(log, sqlite.SqliteLog):
                    log.repair(row.run_id)
                    written += 1
            rows = await log.rows(limit=1000, before=rows[-1].run_id)
    return written


def _nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return path
