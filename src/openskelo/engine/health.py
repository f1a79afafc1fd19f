"""The checks of `skelo doctor`: what a run needs of Python, the installed packages, the disk and the project.

Each check returns a `Finding` (ok, warn or fail) with a hint. No check raises, calls a model or sends anything.
"""

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
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from openskelo import errors
from openskelo.agent_settings import AgentSettings
from openskelo.handlers import project_registry, secrets
from openskelo.history import reader
from openskelo.kernel import ids
from openskelo.project import Project
from openskelo.providers import config, router
from openskelo.stores import delivery_queue, factory
from openskelo.structs import frozen
from openskelo.wire import webhook

#: The packages that OpenSkelo needs, and what for.
PACKAGES = {
    "orjson": "JSON",
    "rfc8785": "canonical JSON",
    "yaml": "workflow files",
    "jsonschema_rs": "contracts",
    "cel_expr_python": "expressions",
    "re2": "patterns",
    "httpx": "HTTP requests",
    "prometheus_client": "metrics",
    "rich": "the live view",
    "cryptography": "signatures",
}
_MCP_EXTRA = "pip install 'openskelo[mcp]'"
#: How many runs a finding names.
_NAMED_RUNS = 5
_LOW_SPACE = 200 * 1024 * 1024


@frozen
class Finding:
    """The result of one check."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    hint: str | None = None


async def doctor(project: Project) -> tuple[Finding, ...]:
    """Return one finding for each check of the project; a check that fails is a finding, too.

    Event files that lack something are completed; nothing else is changed.
    """
    findings = await asyncio.to_thread(_checks_without_log, project)
    runs = await _checked("runs", _check_runs(project))
    copies = await _checked("event files", _check_event_files(project))
    return (*findings, runs, copies, await _checked("write-ahead log", _check_kept_wals(project)))


def machine() -> list[Finding]:
    """Return the findings that do not depend on a project: Python, and the installed packages."""
    return [_check_python(), _check_sqlite(), *map(_check_package, PACKAGES)]


def _checks_without_log(project: Project) -> list[Finding]:
    """Return the findings for which no log is opened, in the order in which they are shown."""
    findings = [*machine(), _check_project(project), *_check_providers(project), *_check_webhooks(project)]
    findings += [_check_mcp_server(project, server) for server in project.registry.mcp.values()]
    findings += [_check_agent(project, agent) for agent in project.agents.by_name.values()]
    checks: dict[str, Callable[[Project], Finding]] = {
        "data dir": _check_data_dir,
        "disk space": _check_disk_space,
        "file locks": _check_file_locks,
        "durable write": _check_durable_write,
        "secrets": _check_secrets,
    }
    for name, check in checks.items():
        try:
            findings.append(check(project))
        except (OSError, errors.OpenSkeloError) as error:
            findings.append(_failed(name, error))
    return findings


async def _checked(name: str, check: Awaitable[Finding]) -> Finding:
    """Return the finding of a check, also if it raises."""
    try:
        return await check
    except (OSError, errors.OpenSkeloError) as error:
        return _failed(name, error)


def _failed(name: str, error: OSError | errors.OpenSkeloError) -> Finding:
    if isinstance(error, OSError):
        return Finding(name=name, state="fail", detail=error.strerror or str(error))
    return Finding(name=name, state="fail", detail=error.message, hint=error.hint)


def _check_python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    return Finding(
        name="python",
        state="ok" if good else "fail",
        detail=f"{version} on {sys.platform}",
        hint=None if good else "OpenSkelo needs Python 3.11 or newer",
    )


def _check_sqlite() -> Finding:
    return Finding(name="sqlite", state="ok", detail=sqlite3.sqlite_version)


def _check_package(name: str) -> Finding:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        return Finding(
            name=name, state="fail", detail=f"cannot be imported: {error}", hint=f"needed for {PACKAGES[name]}"
        )
    if name == "yaml" and not hasattr(module, "CSafeLoader"):
        return Finding(name=name, state="fail", detail="without its C part", hint="install PyYAML with libyaml")
    return Finding(name=name, state="ok", detail=PACKAGES[name])


def _check_project(project: Project) -> Finding:
    marker = project.root / "skelo.yaml"
    if marker.exists():
        return Finding(name="project", state="ok", detail=str(marker))
    return Finding(
        name="project",
        state="warn",
        detail=f"no skelo.yaml at or above {Path.cwd()}",
        hint="skelo init writes one; without it everything optional is refused",
    )


def _check_data_dir(project: Project) -> Finding:
    data_dir = project.data_dir
    if factory.has_store(project):
        return _check_existing(data_dir)
    if data_dir.exists() and not data_dir.is_dir():
        hint = "move it away, or give another --data-dir"
        return Finding(name="data dir", state="fail", detail=f"{data_dir} is a file, not a folder", hint=hint)
    parent = _nearest(data_dir)
    if os.access(parent, os.W_OK | os.X_OK):
        return Finding(name="data dir", state="ok", detail=f"{data_dir} will be made by the first run")
    return Finding(name="data dir", state="fail", detail=f"{parent} is not writable", hint="give another --data-dir")


def _check_existing(data_dir: Path) -> Finding:
    """Check a data dir that has a log: its version file, and who can write and read it."""
    try:
        version = (data_dir / "version").read_text().strip()
    except FileNotFoundError:
        return Finding(
            name="data dir",
            state="warn",
            detail=f"{data_dir} has a log.db and no version: the file is lost",
            hint="the next run writes it again; if this is a copy, check that the rest of it is complete",
        )
    detail = f"{data_dir} (version {version})"
    if not os.access(data_dir, os.W_OK | os.X_OK):
        hint = "its runs can be read; to run something, give another --data-dir"
        return Finding(name="data dir", state="fail", detail=f"{detail} cannot be written", hint=hint)
    if _is_readable_by_others(data_dir):
        hint = f"chmod -R go= {shlex.quote(str(data_dir))}, unless they may see the values of its runs"
        return Finding(name="data dir", state="warn", detail=f"{detail} can be read by others", hint=hint)
    return Finding(name="data dir", state="ok", detail=detail)


def _is_readable_by_others(data_dir: Path) -> bool:
    """True if other users can read the log, such as one that was copied or shared."""
    try:
        folder, file = data_dir.stat().st_mode, (data_dir / "log.db").stat().st_mode
    except FileNotFoundError:
        return False  # opening the log reports it
    return any(folder & enter and file & enter << 2 for enter in (stat.S_IXGRP, stat.S_IXOTH))


def _check_disk_space(project: Project) -> Finding:
    free = shutil.disk_usage(_nearest(project.data_dir)).free
    low = free < _LOW_SPACE
    detail = f"{free / 2**30:.1f} GiB free"
    return Finding(
        name="disk space", state="warn" if low else "ok", detail=detail, hint="free some space" if low else None
    )


def _check_file_locks(project: Project) -> Finding:
    """Check that a lock keeps a second holder out: it keeps two processes from driving one run."""
    with tempfile.NamedTemporaryFile(dir=_nearest(project.data_dir)) as first, Path(first.name).open("rb") as second:
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


def _check_durable_write(project: Project) -> Finding:
    """Measure one durable write: every step of a run takes at least that long."""
    times: list[float] = []
    with tempfile.NamedTemporaryFile(dir=_nearest(project.data_dir)) as file:
        for _ in range(20):
            start_time = time.perf_counter()
            file.write(b"x" * 400)
            file.flush()
            getattr(os, "fdatasync", os.fsync)(file.fileno())  # macOS has only fsync
            times.append(time.perf_counter() - start_time)
    usual = statistics.median(times)
    slow = usual > 0.02
    return Finding(
        name="durable write",
        state="warn" if slow else "ok",
        detail=f"{usual * 1000:.2f} ms" if usual < 0.01 else f"{usual * 1000:.0f} ms",
        hint="every step waits that long; a faster disk helps" if slow else None,
    )


def _check_secrets(project: Project) -> Finding:
    """Check that every secret of the project has a value here, without showing the values."""
    unset: list[str] = []
    for name in project.secrets or {}:
        try:
            secrets.lookup(project.secrets, name)
        except errors.AttemptFailed:
            unset.append(name)
    if unset:
        hint = "set the environment variables that skelo.yaml names for them"
        return Finding(name="secrets", state="warn", detail=f"without a value: {', '.join(unset)}", hint=hint)
    return Finding(name="secrets", state="ok", detail=f"{len(project.secrets or {})} declared")


def _check_providers(project: Project) -> list[Finding]:
    """Check that each provider has what it needs: its client, its key, its model file. None is called."""
    findings: list[Finding] = []
    models = project.models or config.Config()
    for name, settings in models.providers.items():
        missing = router.missing_requirement(settings, root=project.root, environment=os.environ)
        serves = [expert.name for expert in models.experts.values() if expert.provider == name]
        detail = f"{settings.kind}, for {', '.join(serves)}" if serves else settings.kind
        if missing is None:
            findings.append(Finding(name=f"provider {name}", state="ok", detail=detail))
        else:
            complaint, _, remedy = missing.partition(": ")
            hint = remedy or "correct skelo.yaml"
            findings.append(Finding(name=f"provider {name}", state="warn", detail=f"{detail}: {complaint}", hint=hint))
    return findings


def _check_webhooks(project: Project) -> list[Finding]:
    """Check that each webhook has what it needs, and count the deliveries that wait. Nothing is sent."""
    if not project.webhooks:
        return []
    try:
        backlogs = _backlogs(project)
    except errors.OpenSkeloError as error:
        return [Finding(name="webhooks", state="fail", detail=error.message, hint=error.hint)]
    return [_check_webhook(project, hook, backlogs.get(hook.id)) for hook in project.webhooks]


def _backlogs(project: Project) -> dict[str, delivery_queue.Backlog]:
    if not (project.data_dir / delivery_queue.FILE).exists():
        return {}
    queue = delivery_queue.DeliveryQueue(project.data_dir)
    try:
        return {backlog.hook: backlog for backlog in queue.backlog()}
    finally:
        queue.close()


def _check_webhook(project: Project, hook: webhook.Webhook, backlog: delivery_queue.Backlog | None) -> Finding:
    name = f"webhook {hook.label}"
    try:
        for text in (hook.url, hook.secret):
            secrets.resolve(text, project.secrets)
    except errors.AttemptFailed as error:
        return Finding(name=name, state="warn", detail=error.message, hint=error.hint)
    if backlog is None:
        return Finding(name=name, state="ok", detail=", ".join(hook.events))
    detail = f"{backlog.waiting} wait to be delivered"
    hint = "a server (`skelo serve`) delivers them"
    if backlog.dead:
        detail += f", {backlog.dead} were given up"
        hint = "correct the cause, then restart the server: it tries them once more"
    if backlog.error:
        detail += f"; last: {backlog.error}"
    return Finding(name=name, state="warn", detail=detail, hint=hint)


def _check_mcp_server(project: Project, server: project_registry.McpServer) -> Finding:
    """Check that an MCP server has what it needs: the extra, its program, its secrets. It is not started."""
    name = f"mcp {server.name}"
    uses = [tool.name for tool in project.registry.tools.values() if (tool.kind, tool.target) == ("mcp", server.name)]
    detail = (server.url or server.command[0]) + (f", for {', '.join(uses)}" if uses else "")
    if importlib.util.find_spec("mcp") is None:
        return Finding(name=name, state="warn", detail=f"{detail}: MCP is not installed", hint=_MCP_EXTRA)
    try:
        for text in (*server.env.values(), *server.headers.values()):
            secrets.resolve(text, project.secrets)
    except errors.AttemptFailed as error:
        return Finding(name=name, state="warn", detail=f"{detail}: {error.message}", hint=error.hint)
    if server.command and not _has_program(project, server):
        hint = "install it, or correct `command` in skelo.yaml"
        return Finding(name=name, state="warn", detail=f"{detail}: there is no such program", hint=hint)
    return Finding(name=name, state="ok", detail=detail)


def _check_agent(project: Project, agent: AgentSettings) -> Finding:
    """Check that a coding agent has what it needs: the extra, its program, its secrets. It is not started."""
    from openskelo.agents import programs  # noqa: PLC0415 -- few projects have agents
    from openskelo.agents.sandbox import sandbox  # noqa: PLC0415 -- few projects have agents

    name = f"agent {agent.name}"
    try:
        programs.check_extra()
        command = programs.find(project.data_dir, agent)
        for reference in (agent.api_key, *agent.env.values()):
            secrets.resolve(reference or "", project.secrets)
        chosen_sandbox = sandbox.choose_now(agent.sandbox)
    except errors.AttemptFailed as error:
        return Finding(name=name, state="warn", detail=f"{agent.provider}: {error.message}", hint=error.hint)
    kind = chosen_sandbox.kind
    detail = f"{agent.provider}, {command[0]}, {'no sandbox' if kind == 'none' else f'sandbox {kind}'}"
    if kind == "bubblewrap" or agent.sandbox == "none":
        return Finding(name=name, state="ok", detail=detail)
    missing = sandbox.probe("bubblewrap").why
    return Finding(name=name, state="ok", detail=f"{detail} (bubblewrap: {missing})", hint=sandbox.INSTALL)


def _has_program(project: Project, server: project_registry.McpServer) -> bool:
    """True if the server's program exists: in PATH, or relative to the server's folder when it is a path."""
    program = server.command[0]
    if os.sep in program:
        return shutil.which(project.root / server.folder / program) is not None
    return shutil.which(program, path=server.env.get("PATH")) is not None


async def _check_runs(project: Project) -> Finding:
    """Check that no running run has lost its driver."""
    abandoned_runs = await _abandoned_runs(project) if factory.has_store(project) else []
    if abandoned_runs:
        hint = f"go on with: skelo resume {ids.short(abandoned_runs[0])}"
        return Finding(
            name="runs", state="warn", detail=f"{len(abandoned_runs)} without a process that drives them", hint=hint
        )
    return Finding(name="runs", state="ok", detail="none was left behind")


async def _abandoned_runs(project: Project) -> list[str]:
    async with reader.reading(project) as history:
        log = history.store
        rows = await log.list_runs(status="running", limit=1000)
        return [row.run_id for row in rows if not await log.is_driver_alive(row.run_id)]


async def _check_event_files(project: Project) -> Finding:
    """Check that the event files hold what the log holds, and write what is missing (in a restored data dir)."""
    name = "event files"
    if not factory.has_store(project):
        return Finding(name=name, state="ok", detail="there are none yet")
    async with reader.reading(project) as history:
        await history.store.repair_event_files()
        lost_events = await history.store.find_lost_events()
    file_names = sorted(path.name for path in (project.data_dir / "events").glob("*.differs-*.jsonl"))
    if lost_events and file_names:
        runs = _name_lost(lost_events)
        detail = f"the log lacks events that these files hold: {', '.join(file_names)}; of run {runs}"
        hint = f"copy them before you go on: they are in {project.data_dir / 'events'}; or restore the data dir"
        return Finding(name=name, state="fail", detail=detail, hint=hint)
    if file_names:
        detail = f"these held something else than the log, and were kept: {', '.join(file_names)}"
        hint = f"compare them with the log (`skelo events RUN --json`); they are in {project.data_dir / 'events'}"
        return Finding(name=name, state="warn", detail=detail, hint=hint)
    return Finding(name=name, state="ok", detail="they hold what the log holds")


def _name_lost(lost: Mapping[str, int]) -> str:
    """Return the runs with the number of events that the log lacks of each; empty if there are none."""
    runs = ", ".join(f"{run_id} ({count} events)" for run_id, count in sorted(lost.items())[:_NAMED_RUNS])
    return f"{runs} and {len(lost) - _NAMED_RUNS} more" if len(lost) > _NAMED_RUNS else runs


async def _check_kept_wals(project: Project) -> Finding:
    """Check that no write-ahead log was damaged; name the kept ones, and the events in them that the log lacks."""
    name = "write-ahead log"
    kept_wals = factory.find_damaged(project)
    if not kept_wals:
        return Finding(name=name, state="ok", detail="none was damaged")
    async with reader.reading(project) as history:
        runs = _name_lost(await history.store.find_lost_events())
    names = [path.name for path in kept_wals]
    loss_text = f"; the log lacks, of run {runs}" if runs else ""
    return Finding(
        name=name,
        state="fail",
        detail=f"it was damaged, and may have lost its newest commits; kept: {', '.join(names)}{loss_text}",
        hint=f"restore the data dir, or look at these runs and move the files away from {project.data_dir}",
    )


def _nearest(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return path
