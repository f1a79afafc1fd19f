"""The coding agents of a project: `agents` in skelo.yaml, and what a block says about one of them.

    agents:
      processes: 2                        the most programs at once
      fixer:
        provider: claude                  claude, codex, gemini or custom
        permissions: gated                a person is asked about calls that the policy does not allow
        policy: {allow: [{kind: execute, commands: ["npm test*"]}], deny: [{paths: ["**/.env"]}]}
        model: claude-sonnet-4-5
        api_key: ${secret:ANTHROPIC}
        sandbox: bubblewrap               auto, bubblewrap, landlock or none
        network: [example.org]            model, none, or the model and these hosts
        workspace: {kind: worktree, setup: [[npm, ci]]}

A block names an agent (`agent: fixer`, or `agent: {use: fixer, …}`) and may only narrow it: shorter deadlines, fewer
calls and turns, another part of the repository, a stronger sandbox, less of the network. What counts for a run is
pinned with the block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import cast

from openskelo.agent_settings import (
    CALL_KINDS,
    PROVIDERS,
    SANDBOX_KINDS,
    WORKSPACE_KINDS,
    AgentBudget,
    AgentPrices,
    AgentsConfig,
    AgentSettings,
    CallKind,
    CallRule,
    Login,
    Network,
    OnCrash,
    Permissions,
    Policy,
    Provider,
    SandboxKind,
    Until,
    WorkspaceKind,
    WorkspaceSettings,
)
from openskelo.structs import replace
from openskelo.workflows.blocks import handlers, limits
from openskelo.workflows.text import cursor, problems

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: A variable with such a name holds a secret, which must not stand in a file.
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{(env|secret):[A-Za-z_][A-Za-z0-9_.-]*\}\Z")
_AGENT_KEYS = frozenset(
    {"provider", "command", "model", "effort", "base_url", "api_key", "env", "permissions", "start_ms", "idle_ms"}
    | {"wall_ms", "max_calls", "max_turns", "until", "on_crash", "workspace", "policy", "login", "prices", "budget"}
    | {"sandbox", "network"}
)
_CUSTOM_KEYS = _AGENT_KEYS | {"home_files"}
_BLOCK_KEYS = frozenset(
    {"use", "idle_ms", "wall_ms", "max_calls", "max_turns", "until", "folder", "budget", "sandbox", "network"}
)
_PRICES = ("input_usd_per_mtok", "output_usd_per_mtok")
_CACHE_PRICES = ("cached_input_usd_per_mtok", "cache_write_usd_per_mtok")
#: The caps of `budget` by the author's name: the field that keeps it.
_USD_CAPS = {
    "max_usd_per_call": "max_nanousd_per_call",
    "max_usd_per_turn": "max_nanousd_per_turn",
    "max_usd": "max_nanousd",
}
_COUNT_CAPS = ("max_tokens_per_turn", "max_tokens", "max_requests_per_turn")
_BUDGET_KEYS = frozenset({*_USD_CAPS, *_COUNT_CAPS})
_RAISE_HINT = "raise it in skelo.yaml"
_MAX_USD = 1_000_000
_MAX_COUNT = 2**53
_WORKSPACE_KEYS = frozenset(
    {"kind", "repository", "folder", "copy", "setup", "teardown", "command_timeout_ms", "ports"}
)
_RULE_KEYS = frozenset({"kind", "tools", "paths", "commands", "over_usd"})
_DAY_MS = 86_400_000


def read(section: cursor.Cursor | None, folders: handlers.Folders) -> AgentsConfig:
    """Return the agents of the project; Problems are reported."""
    fields = None if section is None else section.fields()
    if fields is None:
        return AgentsConfig()
    agents: dict[str, AgentSettings] = {}
    for entry in fields:
        name = str(entry.path[-1])
        if name == "processes":
            continue
        if not _NAME.match(name):
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot be the name of an agent")
            continue
        agent = _read_agent(name, entry)
        if agent is not None:
            handlers.check_program(entry, agent.command, folders)
            agents[name] = agent
    return AgentsConfig(processes=fields.integer("processes", AgentsConfig().processes, 1, 64), by_name=agents)


def _read_agent(name: str, entry: cursor.Cursor) -> AgentSettings | None:
    is_custom = isinstance(entry.value, Mapping) and entry.value.get("provider") == "custom"
    fields = entry.fields(_CUSTOM_KEYS if is_custom else _AGENT_KEYS)
    place = None if fields is None else fields.need("provider")
    if fields is None:
        return None
    provider = None if place is None else place.choice(PROVIDERS)
    command = fields.texts("command")
    if provider == "custom" and not command:
        fields.missing("command", hint="a custom agent is a program that speaks ACP: command: [opencode, acp]")
    # After a Problem any provider will do: a block that names this agent is not to blame.
    plain = AgentSettings(name=name, provider=cast("Provider", provider or "custom"))
    agent = replace(
        plain,
        command=command,
        model=_text(fields, "model"),
        effort=_text(fields, "effort"),
        base_url=_text(fields, "base_url"),
        api_key=_reference(fields.get("api_key")),
        env=_read_env(fields.get("env")),
        home_files=_read_home_files(fields.get("home_files")),
        start_ms=fields.integer("start_ms", plain.start_ms, 100, _DAY_MS),
        idle_ms=fields.integer("idle_ms", plain.idle_ms, 100, _DAY_MS),
        wall_ms=fields.integer("wall_ms", plain.wall_ms, 100, 7 * _DAY_MS),
        max_calls=fields.integer("max_calls", plain.max_calls, 1, 100_000),
        max_turns=fields.integer("max_turns", plain.max_turns, 1, 1000),
        until=cast("Until", fields.choice("until", ("turn", "complete"), plain.until)),
        on_crash=cast("OnCrash | None", _choice(fields, "on_crash", ("keep", "restore"))),
        permissions=cast("Permissions", fields.choice("permissions", ("gated", "skip"), plain.permissions)),
        policy=_read_policy(fields.get("policy")),
        login=cast("Login", fields.choice("login", ("gateway", "own"), plain.login)),
        prices=_read_prices(fields.get("prices")),
        budget=_read_budget(fields.get("budget"), plain.budget, narrows=False),
        sandbox=cast("SandboxKind", fields.choice("sandbox", SANDBOX_KINDS, plain.sandbox)),
        network=_read_network(fields),
        workspace=_read_workspace(fields.get("workspace")),
    )
    if agent.login == "own":
        _check_own_login(fields)
        return agent
    return _check_price(agent, fields.get("budget"))


def _check_price(agent: AgentSettings, section: cursor.Cursor | None) -> AgentSettings:
    """Return the agent; a Problem if it has a cap in USD and the price of its model is unknown."""
    if section is None or not agent.budget.has_usd_cap or is_priced(agent):
        return agent
    hint = "name its `model`, or give it `prices` in skelo.yaml"
    section.problem("PRICE_UNKNOWN", f"the price of the model of {agent.name} is unknown", hint=hint)
    return agent


def is_priced(agent: AgentSettings) -> bool:
    """True if the price of the agent's model is known."""
    from openskelo.agents.gateway import call_prices  # noqa: PLC0415 -- the list of prices is large

    return call_prices.is_known(agent)


