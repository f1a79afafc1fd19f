"""Provider sessions that live between turns, and the limit on agent processes.

A session is one agent program with one conversation. It stays open for a while after a turn, so that a repair, a
bounce or the next turn continues the same conversation at once. An idle session is closed when another node needs its
place, after `IDLE_SECONDS`, or with the engine; it can be reopened by its id if the agent knows how.

    use(key) -> the idle session of this node
             -> a new one, while there are fewer than `limit` processes
             -> a new one in the place of the session that has been idle for longest
             -> else the caller waits; runs are served in turn
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeAlias
from urllib.parse import urlsplit

from openskelo import agent_settings, errors, files
from openskelo.agents import profiles, programs
from openskelo.agents.acp import acp_client, process
from openskelo.agents.gateway import gateway
from openskelo.agents.permissions import rulings
from openskelo.agents.sandbox import egress_proxy, network_hosts, sandbox
from openskelo.agents.server import session_server, toolbox
from openskelo.agents.workspace import workspace, workspace_access
from openskelo.handlers import file_access, secrets
from openskelo.kernel.json import JsonObject
from openskelo.programs import time_limit
from openskelo.project import Project
from openskelo.structs import frozen, replace

#: How long a session stays open without a turn.
IDLE_SECONDS = 120.0
_CLOSE_SECONDS = 10.0
#: Run and node.
Key: TypeAlias = tuple[str, str]


class ResultTool:
    """The tool `complete`: takes the result of a turn, while a turn is under way."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._is_open = False
        self.result: JsonObject | None = None

    def begin_turn(self) -> None:
        """Take a result from now on; an earlier one is dropped."""
        self._is_open, self.result = True, None

    def end_turn(self) -> None:
        """Take no result any more."""
        self._is_open = False

    def as_tool(self) -> toolbox.Tool:
        """Return the tool for the agent."""
        return toolbox.Tool(
            name="complete",
            description="Hand in the result of your work. Call it once, when all is done, and then end your turn.",
            schema=self._schema,
            call=self._take,
        )

    async def _take(self, arguments: JsonObject) -> str:
        if not self._is_open:
            raise toolbox.ToolFailed("no turn is under way")
        if self.result is not None:
            raise toolbox.ToolFailed("the result of this turn is recorded already, and stays as it is: end your turn")
        self.result = arguments
        return "The result is recorded. End your turn now."


@frozen
class SessionRequest:
    """The settings with which a session is opened."""

    agent: agent_settings.AgentSettings
    place: workspace.Workspace
    result: ResultTool
    #: The id of an earlier session that it should continue, if it can.
    resume: str | None = None
    #: It is on record that the agent has given a result in that session: so it has got its prompt.
    has_answered: bool = False
    #: It may change nothing, and reach nothing but its model.
    is_planning: bool = False
    #: What it is given beside the tools `complete` and `ask_human`.
    tools: tuple[toolbox.Tool, ...] = ()


