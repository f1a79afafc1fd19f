"""`skelo agents`, and what is said about mistakes in `agents` of skelo.yaml and in blocks that name an agent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from openskelo import agent_settings, errors
from openskelo.agents import programs
from tests.agents import repository
from tests.cli.conftest import Result, Skelo


def _skelo(root: Path, *words: str, **env: str) -> Result:
    return Skelo(folder=root)(*words, env=env)


def test_a_program_that_is_not_installed_is_missing_and_its_work_has_not_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    agent = agent_settings.AgentSettings(name="helper", provider="codex")
    with pytest.raises(errors.Missing) as caught:
        programs.find(tmp_path, agent)
    assert (caught.value.code, caught.value.hint) == (
        "AGENT_NOT_INSTALLED",
        "run `skelo agents install codex`, or set `command`",
    )


def test_a_program_that_is_not_there_is_listed_and_no_run_is_started(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=["no-such-agent"])
    assert "custom, not installed" in _skelo(root, "agents").out
    (root / "flow.yaml").write_text(yaml.safe_dump(repository.block("@say x")))
    refused = _skelo(root, "run", "flow.yaml")
    assert (refused.code, "AGENT_NOT_INSTALLED" in refused.err) == (2, True)
    assert "no-such-agent: there is no such program" in refused.err
    assert "correct `command` in skelo.yaml" in refused.err
    assert _skelo(root, "runs", "--json").document == {"runs": []}


# -- list -------------------------------------------------------------------------------------------------------------


def test_it_lists_the_agents_of_the_project(tmp_path: Path) -> None:
    root = repository.make(tmp_path, model="small")
    listed = _skelo(root, "agents")
    assert (listed.code, listed.out) == (
        0,
        "helper  custom, installed, model small, workspace worktree or none, sandbox bubblewrap\n"
        "  skip: asks when its program chooses to, and cannot take changed arguments\n",
    )
    assert _skelo(root, "agents", "--json").document == {
        "agents": [
            {
                "name": "helper",
                "provider": "custom",
                "installed": True,
                "command": [sys.executable, str(repository.AGENT)],
                "version": None,
                "protocol": "acp 1",
                "model": "small",
                "workspace": "worktree or none",
                "permissions": "skip",
                "gate": {"way": "protocol", "complete": False, "changedArguments": False},
                "sandbox": "bubblewrap",
                "limits": [],
                "problem": None,
                "hint": None,
                "network": "model",
                "login": "gateway",
                "budget": {
                    "max_usd_per_call": None,
                    "max_usd_per_turn": None,
                    "max_usd": None,
                    "max_tokens_per_turn": None,
                    "max_tokens": None,
                    "max_requests_per_turn": 1000,
                },
                "offers": {},
            }
        ]
    }


def test_without_agents_in_the_project_it_lists_those_that_can_be_installed(tmp_path: Path) -> None:
    listed = _skelo(tmp_path, "agents", "--json", PATH="/usr/bin:/bin").document["agents"]
    assert [(row["name"], row["version"]) for row in listed] == [
        (name, programs.locked(name).version) for name in ("claude", "codex", "gemini")
    ]
    said = _skelo(tmp_path, "agents", PATH="/usr/bin:/bin")
    assert "declare one under `agents` in skelo.yaml" in said.err
    assert f"claude  claude {programs.locked('claude').version}, not installed" in said.out


# -- check ------------------------------------------------------------------------------------------------------------


def test_check_opens_a_session_and_says_what_the_agent_offers(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    checked = _skelo(root, "agents", "check", "helper")
    assert (checked.code, checked.out) == (
        0,
        "helper: scripted 1.0 opened a session in a sandbox (bubblewrap)\n  it offers resume\n",
    )
    document = _skelo(root, "agents", "check", "helper", "--json").document
    assert document.pop("sessionId")
    assert document == {
        "name": "helper",
        "ok": True,
        "sandbox": "bubblewrap",
        "agent": "scripted",
        "version": "1.0",
        "load": False,
        "resume": True,
        "tools": False,
    }


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["/no/such/agent"], "AGENT_NOT_INSTALLED", "/no/such/agent: there is no such program"),
        (["./no-such-agent"], "AGENT_NOT_STARTED", "./no-such-agent cannot be started: No such file or directory"),
        (["sh", "-c", "echo broken >&2; exit 7"], "AGENT_EXITED", "its last words: broken"),
        (["sleep", "60"], "AGENT_NOT_STARTED", "helper did not open a session within 500 ms"),
    ],
)
def test_check_of_a_broken_command_says_what_happened(
    tmp_path: Path, command: list[str], code: str, words: str
) -> None:
    root = repository.make(tmp_path, command=[*command], start_ms=500)
    checked = _skelo(root, "agents", "check", "helper")
    assert checked.code == 1
    assert checked.out.startswith(f"helper: {code} ")
    assert words in checked.out
    document = _skelo(root, "agents", "check", "helper", "--json").document
    assert (document["ok"], document["code"]) == (False, code)


def test_check_of_an_agent_whose_secret_is_not_there_says_so(tmp_path: Path) -> None:
    root = repository.make(tmp_path, api_key="${env:NOT_SET}")
    checked = _skelo(root, "agents", "check", "helper")
    assert checked.code in (1, 2)
    assert "NOT_SET" in checked.out + checked.err


def test_an_unknown_agent_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    refused = _skelo(repository.make(tmp_path), "agents", "check", "helpr")
    assert (refused.code, refused.out) == (2, "")
    assert "AGENT_UNKNOWN" in refused.err
    assert "did you mean 'helper'" in refused.err.replace("`", "'")


def test_check_needs_a_name(tmp_path: Path) -> None:
    refused = _skelo(repository.make(tmp_path), "agents", "check")
    assert (refused.code, "needs the name of an agent" in refused.err) == (2, True)


# -- install ----------------------------------------------------------------------------------------------------------


def test_install_without_npm_says_what_to_install(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    refused = _skelo(tmp_path, "agents", "install", "gemini", PATH=str(empty))
    assert refused.code != 0
    assert "NODE_MISSING" in refused.err
    assert "install nodejs 20 or newer with npm" in refused.err
    assert not (tmp_path / ".skelo" / "agents").exists()


def test_an_agent_with_a_command_of_its_own_is_not_installed(tmp_path: Path) -> None:
    refused = _skelo(repository.make(tmp_path), "agents", "install", "helper")
    assert (refused.code, "AGENT_NOT_INSTALLED" in refused.err) == (2, True)


# -- mistakes in skelo.yaml -------------------------------------------------------------------------------------------

GOOD = "provider: custom\n    command: [x]\n    permissions: skip\n"
CLAUDE = "provider: claude\n    permissions: skip\n"


def _problems(folder: Path, project: str, block: str = "agent: helper") -> list[dict[str, Any]]:
    """Return the Problems of a blocks file below a project file, each as code, place and words."""
    (folder / "skelo.yaml").write_text(project)
    (folder / "flow.yaml").write_text(
        f"name: one\nblocks:\n  - id: work\n    mode: ai\n    prompt: x\n    {block}\n    outputs: {{a: string}}\n"
    )
    result = _skelo(folder, "validate", "flow.yaml", "--json")
    assert result.code == 2, result
    found = json.loads(result.out or result.err)
    return [dict(problem) for problem in found.get("problems") or found["error"]["problems"]]


def _agent(settings: str) -> str:
    return f"agents:\n  helper:\n    {settings}"


@pytest.mark.parametrize(
    ("settings", "code", "line", "words"),
    [
        ("provider: custom\n    permissions: skip\n", "MISSING_KEY", 3, "command"),
        (f"{GOOD}    policy: {{allow: [{{kind: walk}}]}}\n", "CHOICE", 6, "execute"),
        (f"{GOOD}    policy: {{deny: [{{}}]}}\n", "MISSING_KEY", 6, "kind"),
        (f"{GOOD}    policy: {{deny: {{}}}}\n", "TYPE", 6, "deny"),
        ("provider: custom\n    command: [x]\n    permissions: maybe\n", "CHOICE", 5, "skip"),
        ("provider: clod\n    permissions: skip\n", "CHOICE", 3, "claude"),
        (f"{GOOD}    api_key: sk-very-secret\n", "SECRET_INVALID", 6, "api_key"),
        (f"{GOOD}    env: {{TOKEN: sk-very-secret}}\n", "SECRET_INVALID", 6, "TOKEN"),
        (f"{GOOD}    env: {{MODE: 'a ${{secret:X'}}\n", "SECRET_INVALID", 6, "MODE"),
        (f"{GOOD}    env: {{MODE: 3}}\n", "SECRET_INVALID", 6, "MODE"),
        (f"{GOOD}    env: {{NOT-A-NAME: '${{env:X}}'}}\n", "NAME_INVALID", 6, "NOT-A-NAME"),
        (f"{GOOD}    workspace: {{setup: ['npm ci']}}\n", "TYPE", 6, "a list of words"),
        (f"{GOOD}    workspace: {{folder: ../x}}\n", "PATH_INVALID", 6, "without `..`"),
        (f"{GOOD}    workspace: {{copy: [.]}}\n", "PATH_INVALID", 6, "must be a path inside"),
        (f"{GOOD}    workspace: {{copy: [/etc/passwd]}}\n", "PATH_INVALID", 6, "a path inside"),
        (f"{GOOD}    workspace: {{copy: ['a**']}}\n", "PATH_INVALID", 6, "stands for whole folders"),
        (f"{GOOD}    home_files: {{../x: y}}\n", "PATH_INVALID", 6, "inside the agent's home"),
        ("provider: claude\n    permissions: skip\n    home_files: {x: y}\n", "UNKNOWN_KEY", 5, "home_files"),
        (f"{GOOD}    login: mine\n", "CHOICE", 6, "own"),
        (f"{GOOD}    budget: {{max_dollars: 1}}\n", "UNKNOWN_KEY", 6, "max_dollars"),
        (f"{GOOD}    budget: {{max_tokens: -1}}\n", "RANGE", 6, "max_tokens"),
        (f"{GOOD}    budget: {{max_usd: 1}}\n", "PRICE_UNKNOWN", 6, "give it `prices`"),
        (f"{GOOD}    prices: {{input_usd_per_mtok: 1}}\n", "MISSING_KEY", 6, "output_usd_per_mtok"),
        (f"{GOOD}    login: own\n    api_key: '${{env:X}}'\n", "CONFLICT", 7, "no `api_key`"),
        (f"{GOOD}    login: own\n    base_url: http://127.0.0.1:1\n", "CONFLICT", 7, "no `base_url`"),
        (f"{GOOD}    login: own\n    budget: {{max_usd: 1}}\n", "AGENT_UNCOUNTED", 7, "cap tokens"),
        (f"{GOOD}    login: own\n    budget: {{max_requests_per_turn: 9}}\n", "AGENT_UNCOUNTED", 7, "cap tokens"),
        (f"{CLAUDE}    budget: {{max_usd_per_turn: 1}}\n", "PRICE_UNKNOWN", 5, "name its `model`"),
        (f"{CLAUDE}    model: no-such-model\n    budget: {{max_usd: 1}}\n", "PRICE_UNKNOWN", 6, "helper"),
        (f"{GOOD}    sandbox: docker\n", "CHOICE", 6, "bubblewrap"),
        (f"{GOOD}    network: all\n", "CHOICE", 6, "model"),
        (f"{GOOD}    network: ['https://packages.example.org/simple']\n", "AGENT_NETWORK", 6, "is not a host"),
        (f"{GOOD}    network: [127.0.0.1]\n", "AGENT_NETWORK", 6, "127.0.0.1:8000"),
        (f"{GOOD}    sandbox: none\n    network: none\n", "AGENT_NETWORK", 7, "has the whole network"),
    ],
)
def test_a_mistake_in_an_agent_is_shown_at_its_place(
    tmp_path: Path, settings: str, code: str, line: int, words: str
) -> None:
    (problem,) = _problems(tmp_path, _agent(settings))
    assert (problem["code"], problem["line"]) == (code, line), problem
    assert words in problem["message"] + (problem.get("hint") or "")
    assert problem["column"] >= 1
    assert "sk-very-secret" not in json.dumps(problem)


# -- mistakes in blocks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "code", "column", "words"),
    [
        ("agent: helpr", "AGENT_UNKNOWN", 12, "helper"),
        ("agent: {use: helpr}", "AGENT_UNKNOWN", 18, "helper"),
        ("agent: {use: helper, max_calls: 501}", "AGENT_WIDENED", 37, "must be at most 500"),
        ("agent: {use: helper, wall_ms: 86400000}", "AGENT_WIDENED", 35, "must be at most 3600000"),
        ("agent: {use: helper, permissions: skip}", "UNKNOWN_KEY", 26, "permissions"),
        ("agent: {use: helper, budget: {max_requests_per_turn: 1001}}", "AGENT_WIDENED", 58, "must be at most 1000"),
        ("agent: {use: helper, budget: {max_usd: 1}}", "PRICE_UNKNOWN", 34, "give it `prices`"),
        ("agent: {use: helper, sandbox: none}", "AGENT_WIDENED", 35, "must not be weaker than 'auto'"),
        ("agent: {use: helper, sandbox: landlock}", "AGENT_WIDENED", 35, "must not be weaker than 'auto'"),
        ("agent: {use: helper, network: [packages.example.org]}", "AGENT_WIDENED", 35, "what the project says: model"),
        ("agent: helper\n    model: small", "WRONG_MODE", 5, "model"),
        ('agent: helper\n    foreach: {items: "[1, 2]"}', "FOREACH_AGENT", 5, "`foreach` has no meaning"),
    ],
)
def test_a_mistake_in_a_block_is_shown_at_its_place(
    tmp_path: Path, block: str, code: str, column: int, words: str
) -> None:
    (problem,) = _problems(tmp_path, _agent(GOOD), block)
    line = 6 + block.count("\n")
    assert (problem["code"], problem["line"], problem["column"]) == (code, line, column), problem
    assert words in problem["message"] + (problem.get("hint") or "")


def test_a_block_that_narrows_its_agent_is_valid(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    agent = {"use": "helper", "max_calls": 3, "wall_ms": 1000, "idle_ms": 500, "folder": "src"}
    (root / "flow.yaml").write_text(yaml.safe_dump(repository.block("@say x", agent=agent)))
    assert _skelo(root, "validate", "flow.yaml").code == 0


@pytest.mark.parametrize(
    ("own", "asked", "code"),
    [
        ({"max_usd": 2}, {"max_usd": 1.5}, None),
        ({"max_usd": 2}, {"max_usd": 2.5}, "AGENT_WIDENED"),
        ({"max_usd": 2}, {"max_usd_per_turn": 100}, None),  # the project has no such cap, and its own one stays
        ({"max_tokens": 10}, {"max_tokens": 11}, "AGENT_WIDENED"),
        ({"max_requests_per_turn": 5000}, {"max_requests_per_turn": 4000}, None),
        ({}, {"max_tokens_per_turn": 7}, None),
    ],
)
def test_a_block_may_only_lower_the_caps_of_its_agent(
    tmp_path: Path, own: dict[str, Any], asked: dict[str, Any], code: str | None
) -> None:
    prices: Any = {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}
    root = repository.make(tmp_path, prices=prices, budget=own)
    (root / "flow.yaml").write_text(yaml.safe_dump(repository.block("x", agent={"use": "helper", "budget": asked})))
    result = _skelo(root, "validate", "flow.yaml", "--json")
    found = [problem["code"] for problem in result.document["problems"]]
    assert (result.code, found) == ((0, []) if code is None else (2, [code]))


@pytest.mark.parametrize("provider", ["codex", "gemini"])
def test_the_models_of_the_vendors_have_a_price(tmp_path: Path, provider: str) -> None:
    """A cap in USD needs no more than the vendor's own model at the vendor's own address."""
    root = repository.make(tmp_path, provider=provider, budget={"max_usd": 1})
    (root / "flow.yaml").write_text(yaml.safe_dump(repository.block("x")))
    assert _skelo(root, "validate", "flow.yaml").code == 0


def test_the_price_of_a_named_model_of_claude_is_known(tmp_path: Path) -> None:
    root = repository.make(tmp_path, provider="claude", model="claude-sonnet-4-5", budget={"max_usd": 1})
    (root / "flow.yaml").write_text(yaml.safe_dump({**repository.block("x"), "budgets": {"max_cost_usd": 3}}))
    assert _skelo(root, "validate", "flow.yaml").code == 0
