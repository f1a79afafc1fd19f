"""The settings of coding agents: the section `agents` of skelo.yaml after it was checked.

A block names one of them (`agent: {use: NAME, …}`) and may only narrow it. The result is pinned in the workflow of a
run as JSON (`encode`, `decode`), so that a later change of skelo.yaml does not reach a run. Secrets are references
(`${secret:NAME}`) in all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast, get_args

import msgspec

from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen

Provider = Literal["claude", "codex", "gemini", "custom"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
WorkspaceKind = Literal["worktree", "none"]
WORKSPACE_KINDS: tuple[WorkspaceKind, ...] = ("worktree", "none")
OnCrash = Literal["keep", "restore"]
Until = Literal["turn", "complete"]
Permissions = Literal["gated", "skip"]
CallKind = Literal["read", "edit", "execute", "fetch", "mcp", "other"]
CALL_KINDS: tuple[CallKind, ...] = ("read", "edit", "execute", "fetch", "mcp", "other")
Login = Literal["gateway", "own"]
SandboxKind = Literal["auto", "bubblewrap", "landlock", "none"]
#: From the weakest to the strongest: a block may only name a stronger one. `auto` is never `none`.
SANDBOX_KINDS: tuple[SandboxKind, ...] = ("none", "landlock", "auto", "bubblewrap")
#: Only the agent's model, nothing at all, or the model and these hosts.
Network = Literal["model", "none"] | tuple[str, ...]
#: What a node may take from its agent: to change code, to change documents, to run commands.
Withheld = Literal["code", "docs", "commands"]


@frozen
class WorkspaceSettings:
    """The workspace settings of an agent: the kind of folder, and the commands before and after its work."""

    #: None: a worktree in a git repository, else none.
    kind: WorkspaceKind | None = None
    #: A folder of the project.
    repository: str = "."
    #: The part of the repository in which the agent starts.
    folder: str = ""
    #: Files that git ignores and that the workspace needs, as globs.
    copy: tuple[str, ...] = ()
    #: Commands before the work, as argument vectors.
    setup: tuple[tuple[str, ...], ...] = ()
    #: Commands after the work, as argument vectors.
    teardown: tuple[tuple[str, ...], ...] = ()
    command_timeout_ms: int = 600_000
    #: The number of free ports that the workspace gets.
    ports: int = 0


@frozen
class CallRule:
    """A rule of the policy: which calls it is about. What it does not name, it does not limit.

    To be allowed, all paths of a call have to match, and its command may not go on with another one; to be asked about
    or denied, one path or one part of the command is enough.
    """

    kinds: tuple[CallKind, ...] = ()
    tools: tuple[str, ...] = ()
    #: Patterns of paths.
    paths: tuple[str, ...] = ()
    #: Patterns of commands.
    commands: tuple[str, ...] = ()
    #: The rule holds once the turn has cost more than this.
    over_usd: float | None = None


@frozen
class Policy:
    """The rules for the calls of an agent. Deny wins over ask, ask over allow."""

    allow: tuple[CallRule, ...] = ()
    ask: tuple[CallRule, ...] = ()
    deny: tuple[CallRule, ...] = ()


@frozen
class AgentPrices:
    """The price of a million tokens, for a model that the public list of prices does not have."""

    input_usd_per_mtok: float
    output_usd_per_mtok: float
    cached_input_usd_per_mtok: float | None = None
    cache_write_usd_per_mtok: float | None = None


@frozen
class AgentBudget:
    """The limits of one agent, beside those of the run; None is no limit. Money is in billionths of a dollar.

    A call is one request to the model, a turn all calls after one prompt.
    """

    max_nanousd_per_call: int | None = None
    max_nanousd_per_turn: int | None = None
    #: For all turns of a node in a run.
    max_nanousd: int | None = None
    max_tokens_per_turn: int | None = None
    #: For all turns of a node in a run.
    max_tokens: int | None = None
    max_requests_per_turn: int = 1000

    @property
    def has_usd_cap(self) -> bool:
        """True if it limits money, which needs a price."""
        return any(cap is not None for cap in (self.max_nanousd_per_call, self.max_nanousd_per_turn, self.max_nanousd))


@frozen
class AgentSettings:
    """One agent: its program, its model, its limits and its workspace."""

    name: str
    provider: Provider
    #: Empty: the program that `skelo agents install` has installed.
    command: tuple[str, ...] = ()
    model: str | None = None
    effort: str | None = None
    base_url: str | None = None
    #: A reference to a secret.
    api_key: str | None = None
    #: The values may be references to secrets.
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Texts by path below the home folder of a custom agent.
    home_files: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Bounds the start of the program.
    start_ms: int = 60_000
    #: Bounds the time without any sign of the program during a turn.
    idle_ms: int = 600_000
    #: Bounds a whole turn.
    wall_ms: int = 3_600_000
    #: A turn fails after this number of tool calls.
    max_calls: int = 500
    max_turns: int = 1
    until: Until = "turn"
    on_crash: OnCrash | None = None
    #: With `gated` a person is asked about calls that the `policy` does not allow; with `skip` they are allowed unless
    #: it denies them.
    permissions: Permissions = "gated"
    policy: Policy = field(default_factory=Policy)
    #: With `gateway` the program reaches its model through our gateway, which has the key and counts. With `own` it
    #: logs in by itself: then only what it reports is known, and not what it costs.
    login: Login = "gateway"
    prices: AgentPrices | None = None
    budget: AgentBudget = field(default_factory=AgentBudget)
    #: How its program is confined.
    sandbox: SandboxKind = "auto"
    #: What its program reaches.
    network: Network = "model"
    #: What the node does not let it do.
    withheld: tuple[Withheld, ...] = ()
    #: It works in the mode in which its program plans and changes nothing.
    plans_only: bool = False
    workspace: WorkspaceSettings = field(default_factory=WorkspaceSettings)


@frozen
class AgentsConfig:
    """All agents of a project, and how many of their programs may run at once, over all runs."""

    processes: int = 2
    by_name: Mapping[str, AgentSettings] = field(default_factory=dict[str, AgentSettings])


def encode(settings: AgentSettings) -> JsonObject:
    """Return the settings as JSON, for a pinned workflow."""
    return cast("JsonObject", msgspec.to_builtins(settings))


def decode(value: Json) -> AgentSettings:
    """Return the settings that `encode` has written."""
    return msgspec.convert(value, AgentSettings)


def pinned_in(config: JsonObject) -> AgentSettings | None:
    """Return the agent that is pinned in the config of a node, None if it has none."""
    pinned = config.get("pinned")
    agent = pinned.get("agent") if isinstance(pinned, Mapping) else None
    return None if agent is None else decode(agent)