class _Connection:
    """The endpoints that a session can reach while it is open: our tools, its permissions, its model, and other hosts.

    `gateway` is the way to its model, None if the agent logs in by itself. The proxy leads to hosts of the project.
    A confined program without a network reaches both through unix sockets, by the loopback port of the relay inside.
    """

    def __init__(
        self,
        server: session_server.SessionServer,
        request: SessionRequest,
        model: gateway.Gateway | None,
        hosts: Sequence[str],
    ) -> None:
        self._server = server
        self.gateway = model
        self.permissions = rulings.SessionPermissions(
            request.agent, request.place.folder, is_planning=request.is_planning
        )
        tools = (request.result.as_tool(), rulings.ask_human_tool(self.permissions), *request.tools)
        self._tools = toolbox.Toolbox(tools)
        self._egress = egress_proxy.EgressProxy(hosts) if hosts else None
        self._folder: Path | None = None
        self.address: session_server.Address
        self.sockets: dict[int, Path] = {}
        self.ports: tuple[int, ...] = ()
        self.proxy_url: str | None = None

    @classmethod
    async def open(
        cls,
        project: Project,
        server: session_server.SessionServer,
        request: SessionRequest,
        chosen_sandbox: sandbox.Sandbox,
    ) -> _Connection:
        """Return a new connection for a program in this sandbox."""
        hosts = () if chosen_sandbox.kind == "none" else _hosts(request)
        connection = cls(server, request, _make_gateway(project, request.agent), hosts)
        await connection._tools.start()
        handlers = {"tools": connection._tools.handle, "hook": connection.permissions.handle_hook}
        if connection.gateway is not None and request.agent.network != "none":
            handlers["model"] = connection.gateway.handle
        port = sandbox.relay_port(chosen_sandbox)
        connection.address = await server.open(handlers, relay_port=port)
        if port is None:
            await connection._open_ports(hosts)
        else:
            await connection._open_sockets(port, hosts)
        return connection

    @property
    def temporary(self) -> Path:
        """The folder for temporary files of a program that does not have a /tmp of its own."""
        assert self._folder is not None  # noqa: S101 -- made by `open`
        return self._folder

    async def _make_folder(self) -> Path:
        self._folder = Path(tempfile.mkdtemp(prefix="s", dir=(await self._server.socket_path()).parent))
        return self._folder

    async def _open_ports(self, hosts: Sequence[str]) -> None:
        await self._make_folder()
        self.ports = (urlsplit(self.address.root).port or 0, *network_hosts.forwarded_ports(hosts))
        if self._egress is not None:
            port = await self._egress.listen()
            self.ports = (*self.ports, port)
            self.proxy_url = self._egress.url(port)

    async def _open_sockets(self, port: int, hosts: Sequence[str]) -> None:
        folder = await self._make_folder()
        self.sockets[port] = await self._server.socket_path()
        if self._egress is None:
            return
        self.sockets[network_hosts.PROXY_PORT] = folder / "proxy.sock"
        await self._egress.listen_at(folder / "proxy.sock")
        self.proxy_url = self._egress.url(network_hosts.PROXY_PORT)
        for forwarded_port in network_hosts.forwarded_ports(hosts):
            self.sockets[forwarded_port] = folder / f"{forwarded_port}.sock"
            await self._egress.forward(self.sockets[forwarded_port], forwarded_port)

    def take_denied(self) -> list[str]:
        """Return the connections that were refused since the last call, as lines."""
        return [] if self._egress is None else self._egress.take_denied()

    async def close(self) -> None:
        """Close the address: its token opens nothing from now on."""
        self._server.remove(self.address)
        if self._egress is not None:
            await self._egress.close()
        await self._tools.stop()
        if self.gateway is not None:
            await self.gateway.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


class Session:
    """One running agent program with an open conversation."""

    def __init__(
        self,
        agent: process.AgentProcess,
        client: acp_client.AcpClient,
        connection: _Connection,
        request: SessionRequest,
        chosen_sandbox: sandbox.Sandbox,
    ) -> None:
        self.permissions = connection.permissions
        self.agent = request.agent
        self.process = agent
        self.client = client
        self._connection = connection
        self.gateway = connection.gateway
        self.result = request.result
        self.is_planning = request.is_planning
        self.sandbox = chosen_sandbox
        #: The repository's own settings that the program may obey: no setting of ours prevents it, and no sandbox.
        self.obeyed_settings: tuple[str, ...] = ()
        self.id = ""
        self.is_continued = False  # the agent remembers an earlier turn, or what it did before it was cut
        self.knows_task = False  # the agent has had the full prompt in this conversation
        self.is_broken = False  # it cannot take another turn

    def take_denied(self) -> list[str]:
        """Return the connections that were refused since the last call, as lines for the log of the attempt."""
        return self._connection.take_denied()

    async def close(self) -> None:
        """End the program and everything it has started, and then what it was connected to."""
        try:
            await self.client.close()
            await self.process.end()
        finally:
            await self._connection.close()


