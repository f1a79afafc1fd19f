"""The sandbox of an agent: what its program can reach, and by which means of the system it is held there.

    bubblewrap    namespaces of its own: it sees its workspace, its home, its program and the system's, and nothing
                  else; no other processes, no network. The boundary that OpenSkelo vouches for.
    landlock      rules of the kernel on files and ports, where bubblewrap cannot be had. It has gaps, which are named.
    none          not confined. Only if the project says so.

`auto` takes the first of bubblewrap and Landlock that works here, and never `none`: that has to be written. Whether
one works is found out by running it once.

Everything that the program is to reach is an `Access`. The one way out of a sandbox without a network is the unix
socket of our server (`session_server`), to which a relay inside (`inside_sandbox`) carries connections.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, assert_never

from openskelo import agent_settings, errors
from openskelo.agents.sandbox import bubblewrap, inside_sandbox, landlock, network_hosts, program_paths
from openskelo.agents.sandbox.sandbox_access import Access, Confined
from openskelo.handlers import blocking_call
from openskelo.kernel.json import JsonObject
from openskelo.structs import frozen

Kind = Literal["bubblewrap", "landlock", "none"]
_PROBE_SECONDS = 10.0
_UNCONFINED = "it can read and write every file of this user, and use the network"
INSTALL = "install bubblewrap (Debian, Ubuntu, Fedora: the package `bubblewrap`)"
_NONE_HINT = "or write `sandbox: none`, which lets the agent do what you may do"


@frozen
class Sandbox:
    """The way in which one program is confined, and what it does not prevent, in sentences."""

    kind: Kind
    limits: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        """Return the sandbox for the record and the command line."""
        return {"kind": self.kind, "limits": list(self.limits)}


NONE = Sandbox(kind="none", limits=(_UNCONFINED,))


@frozen
class Probe:
    """The result of running a kind once: the sandbox, or the reason why it does not work here."""

    sandbox: Sandbox | None
    why: str = ""


async def choose(wanted: agent_settings.SandboxKind) -> Sandbox:
    """Return the sandbox that `wanted` names; raise AttemptFailed SANDBOX_UNAVAILABLE if it does not work here."""
    if wanted == "none":
        return NONE
    return await blocking_call.run(lambda: choose_now(wanted))


def choose_now(wanted: agent_settings.SandboxKind) -> Sandbox:
    """Return the same as `choose`; the first call runs programs for a few milliseconds."""
    if wanted == "none":
        return NONE
    kinds: tuple[Kind, ...] = ("bubblewrap", "landlock") if wanted == "auto" else (wanted,)
    reasons: list[str] = []
    for kind in kinds:
        probe_result = probe(kind)
        if probe_result.sandbox is not None:
            return probe_result.sandbox
        reasons.append(f"{kind}: {probe_result.why}")
    raise errors.AttemptFailed(
        f"the agent cannot be confined here: {'; '.join(reasons)}",
        code="SANDBOX_UNAVAILABLE",
        hint=f"{INSTALL}, {_NONE_HINT}",
        retryable=False,
    )


@functools.cache
def probe(kind: Kind) -> Probe:
    """Return whether this kind works here, found out by running it. The answer holds for this process."""
    match kind:
        case "bubblewrap":
            return _probe_bubblewrap()
        case "landlock":
            return _probe_landlock()
        case "none":
            return Probe(sandbox=NONE)
        case _:
            assert_never(kind)


def _probe_bubblewrap() -> Probe:
    if sys.platform != "linux":
        return Probe(sandbox=None, why="it exists on Linux only")
    program = shutil.which("bwrap")
    if program is None:
        return Probe(sandbox=None, why="the program bwrap is not installed")
    why = ""
    for options in bubblewrap.OPTIONS:
        why = _try((program, *options, *bubblewrap.system_mounts(), "--", "/bin/sh", "-c", ":"))
        if not why:
            return Probe(sandbox=Sandbox(kind="bubblewrap", options=(program, *options)))
    return Probe(sandbox=None, why=why)


def _probe_landlock() -> Probe:
    if sys.platform != "linux":
        return Probe(sandbox=None, why="it exists on Linux only")
    version = inside_sandbox.landlock_version()
    if version == 0:
        return Probe(sandbox=None, why="this kernel does not have it")
    rules = landlock.encode(read=program_paths.SYSTEM, write=(), ports=())
    why = _try((sys.executable, "-I", "-S", inside_sandbox.__file__, "landlock", rules, "--", "/bin/sh", "-c", ":"))
    if why:
        return Probe(sandbox=None, why=why)
    return Probe(sandbox=Sandbox(kind="landlock", limits=landlock.limits(version)))


def _try(argv: Sequence[str]) -> str:
    """Return why the command fails, empty if it ends well."""
    try:
        result = subprocess.run(  # noqa: S603 -- our own words
            argv, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if result.returncode == 0:
        return ""
    lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {result.returncode}"


def inner_home(sandbox: Sandbox, home: Path) -> Path:
    """Return the home folder as the program sees it."""
    return bubblewrap.HOME if sandbox.kind == "bubblewrap" else home


def relay_port(sandbox: Sandbox) -> int | None:
    """Return the port on which the relay inside listens, None if the program has the machine's own loopback."""
    return network_hosts.RELAY_PORT if sandbox.kind == "bubblewrap" else None


def hook_argv(sandbox: Sandbox, url: str) -> tuple[str, ...]:
    """Return the command by which an agent asks at a hook: it posts its input to `url`, and prints the answer."""
    return (*_inside_argv(sandbox), "hook", url)


def tools_argv(sandbox: Sandbox, url: str) -> tuple[str, ...]:
    """Return the command of an MCP server with pipes: it posts each message to `url`, and prints the answers."""
    return (*_inside_argv(sandbox), "tools", url)


def _inside_argv(sandbox: Sandbox) -> tuple[str, ...]:
    program = str(bubblewrap.INSIDE) if sandbox.kind == "bubblewrap" else inside_sandbox.__file__
    return (sys.executable, "-I", "-S", program)


def confine(sandbox: Sandbox, access: Access, argv: Sequence[str], environment: Mapping[str, str]) -> Confined:
    """Return how the program is started; raise AttemptFailed AGENT_NOT_STARTED if it is not there."""
    search = environment["PATH"]
    program = program_paths.find(argv[0], access.folder, search)
    if program is None:
        raise errors.AttemptFailed(
            f"{argv[0]} cannot be started: No such file or directory",
            code="AGENT_NOT_STARTED",
            hint="correct `command` in skelo.yaml",
            retryable=False,
        )
    whole = (str(program), *argv[1:])
    match sandbox.kind:
        case "bubblewrap":
            return bubblewrap.confine(sandbox.options, access, whole, environment)
        case "landlock":
            return landlock.confine(access, whole, environment)
        case "none":
            return Confined(argv=tuple(argv), environment=environment)
        case _:
            assert_never(sandbox.kind)