def _check_own_login(fields: cursor.Fields) -> None:
    """Report what an agent with its own log-in cannot have: nothing of ours stands between it and its model."""
    for key in ("api_key", "base_url", "prices"):  # a block has none of them
        if (place := fields.get(key)) is not None:
            hint = "give the program its log-in by `env`, or leave out `login: own`"
            place.problem("CONFLICT", f"an agent with its own log-in has no `{key}`", hint=hint)
    section = fields.get("budget")
    caps = None if section is None else section.fields(_BUDGET_KEYS)
    for key in (*_USD_CAPS, "max_requests_per_turn"):
        if caps is not None and (place := caps.get(key)) is not None:
            hint = "cap tokens, turns and time: `max_tokens`, `max_turns`, `wall_ms`"
            place.problem("AGENT_UNCOUNTED", f"`{key}` cannot be held for an agent with its own log-in", hint=hint)


def _read_prices(section: cursor.Cursor | None) -> AgentPrices | None:
    fields = None if section is None else section.fields(frozenset({*_PRICES, *_CACHE_PRICES}))
    if fields is None:
        return None
    places = [fields.need(name) for name in _PRICES] + [fields.get(name) for name in _CACHE_PRICES]
    plain_in, plain_out, cached_price, output_price = [
        None if place is None else place.number(0, _MAX_USD) for place in places
    ]
    if plain_in is None or plain_out is None:
        return None
    return AgentPrices(
        input_usd_per_mtok=plain_in,
        output_usd_per_mtok=plain_out,
        cached_input_usd_per_mtok=cached_price,
        cache_write_usd_per_mtok=output_price,
    )