async def open_session(project: Project, server: session_server.SessionServer, request: SessionRequest) -> Session:
    """Start the program and open a conversation.

    Raise AttemptFailed AGENT_…, SANDBOX_…, PLANNING_MODE; TIMEOUT after the time to start.
    """
    agent = request.agent
    profile = profiles.PROFILES[agent.provider]
    chosen_sandbox = await sandbox.choose(agent.sandbox)
    if request.is_planning and chosen_sandbox.kind == "none":
        raise errors.AttemptFailed(
            f"{agent.name} is not confined, so nothing keeps it from changing files while the run is in PLANNING mode",
            code="PLANNING_MODE",
            hint="let it have a sandbox: `sandbox: auto`",
            retryable=False,
        )
    check_permissions(agent, chosen_sandbox)
    connection = await _Connection.open(project, server, request, chosen_sandbox)
    session: Session | None = None
    try:
        agent_process = await _start_program(project, request, chosen_sandbox, connection)
        session = Session(agent_process, acp_client.AcpClient(agent_process), connection, request, chosen_sandbox)
        if chosen_sandbox.kind != "bubblewrap":  # the only one that hides files of the workspace
            session.obeyed_settings = workspace_access.obeyed_settings(request.place, profile.masked)
        tools_command = sandbox.tools_argv(chosen_sandbox, connection.address.url("tools"))
        opening = _open_conversation(session.client, profile, request, connection.address, tools_command)
        session.id, session.is_continued = await time_limit.within(agent.start_ms, opening)
        session.knows_task = session.is_continued and request.has_answered
    except BaseException as error:
        if session is None:
            await connection.close()
            raise
        await session.close()
        if isinstance(error, errors.AttemptFailed) and error.code == "TIMEOUT":
            raise errors.AttemptFailed(
                f"{agent.name} did not open a session within {agent.start_ms} ms",
                code="AGENT_NOT_STARTED",
                hint=session.process.stderr_tail()[-500:] or None,
            ) from error
        raise
    return session


def check_permissions(agent: agent_settings.AgentSettings, chosen_sandbox: sandbox.Sandbox) -> None:
    """Raise AttemptFailed AGENT_GATE if a gated agent could make calls unasked that nothing confines."""
    if (
        agent.permissions == "skip"
        or chosen_sandbox.kind != "none"
        or profiles.PROFILES[agent.provider].asks_before_changes
    ):
        return
    raise errors.AttemptFailed(
        f"{agent.name} is gated, but its program may make calls without asking, and it is not confined",
        code="AGENT_GATE",
        hint="let it have a sandbox (`sandbox: auto`), or write `permissions: skip`",
        retryable=False,
    )


async def _start_program(
    project: Project, request: SessionRequest, chosen_sandbox: sandbox.Sandbox, connection: _Connection
) -> process.AgentProcess:
    """Write the settings of the agent, and start its program in its sandbox."""
    agent, place = request.agent, request.place
    profile = profiles.PROFILES[agent.provider]
    home = place.home
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    launch = _make_launch(request, connection, chosen_sandbox, sandbox.inner_home(chosen_sandbox, home))
    argv = (*programs.find(project.data_dir, agent), *_model_arguments(agent, profile))
    for folder in (project.root, request.place.folder):
        write_roots = file_access.writable_roots(project.root, project.write_roots)
        if (planted_in := file_access.find_planted(argv, folder, write_roots)) is not None:
            raise file_access.code_in_write_root(planted_in)
    home_files = profile.home_files(launch)
    _write_home(home, home_files)
    environment = {
        **_base_environment(launch.home),
        **_proxy_environment(connection.proxy_url),
        **place.environment(),
        **profile.environment(launch),
        **{name: secrets.resolve(reference, project.secrets) for name, reference in agent.env.items()},
    }
    access = await workspace_access.find(project, place, home, profile.masked)
    access = replace(
        access,
        temporary=connection.temporary,
        is_read_only=request.is_planning,
        kept=() if profile.changes_settings else tuple(home_files),
        sockets=connection.sockets,
        ports=(*access.ports, *connection.ports),
    )
    confinement = sandbox.confine(chosen_sandbox, access, argv, environment)
    return await process.AgentProcess.start(
        confinement.argv,
        place.folder,
        confinement.environment,
        place.place / "stderr.log",
        ignores_sigterm=confinement.ignores_sigterm,
    )


