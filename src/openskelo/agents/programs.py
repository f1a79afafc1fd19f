"""The programs of agents: where they are found, and how `skelo agents install` gets them.

Each provider's program comes from one npm package. `locks/PROVIDER.json` is its npm lock file: the exact version and
digest of the package and of everything it needs, without any address. It is installed below the data dir, never
globally. A project may name another program with `command`.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shutil
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from openskelo import agent_settings, errors
from openskelo.agents import profiles
from openskelo.handlers import blocking_call
from openskelo.programs import program, time_limit
from openskelo.structs import frozen

_INSTALL_MS = 900_000
_MIN_NODE = 20


@frozen
class LockedPackage:
    """The npm package of a provider, at the version that is installed."""

    name: str
    version: str
    lock: str


def installable() -> tuple[str, ...]:
    """Return the providers whose programs can be installed: those with an npm lock file."""
    return tuple(name for name in profiles.PROFILES if _lock_file(name).is_file())


@functools.cache
def locked(provider: str) -> LockedPackage:
    """Return the locked package of a provider."""
    text = _lock_file(provider).read_text("utf-8")
    dependencies: Mapping[str, Any] = json.loads(text)["packages"][""]["dependencies"]
    ((name, version),) = dependencies.items()
    return LockedPackage(name=name, version=version, lock=text)


def _lock_file(provider: str) -> Traversable:
    return resources.files("openskelo.agents").joinpath("locks", f"{provider}.json")


def folder(data_dir: Path, provider: str) -> Path:
    """Return the folder below the data dir into which the program of a provider is installed."""
    return data_dir / "agents" / f"{provider}-{locked(provider).version}"


def find(data_dir: Path, agent: agent_settings.AgentSettings) -> tuple[str, ...]:
    """Return the argument vector of the agent's program, without its arguments (Missing AGENT_NOT_INSTALLED)."""
    if agent.command:
        name = agent.command[0]
        if not _is_in_workspace(name) and shutil.which(name) is None:
            hint = "install it, or correct `command` in skelo.yaml"
            raise errors.Missing(f"{name}: there is no such program", code="AGENT_NOT_INSTALLED", hint=hint)
        return agent.command
    hint = "install it, or set `command`"
    if agent.provider in installable():
        installed_path = _executable(folder(data_dir, agent.provider), agent.provider)
        if installed_path.exists():
            return (str(installed_path),)
        hint = f"run `skelo agents install {agent.provider}`, or set `command`"
    on_path = shutil.which(profiles.PROFILES[agent.provider].program)
    if on_path is not None:
        return (on_path,)
    raise errors.Missing(f"the program of {agent.provider} is not installed", code="AGENT_NOT_INSTALLED", hint=hint)


def _is_in_workspace(name: str) -> bool:
    """True if a program is named by its path in the workspace, where it can be looked for once there is one."""
    return os.sep in name and not Path(name).is_absolute()


def check_extra() -> None:
    """Raise Missing EXTRA_MISSING unless the libraries for agents are installed."""
    if any(importlib.util.find_spec(name) is None for name in ("acp", "mcp")):
        raise errors.Missing(
            "agents need packages that are not installed",
            code="EXTRA_MISSING",
            hint="pip install 'openskelo[agents]'",
        )


async def install(data_dir: Path, provider: str) -> Path:
    """Install the program of a provider below the data dir and return its path.

    Raise OpenSkeloError: NODE_MISSING, AGENT_INSTALL_FAILED with npm's own words. What is there already is kept.
    """
    target = folder(data_dir, provider)
    executable = _executable(target, provider)
    if executable.exists():
        return executable
    await _check_node()
    package = locked(provider)
    partial = target.with_name(f"{target.name}.partial")
    await blocking_call.run(lambda: _prepare(partial, provider, package))
    npm = program.Program(
        argv=("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"), folder=partial
    )
    result = await time_limit.within(_INSTALL_MS, program.run(npm))
    if result.status != 0:
        words = (result.stderr or result.stdout).decode("utf-8", "replace").strip()
        raise errors.OpenSkeloError(
            f"npm could not install {package.name} {package.version}: {words[-600:]}",
            code="AGENT_INSTALL_FAILED",
            hint="npm needs its registry once",
        )
    await blocking_call.run(lambda: _move(partial, target))
    return executable


def _prepare(partial: Path, provider: str, package: LockedPackage) -> None:
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    manifest = {
        "name": f"skelo-agent-{provider}",
        "private": True,
        "dependencies": {package.name: package.version},
    }
    (partial / "package.json").write_text(json.dumps(manifest))
    (partial / "package-lock.json").write_text(package.lock)


def _move(partial: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


async def _check_node() -> None:
    """Raise OpenSkeloError NODE_MISSING unless Node and npm can be called, and Node is new enough."""
    if shutil.which("npm") is not None and (version := await node_version()) is not None:
        if int(version.split(".")[0]) >= _MIN_NODE:
            return
        raise errors.OpenSkeloError(
            f"agents need Node {_MIN_NODE} or newer, and this is Node {version}",
            code="NODE_MISSING",
            hint=f"install nodejs {_MIN_NODE} or newer",
        )
    raise errors.OpenSkeloError(
        "Node and npm are not installed",
        code="NODE_MISSING",
        hint=f"install nodejs {_MIN_NODE} or newer with npm, or name a program of yours with `command`",
    )


async def node_version() -> str | None:
    """Return the version of Node on the PATH, None if there is none."""
    try:
        result = await time_limit.within(
            10_000, program.run(program.Program(argv=("node", "--version"), folder=Path()))
        )
    except (OSError, errors.AttemptFailed):
        return None
    return result.stdout.decode().strip().lstrip("v") or None


def _executable(target: Path, provider: str) -> Path:
    return target / "node_modules" / ".bin" / profiles.PROFILES[provider].program