def _read_budget(section: cursor.Cursor | None, base: AgentBudget, *, narrows: bool) -> AgentBudget:
    """Return the caps: those of the section, else those of `base`, which a section that `narrows` may not exceed."""
    fields = None if section is None else section.fields(_BUDGET_KEYS)
    if fields is None:
        return base
    changes: dict[str, int] = {}
    for key, name in _USD_CAPS.items():
        place = fields.get(key)
        usd = None if place is None else place.number(0, _MAX_USD)
        if place is not None and usd is not None:
            cap: int | None = getattr(base, name) if narrows else None
            changes[name] = _at_most(place, limits.to_nanousd(usd), cap, f"{(cap or 0) / 1e9:.12g} USD")
    for key in _COUNT_CAPS:
        place = fields.get(key)
        count = None if place is None else place.integer(0, _MAX_COUNT)
        if place is not None and count is not None:
            cap = getattr(base, key) if narrows else None
            changes[key] = _at_most(place, count, cap, str(cap))
    return replace(base, **changes)


def _at_most(place: cursor.Cursor, value: int, most: int | None, shown: str) -> int:
    """Return the value; a Problem, and `most`, if the project allows less."""
    if most is None or value <= most:
        return value
    place.problem("AGENT_WIDENED", f"{place.name} must be at most {shown}, as the project says", hint=_RAISE_HINT)
    return most


def _read_policy(section: cursor.Cursor | None) -> Policy:
    """Return the rules for the agent's calls: lists under `allow`, `ask` and `deny`."""
    fields = None if section is None else section.fields(frozenset({"allow", "ask", "deny"}))
    if fields is None:
        return Policy()
    return Policy(
        allow=_read_rules(fields.get("allow")), ask=_read_rules(fields.get("ask")), deny=_read_rules(fields.get("deny"))
    )


def _read_rules(section: cursor.Cursor | None) -> tuple[CallRule, ...]:
    rules: list[CallRule] = []
    for entry in () if section is None else section.items() or ():
        fields = entry.fields(_RULE_KEYS)
        if fields is None:
            continue
        if not any(key in fields for key in _RULE_KEYS):
            fields.missing("kind", hint="a rule names at least one of kind, tools, paths, commands, over_usd")
        kinds = fields.get("kind")
        over = fields.get("over_usd")
        rules.append(
            CallRule(
                kinds=() if kinds is None else _kinds(kinds),
                tools=fields.texts("tools"),
                paths=fields.texts("paths"),
                commands=fields.texts("commands"),
                over_usd=None if over is None else over.number(0, 1_000_000),
            )
        )
    return tuple(rules)


def _kinds(place: cursor.Cursor) -> tuple[CallKind, ...]:
    """Return one kind of call, or a list of them."""
    places = [place] if isinstance(place.value, str) else place.items() or ()
    return tuple(cast("CallKind", kind) for kind in (entry.choice(CALL_KINDS) for entry in places) if kind is not None)


def _read_network(fields: cursor.Fields) -> Network:
    """Return what the agent may reach: a word, or hosts. Without a sandbox nothing of it would hold."""
    place = fields.get("network")
    if place is None:
        return "model"
    if fields.choice("sandbox", SANDBOX_KINDS, "auto") == "none":
        hint = "let it have a sandbox, or leave `network` out"
        place.problem("AGENT_NETWORK", "an agent with `sandbox: none` has the whole network", hint=hint)
    return _network(place)


def _network(place: cursor.Cursor) -> Network:
    if isinstance(place.value, str):
        return cast("Network", place.choice(("model", "none")) or "model")
    from openskelo.agents.sandbox import network_hosts  # noqa: PLC0415 -- few projects have agents

    hosts: list[str] = []
    for entry in place.items() or ():
        text = entry.text(blank=False)
        if text is not None and network_hosts.parse_rule(text) is None:
            hint = "write packages.example.org, *.example.org, example.org:8443 or 127.0.0.1:8000"
            entry.problem("AGENT_NETWORK", f"{text[:80]!r} is not a host", hint=hint)
        elif text is not None:
            hosts.append(text.lower())
    return tuple(hosts)