def _make_gateway(project: Project, agent: agent_settings.AgentSettings) -> gateway.Gateway | None:
    """Return the way to the model, with the real key; None if the agent logs in by itself."""
    if agent.login == "own":
        return None
    key = None if agent.api_key is None else secrets.resolve(agent.api_key, project.secrets)
    return gateway.Gateway(agent, key)


def _make_launch(
    request: SessionRequest, connection: _Connection, chosen_sandbox: sandbox.Sandbox, home: Path
) -> profiles.Launch:
    """Return what the program is started with: of its model it gets the gateway's address, and a token for a key."""
    address = connection.address
    launch = profiles.Launch(
        settings=request.agent,
        home=home,
        hook_url=address.url("hook"),
        hook_token=address.token,
        hook_command=sandbox.hook_argv(chosen_sandbox, address.url("hook")),
    )
    if connection.gateway is None:
        return launch
    return replace(launch, model_url=address.url("model"), key=address.token)


def _hosts(request: SessionRequest) -> tuple[str, ...]:
    """Return the hosts that the agent reaches beside us: those of the project, and of its model if it logs in there."""
    agent = request.agent
    if agent.network == "none":
        return ()
    named_hosts = agent.network if isinstance(agent.network, tuple) and not request.is_planning else ()
    return (*named_hosts, *(profiles.PROFILES[agent.provider].hosts if agent.login == "own" else ()))


def _proxy_environment(url: str | None) -> dict[str, str]:
    """Return the variables by which programs find a proxy; Node looks at them only if it is told to."""
    if url is None:
        return {}
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    local = "127.0.0.1,localhost,::1"
    return {**dict.fromkeys(names, url), "NO_PROXY": local, "no_proxy": local, "NODE_USE_ENV_PROXY": "1"}


async def _open_conversation(
    client: acp_client.AcpClient,
    profile: profiles.Profile,
    request: SessionRequest,
    address: session_server.Address,
    tools_command: Sequence[str],
) -> tuple[str, bool]:
    """Return the id of the conversation, and whether it continues an earlier one."""
    info = await client.initialize()
    has_key = request.agent.login == "gateway"
    if has_key and profile.auth is not None and profile.auth in info.auth_methods:
        await client.authenticate(profile.auth)
    servers = [toolbox.as_acp_server(address, tools_command, has_http=info.has_http_tools)]
    folder = str(request.place.folder)
    session_id, is_continued = request.resume, False
    if session_id is not None:
        is_continued = await client.reopen_session(session_id, folder, servers, profile.session)
    if session_id is None or not is_continued:
        session_id = await client.new_session(folder, servers, profile.session)
    if profile.trusts_hooks_by is not None:
        await client.trust_hooks(profile.trusts_hooks_by, folder)
    if request.agent.plans_only:
        with contextlib.suppress(errors.AttemptFailed):  # the policy denies its changes in any mode
            await client.set_mode(session_id, profile.plan_mode)
    elif profile.mode is not None:
        await client.set_mode(session_id, profile.mode)
    if request.agent.model is not None and profile.sets_model:
        await client.set_model(session_id, request.agent.model)
    return session_id, is_continued


def _model_arguments(agent: agent_settings.AgentSettings, profile: profiles.Profile) -> tuple[str, ...]:
    """Return what follows the program: a `command` of the project is complete by itself."""
    return () if agent.command else profile.arguments


