"""`skelo agents`: list the coding agents, open a session with one (`check`), or install its program (`install`)."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import cast

from openskelo import errors
from openskelo.agent_settings import AgentBudget, AgentSettings, Provider
from openskelo.agents import profiles, programs, sessions
from openskelo.agents.sandbox import sandbox
from openskelo.agents.server import session_server
from openskelo.agents.workspace import workspace
from openskelo.cli import exit_codes, output, project_context
from openskelo.kernel.json import JsonObject
from openskelo.project import Project
from openskelo.values import suggestions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "check", "install"), default="list", help="what to do")
    parser.add_argument("name", nargs="?", help="an agent of the project, or claude, codex or gemini")
    parser.epilog = (
        "`check` starts the program, shakes hands and opens a session; it asks no model and costs nothing. `install` "
        "puts a locked version of the program below the data dir, with npm.\n\n"
        "exit codes: 0 all right, 1 the agent cannot be used"
    )


def run(args: argparse.Namespace) -> int:
    project = project_context.from_args(args)
    if args.action == "list":
        return _list(project, as_json=args.json)
    if args.name is None:
        raise errors.InvalidInput(f"`skelo agents {args.action}` needs the name of an agent", code="USAGE")
    agent = _find(project, args.name)
    document = asyncio.run(_install(project, agent) if args.action == "install" else _check(project, agent))
    if args.json:
        output.document(document)
    elif args.action == "install":
        output.say(f"{agent.provider} {document['version']}: installed")
    else:
        _print_check(document)
    if document.get("ok", True):
        return exit_codes.COMPLETED
    return exit_codes.FAILED


def _agents(project: Project) -> dict[str, AgentSettings]:
    """Return the agents of the project; without any, one of each provider that can be installed."""
    if project.agents.by_name:
        return dict(project.agents.by_name)
    return {name: AgentSettings(name=name, provider=cast("Provider", name)) for name in programs.installable()}


def _find(project: Project, name: str) -> AgentSettings:
    agents = _agents(project)
    if name in agents:
        return agents[name]
    if name in programs.installable():
        return AgentSettings(name=name, provider=cast("Provider", name))
    hint = suggestions.did_you_mean(name, agents, otherwise=f"known: {', '.join(agents)}")
    raise errors.InvalidInput(f"there is no agent {name[:60]!r}", code="AGENT_UNKNOWN", hint=hint)


# -- list -------------------------------------------------------------------------------------------------------------


def _list(project: Project, *, as_json: bool) -> int:
    rows = [_row(project, agent) for agent in _agents(project).values()]
    if as_json:
        output.document({"agents": rows})
        return exit_codes.COMPLETED
    for row in rows:
        version = f" {row['version']}" if row["version"] else ""
        state = "installed" if row["installed"] else "not installed"
        model = f", model {row['model']}" if row["model"] else ""
        money = ", own log-in (USD unknown)" if row["login"] == "own" else ""
        place = f"workspace {row['workspace']}, {_describe_sandbox(row)}"
        output.say(f"{row['name']}  {row['provider']}{version}, {state}{model}, {place}{money}")
        for limit in cast("list[str]", row["limits"]):
            output.say(f"  {limit}")
        output.say(f"  {row['permissions']}: {_describe_asking(cast('JsonObject', row['gate']))}")
        offers = cast("JsonObject", row["offers"])
        if offers:
            output.say("  " + ", ".join(f"{name}: {word}" for name, word in offers.items()))
    if not project.agents.by_name:
        output.note("the project has no agents; declare one under `agents` in skelo.yaml")
    return exit_codes.COMPLETED


def _way_of_asking(agent: AgentSettings) -> JsonObject:
    """Return how the agent asks before its calls, and whether it asks about all that may change something."""
    profile = profiles.PROFILES[agent.provider]
    return {
        "way": "hook" if profile.has_hook else "protocol",
        "complete": profile.asks_before_changes,
        "changedArguments": profile.has_hook,
    }


def _describe_asking(way_of_asking: JsonObject) -> str:
    if way_of_asking["way"] == "hook":
        return "asks a hook before every call, and takes changed arguments"
    if way_of_asking["complete"]:
        return "asks before every change, and cannot take changed arguments"
    return "asks when its program chooses to, and cannot take changed arguments"


def _row(project: Project, agent: AgentSettings) -> JsonObject:
    try:
        command: tuple[str, ...] | None = programs.find(project.data_dir, agent)
    except errors.AttemptFailed:
        command = None
    is_locked = agent.provider in programs.installable() and not agent.command
    return {
        "name": agent.name,
        "provider": agent.provider,
        "installed": command is not None,
        "command": None if command is None else list(command),
        "version": programs.locked(agent.provider).version if is_locked else None,
        "protocol": "acp 1",
        "model": agent.model,
        "workspace": agent.workspace.kind or "worktree or none",
        "permissions": agent.permissions,
        "gate": _way_of_asking(agent),
        **_sandbox(agent),
        "login": agent.login,
        "budget": _budget(agent.budget),
        "offers": dict(profiles.PROFILES[agent.provider].offers),
    }


def _budget(budget: AgentBudget) -> JsonObject:
    """Return the caps as the project writes them; null is no cap."""
    return {
        "max_usd_per_call": _usd(budget.max_nanousd_per_call),
        "max_usd_per_turn": _usd(budget.max_nanousd_per_turn),
        "max_usd": _usd(budget.max_nanousd),
        "max_tokens_per_turn": budget.max_tokens_per_turn,
        "max_tokens": budget.max_tokens,
        "max_requests_per_turn": budget.max_requests_per_turn,
    }


def _usd(nanousd: int | None) -> float | None:
    return None if nanousd is None else nanousd / 1e9


def _sandbox(agent: AgentSettings) -> JsonObject:
    """Return how the agent is confined here, and what that does not prevent; or why it cannot be."""
    network = list(agent.network) if isinstance(agent.network, tuple) else agent.network
    try:
        chosen_sandbox = sandbox.choose_now(agent.sandbox)
    except errors.AttemptFailed as error:
        return {"sandbox": None, "limits": [], "problem": error.message, "hint": error.hint, "network": network}
    kind, limits = chosen_sandbox.kind, list(chosen_sandbox.limits)
    return {"sandbox": kind, "limits": limits, "problem": None, "hint": None, "network": network}


def _describe_sandbox(row: JsonObject) -> str:
    if row["sandbox"] is None:
        return f"sandbox not available: {row['problem']}"
    if row["sandbox"] == "none":
        return "no sandbox"
    return f"sandbox {row['sandbox']}"


# -- install and check ------------------------------------------------------------------------------------------------


async def _install(project: Project, agent: AgentSettings) -> JsonObject:
    if agent.command or agent.provider not in programs.installable():
        raise errors.InvalidInput(
            f"{agent.name} has a `command` of its own, which is the project's to install",
            code="AGENT_NOT_INSTALLED",
            hint="leave `command` out for the program that OpenSkelo installs",
        )
    package = programs.locked(agent.provider)
    output.note(f"installing {package.name} {package.version}")
    path = await programs.install(project.data_dir, agent.provider)
    return {"provider": agent.provider, "version": package.version, "path": str(path)}


async def _check(project: Project, agent: AgentSettings) -> JsonObject:
    """Return the description that a session of the agent sends, or the reason why none could be opened."""
    server = session_server.SessionServer()
    try:
        programs.check_extra()
        with tempfile.TemporaryDirectory(prefix="skelo-check-", ignore_cleanup_errors=True) as folder:
            place = _scratch(Path(folder))
            schema: JsonObject = {"type": "object", "properties": {}}
            request = sessions.SessionRequest(agent=agent, place=place, result=sessions.ResultTool(schema))
            session = await sessions.open_session(project, server, request)
            try:
                info = session.client.info
                assert info is not None  # noqa: S101 -- the session is open
                return {
                    "name": agent.name,
                    "ok": True,
                    "sandbox": session.sandbox.kind,
                    "agent": info.name,
                    "version": info.version,
                    "sessionId": session.id,
                    "load": info.can_load,
                    "resume": info.can_resume,
                    "tools": info.has_http_tools,
                }
            finally:
                await session.close()
    except errors.AttemptFailed as error:
        return {"name": agent.name, "ok": False, "code": error.code, "message": error.message, "hint": error.hint}
    finally:
        await server.close()


def _scratch(folder: Path) -> workspace.Workspace:
    for name in ("tree", "home"):
        (folder / name).mkdir()
    origin = workspace.Origin(run_id="", node="", kind="none", repository="", folder="", base="", branch="")
    return workspace.Workspace(folder, origin)


def _print_check(document: JsonObject) -> None:
    if document["ok"]:
        abilities = [word for word in ("load", "resume", "tools") if document[word]]
        place = "" if document["sandbox"] == "none" else f" in a sandbox ({document['sandbox']})"
        output.say(f"{document['name']}: {document['agent']} {document['version']} opened a session{place}")
        output.say(f"  it offers {', '.join(abilities) or 'nothing optional'}")
        return
    output.say(f"{document['name']}: {document['code']} {document['message']}")
    if document["hint"]:
        output.note(str(document["hint"]))