def _read_env(section: cursor.Cursor | None) -> dict[str, str]:
    fields = None if section is None else section.fields()
    env: dict[str, str] = {}
    for entry in () if fields is None else fields:
        name = str(entry.path[-1])
        if not _VARIABLE.match(name):
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot be the name of a variable")
            continue
        is_plain = isinstance(entry.value, str) and "${" not in entry.value and not _SECRET_NAME.search(name)
        value = cast("str", entry.value) if is_plain else _reference(entry)
        if value is not None:
            env[name] = value
    return env


def _read_home_files(section: cursor.Cursor | None) -> dict[str, str]:
    """Return the texts by path; each path stays below the home folder."""
    fields = None if section is None else section.fields()
    texts: dict[str, str] = {}
    for entry in () if fields is None else fields:
        name = str(entry.path[-1])
        if not _is_inner(name) or name.endswith("/"):
            entry.key_problem("PATH_INVALID", f"{name[:80]!r} must be a path inside the agent's home, without `..`")
            continue
        text = entry.text(blank=True)
        if text is not None:
            texts[name] = text
    return texts


def _reference(place: cursor.Cursor | None) -> str | None:
    if place is None:
        return None
    if isinstance(place.value, str) and _REFERENCE.match(place.value):
        return place.value
    # The value is not shown: the author may have written the secret itself here.
    hint = "write ${secret:NAME} and name it under `secrets`; the value itself stays out of the file"
    place.problem("SECRET_INVALID", f"{place.name} must name a secret", hint=hint)
    return None


def _read_workspace(section: cursor.Cursor | None) -> WorkspaceSettings:
    """Return the workspace: a map, or only its kind."""
    plain = WorkspaceSettings()
    if section is None:
        return plain
    if isinstance(section.value, str):
        return replace(plain, kind=cast("WorkspaceKind | None", section.choice(WORKSPACE_KINDS)))
    fields = section.fields(_WORKSPACE_KEYS)
    if fields is None:
        return plain
    return WorkspaceSettings(
        kind=cast("WorkspaceKind | None", _choice(fields, "kind", WORKSPACE_KINDS)),
        repository=_inner_path(fields, "repository") or plain.repository,
        folder=_inner_path(fields, "folder"),
        copy=_inner_globs(fields.get("copy")),
        setup=_commands(fields.get("setup")),
        teardown=_commands(fields.get("teardown")),
        command_timeout_ms=fields.integer("command_timeout_ms", plain.command_timeout_ms, 100, _DAY_MS),
        ports=fields.integer("ports", 0, 0, 100),
    )


def _inner_path(fields: cursor.Fields, key: str) -> str:
    """Return a path below a folder, empty if the key is absent."""
    place = fields.get(key)
    text = None if place is None else place.text(blank=False)
    if place is None or text is None:
        return ""
    if not _is_inner(text):
        place.problem("PATH_INVALID", f"{place.name} must be a path inside, without `..`")
        return ""
    return text


def _inner_globs(section: cursor.Cursor | None) -> tuple[str, ...]:
    """Return a list of globs below a folder, which is none of them itself."""
    globs: list[str] = []
    for place in () if section is None else section.items() or ():
        text = place.text(blank=False)
        if text is None:
            continue
        parts = PurePosixPath(text).parts
        if not _is_inner(text) or not parts:
            place.problem("PATH_INVALID", f"{place.name} must be a path inside, without `..`")
        elif any("**" in part and part != "**" for part in parts):
            hint = "write a/**/*.env for the files in all folders below a"
            place.problem("PATH_INVALID", f"{place.name}: `**` stands for whole folders, between slashes", hint=hint)
        else:
            globs.append(text)
    return tuple(globs)


def _is_inner(path: str) -> bool:
    return bool(path) and not path.startswith("/") and ".." not in path.split("/") and "\0" not in path


def _commands(section: cursor.Cursor | None) -> tuple[tuple[str, ...], ...]:
    """Return a list of argument vectors; a text is refused, because no shell splits it."""
    if section is None:
        return ()
    commands: list[tuple[str, ...]] = []
    for entry in section.items() or ():
        if isinstance(entry.value, str):
            entry.wrong_type("a list of words", hint="write [npm, ci]: there is no shell")
            continue
        words = [word.text(blank=False) for word in entry.items() or ()]
        if words and None not in words:
            commands.append(tuple(word for word in words if word is not None))
    return tuple(commands)