def _base_environment(home: Path) -> dict[str, str]:
    """Return what every agent gets: enough to find its interpreter, and nothing else of our environment."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }


def _write_home(home: Path, texts: Mapping[str, str]) -> None:
    """Write files below the home folder. Links that the agent may have put there are replaced, never followed."""
    for name, text in texts.items():
        folder = home
        for part in PurePosixPath(name).parent.parts:
            folder /= part
            if folder.is_symlink() or folder.is_file():
                folder.unlink()
            folder.mkdir(exist_ok=True)
        with files.atomic_file(home / name, sync=False) as file:
            file.write(text.encode())


def _continues(session: Session, request: SessionRequest) -> bool:
    """True if an open session is the one that is wanted: the same conversation, with the same settings and rights."""
    is_same = session.agent == request.agent and session.is_planning == request.is_planning
    return is_same and session.id == request.resume


class SessionPool:
    """The sessions of one engine."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._limit = project.agents.processes
        self._server = session_server.SessionServer()
        self._idle: dict[Key, Session] = {}  # the one that has been idle for longest is first
        self._reapers: dict[Key, asyncio.TimerHandle] = {}
        self._busy = 0
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}  # by run: runs are served in turn
        self._closing: set[asyncio.Task[None]] = set()
        self._locks: weakref.WeakValueDictionary[Key, asyncio.Lock] = weakref.WeakValueDictionary()

    def lock(self, key: Key) -> asyncio.Lock:
        """Return the lock of a node: a turn that is being stopped keeps the next one from its workspace and session."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    @contextlib.asynccontextmanager
    async def use(self, key: Key, request: SessionRequest) -> AsyncGenerator[Session]:
        """Yield the session of this node, and keep it for the next turn unless it is broken."""
        await self._take_place(key[0])
        session: Session | None = None
        try:
            session = self._take_idle(key)
            if session is not None and not _continues(session, request):
                await session.close()
                session = None
            if session is None:
                await self._close_surplus()
                session = await open_session(self._project, self._server, request)
            yield session
        except asyncio.CancelledError:
            if session is not None:  # an agent that has stopped its turn when asked to can take another
                session.is_broken = session.client.has_open_turn
            raise
        except BaseException:
            if session is not None:
                session.is_broken = True
            raise
        finally:
            self._busy -= 1
            if session is not None:
                await self._put_back(key, session)
            self._wake_next()

    async def close(self) -> None:
        """End all programs."""
        for key in tuple(self._idle):
            self._close_idle(key)
        if self._closing:
            await asyncio.wait(self._closing, timeout=_CLOSE_SECONDS)
        await self._server.close()

    async def forget(self, run_id: str) -> None:
        """Close the idle sessions of a run."""
        for key in tuple(key for key in self._idle if key[0] == run_id):
            self._close_idle(key)

    def _take_idle(self, key: Key) -> Session | None:
        session = self._idle.pop(key, None)
        if session is None:
            return None
        self._reapers.pop(key).cancel()
        if session.process.is_running:
            return session
        self._close_later(session)
        return None

    async def _put_back(self, key: Key, session: Session) -> None:
        if session.is_broken or not session.process.is_running:
            await session.close()
            return
        self._idle[key] = session
        self._reapers[key] = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._close_idle, key)

    async def _take_place(self, run_id: str) -> None:
        """Wait until fewer than `limit` turns are under way."""
        while self._busy >= self._limit:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(run_id, []).append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if not waiter.cancelled():
                    self._wake_next()  # this caller was woken and does not need the place any more
                raise
        self._busy += 1

    def _wake_next(self) -> None:
        """Wake the first caller of the run whose turn it is, and put that run behind the others."""
        for run_id in tuple(self._waiting):
            waiters = [waiter for waiter in self._waiting.pop(run_id) if not waiter.done()]  # not those cancelled
            if waiters:
                waiters.pop(0).set_result(None)
                if waiters:
                    self._waiting[run_id] = waiters
                return

    async def _close_surplus(self) -> None:
        """Close idle sessions while there would be more programs than the limit allows."""
        while self._idle and self._busy + len(self._idle) > self._limit:
            self._close_idle(next(iter(self._idle)))

    def _close_idle(self, key: Key) -> None:
        session = self._idle.pop(key)
        self._reapers.pop(key).cancel()
        self._close_later(session)

    def _close_later(self, session: Session) -> None:
        task = asyncio.create_task(session.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