def _text(fields: cursor.Fields, key: str) -> str | None:
    place = fields.get(key)
    return None if place is None else place.text(blank=False)


def _choice(fields: cursor.Fields, key: str, options: tuple[str, ...]) -> str | None:
    place = fields.get(key)
    return None if place is None else place.choice(options)


def read_block(place: cursor.Cursor, agents: AgentsConfig | None) -> AgentSettings | None:
    """Return the agent that a block names, narrowed as the block says; None after a Problem, or without a project."""
    if isinstance(place.value, str):
        return _find(place, agents)
    fields = place.fields(_BLOCK_KEYS)
    name = None if fields is None else fields.need("use")
    agent = None if name is None else _find(name, agents)
    if fields is None or agent is None:
        return None
    folder = _inner_path(fields, "folder")
    budget = fields.get("budget")
    narrowed_agent = replace(
        agent,
        idle_ms=_narrowed(fields, "idle_ms", agent.idle_ms),
        wall_ms=_narrowed(fields, "wall_ms", agent.wall_ms),
        max_calls=_narrowed(fields, "max_calls", agent.max_calls),
        max_turns=_narrowed(fields, "max_turns", agent.max_turns),
        until=fields.choice("until", ("turn", "complete"), agent.until),
        budget=_read_budget(budget, agent.budget, narrows=True),
        sandbox=_narrowed_sandbox(fields, agent.sandbox),
        network=_narrowed_network(fields, agent.network),
        workspace=replace(agent.workspace, folder=folder or agent.workspace.folder),
    )
    if narrowed_agent.login == "own" and narrowed_agent.budget != agent.budget:
        _check_own_login(fields)
        return narrowed_agent
    return _check_price(narrowed_agent, budget)


def _find(place: cursor.Cursor, agents: AgentsConfig | None) -> AgentSettings | None:
    name = place.text(blank=False)
    if name is None or agents is None:
        return None
    agent = agents.by_name.get(name)
    if agent is None:
        if agents.by_name:
            known_list = f"known: {', '.join(agents.by_name)}"
        else:
            known_list = "declare it under `agents` in skelo.yaml"
        hint = problems.did_you_mean(name, agents.by_name, otherwise=known_list)
        place.problem("AGENT_UNKNOWN", f"there is no agent {name[:60]!r}", hint=hint)
    return agent


def _narrowed(fields: cursor.Fields, key: str, most: int) -> int:
    """Return the block's own limit, which may not be above that of the project."""
    place = fields.get(key)
    value = None if place is None else place.integer(1, _DAY_MS * 7)
    if place is None or value is None:
        return most
    if value > most:
        place.problem("AGENT_WIDENED", f"{place.name} must be at most {most}, as the project says", hint=_RAISE_HINT)
        return most
    return value


def _narrowed_sandbox(fields: cursor.Fields, least: SandboxKind) -> SandboxKind:
    """Return the block's own sandbox, which may not be weaker than that of the project."""
    place = fields.get("sandbox")
    kind = None if place is None else place.choice(SANDBOX_KINDS)
    if place is None or kind is None:
        return least
    if SANDBOX_KINDS.index(cast("SandboxKind", kind)) < SANDBOX_KINDS.index(least):
        message = f"{place.name} must not be weaker than {least!r}, as the project says"
        place.problem("AGENT_WIDENED", message, hint="weaken it in skelo.yaml")
        return least
    return cast("SandboxKind", kind)


def _narrowed_network(fields: cursor.Fields, most: Network) -> Network:
    """Return what the block lets its agent reach, which may not be more than the project does."""
    place = fields.get("network")
    if place is None:
        return most
    network = _network(place)
    hosts = set(network) if isinstance(network, tuple) else set[str]()
    allowed_hosts = set(most) if isinstance(most, tuple) else set[str]()
    if not hosts <= allowed_hosts or (most == "none" and network != "none"):
        limit_text = f"none of the hosts but {', '.join(sorted(allowed_hosts))}" if allowed_hosts else most
        place.problem(
            "AGENT_WIDENED",
            f"{place.name} must be at most what the project says: {limit_text}",
            hint="widen it in skelo.yaml",
        )
        return most
    return network
