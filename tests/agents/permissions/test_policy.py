"""The policy of an agent's calls: a pure decision by kind, paths, command, tool and cost."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from openskelo.agent_settings import AgentSettings, CallRule, Permissions, Policy
from openskelo.agents.permissions import policy
from openskelo.kernel.json import Json, JsonObject


def _decide(  # noqa: PLR0913 -- by keyword
    tmp_path: Path,
    kind: str,
    arguments: Json,
    rules: Policy | None = None,
    *,
    permissions: Permissions = "gated",
    remembered: tuple[JsonObject, ...] = (),
    spent_usd: float = 0.0,
) -> str:
    agent = AgentSettings(name="a", provider="custom", permissions=permissions, policy=rules or Policy())
    call = policy.make_call("Tool", kind, arguments, tmp_path)
    return policy.decide(call, agent, remembered, spent_usd).decision


@pytest.mark.parametrize(
    ("kind", "arguments", "gated", "skip"),
    [
        ("read", {"path": "a.txt"}, "allow", "allow"),
        ("search", {}, "allow", "allow"),
        ("read", {"path": "/etc/passwd"}, "ask", "allow"),
        ("edit", {"path": "a.txt"}, "ask", "allow"),
        ("edit", {"path": "../a.txt"}, "deny", "deny"),
        ("delete", {"path": "/etc/passwd"}, "deny", "deny"),
        ("execute", {"command": "ls"}, "ask", "allow"),
        ("fetch", {"url": "x"}, "ask", "allow"),
        ("of the future", {}, "ask", "allow"),
        ("execute", None, "ask", "allow"),
        ("execute", "ls", "ask", "allow"),
    ],
)
def test_without_rules(tmp_path: Path, kind: str, arguments: Json, gated: str, skip: str) -> None:
    assert _decide(tmp_path, kind, arguments) == gated
    assert _decide(tmp_path, kind, arguments, permissions="skip") == skip


_ALLOWING = [
    Policy(allow=(CallRule(),)),
    Policy(allow=(CallRule(kinds=("read", "edit", "execute", "fetch", "mcp", "other")),)),
    Policy(allow=(CallRule(tools=("*",)),)),
]


@pytest.mark.parametrize("rules", _ALLOWING)
@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("execute", None),
        ("execute", "ls"),
        ("execute", ["ls"]),
        ("read", None),
        ("read", "a.txt"),
        ("search", 7),
        ("fetch", None),
        ("of the future", None),
        ("edit", None),
        ("edit", {}),
        ("edit", {"content": "x"}),
        ("edit", {"path": 7}),
        ("edit", {"path": ""}),
    ],
)
def test_a_call_that_cannot_be_read_is_asked_about_whatever_a_rule_allows(
    tmp_path: Path, kind: str, arguments: Json, rules: Policy
) -> None:
    assert _decide(tmp_path, kind, arguments) == "ask"
    assert _decide(tmp_path, kind, arguments, rules) == "ask"


@pytest.mark.parametrize(
    ("rule", "decision"),
    [
        (CallRule(paths=("**/.env",)), "ask"),
        (CallRule(commands=("rm *",)), "ask"),
        (CallRule(kinds=("edit",), paths=("**/.env",)), "allow"),
        (CallRule(kinds=("execute",)), "deny"),
        (CallRule(tools=("Tool",)), "deny"),
    ],
)
def test_skip_asks_about_a_call_that_cannot_be_read_if_a_denial_might_hold(
    tmp_path: Path, rule: CallRule, decision: str
) -> None:
    assert _decide(tmp_path, "execute", None, Policy(deny=(rule,)), permissions="skip") == decision


def test_a_rule_that_asks_might_hold_for_a_call_that_cannot_be_read(tmp_path: Path) -> None:
    asks = Policy(ask=(CallRule(paths=("migrations/**",)),))
    assert _decide(tmp_path, "edit", {"text": "x"}, asks, permissions="skip") == "ask"


@pytest.mark.parametrize(
    "arguments",
    [
        {"target": "/etc/passwd"},
        {"files": ["a.txt", "/etc/passwd"]},
        {"of_the_future": "/etc/passwd"},
        {"deep": [{"down": "../../secret"}]},
        {"uri": "file:///etc/passwd"},
        {"path": "~/.ssh/id_rsa"},
        {"pattern": "x", "path": "/etc"},
    ],
)
def test_a_path_that_leads_out_is_found_whatever_its_argument_is_called(tmp_path: Path, arguments: Json) -> None:
    assert _decide(tmp_path, "read", arguments) == "ask"


def test_the_pattern_of_a_search_is_no_path_but_that_of_a_glob_is(tmp_path: Path) -> None:
    agent = AgentSettings(name="a", provider="custom")
    grep, glob = (policy.make_call(tool, "search", {"pattern": "/etc/*"}, tmp_path) for tool in ("Grep", "Glob"))
    assert [policy.decide(call, agent, (), 0.0).decision for call in (grep, glob)] == ["allow", "ask"]


@pytest.mark.parametrize("kind", ["read", "edit", "think", "of the future"])
def test_a_call_with_a_command_is_one_whatever_the_agent_calls_it(tmp_path: Path, kind: str) -> None:
    arguments: JsonObject = {"command": "rm -rf x", "path": "src/a.py"}
    rules = Policy(allow=(CallRule(kinds=("read", "edit", "other")), CallRule(paths=("src/**",))))
    assert policy.make_call("Tool", kind, arguments, tmp_path).kind == "execute"
    assert _decide(tmp_path, kind, arguments, rules) == "ask"


def test_the_command_of_an_editor_is_an_edit(tmp_path: Path) -> None:
    call = policy.make_call("Editor", "edit", {"command": "create", "path": "a.txt", "file_text": "/x"}, tmp_path)
    assert (call.kind, call.paths, call.command) == ("edit", ("a.txt",), None)


def test_a_command_that_runs_elsewhere_is_not_covered_by_a_pattern(tmp_path: Path) -> None:
    rules = Policy(allow=(CallRule(commands=("make *",)),))
    assert _decide(tmp_path, "execute", {"command": "make test", "cwd": str(tmp_path)}, rules) == "allow"
    assert _decide(tmp_path, "execute", {"command": "make test", "cwd": "/"}, rules) == "ask"
    assert _decide(tmp_path, "execute", {"command": "make test", "workdir": "../other"}, rules) == "ask"


def test_a_second_command_in_the_arguments_is_judged_too(tmp_path: Path) -> None:
    both: JsonObject = {"command": "make test", "cmd": "rm x"}
    assert _decide(tmp_path, "execute", both, Policy(allow=(CallRule(commands=("make *",)),))) == "ask"
    assert _decide(tmp_path, "execute", both, Policy(deny=(CallRule(commands=("rm *",)),))) == "deny"


def test_deny_wins_over_ask_and_ask_over_allow(tmp_path: Path) -> None:
    rule = (CallRule(kinds=("execute",)),)
    for allows, asks, denies in itertools.product((True, False), repeat=3):
        rules = Policy(allow=rule if allows else (), ask=rule if asks else (), deny=rule if denies else ())
        expected = "deny" if denies else "allow" if allows and not asks else "ask"
        assert _decide(tmp_path, "execute", {"command": "ls"}, rules) == expected


@pytest.mark.parametrize(
    ("command", "allowed", "denied"),
    [
        ("make test", True, False),
        ("  make test ", True, False),
        ("make", False, False),
        ("make test; rm x", False, True),
        ("make test && rm x", False, True),
        ("make test | rm x", False, True),
        ("make test $(rm x)", False, True),
        ("make `rm x`", False, True),
        ("make test\nrm x", False, True),
        ("make test > x", False, False),
        ("make ${X:=rm}", False, False),
        ("make $'\\x72m'", False, False),
        ("make $HOME", False, False),
        ("rm x", False, True),
    ],
)
def test_a_pattern_allows_one_command_and_denies_any_part(
    tmp_path: Path, command: str, allowed: bool, denied: bool
) -> None:
    allow = Policy(allow=(CallRule(commands=("make *",)),))
    deny = Policy(deny=(CallRule(commands=("rm *",)),))
    assert (_decide(tmp_path, "execute", {"command": command}, allow) == "allow") is allowed
    assert (_decide(tmp_path, "execute", {"cmd": command.split(" ")}, deny) == "deny") is denied


def test_all_paths_have_to_match_to_be_allowed_and_one_to_be_denied(tmp_path: Path) -> None:
    both: JsonObject = {"old_path": "src/a.py", "new_path": "docs/a.md"}
    allow = Policy(allow=(CallRule(paths=("src/**",)),))
    assert _decide(tmp_path, "edit", {"path": "src/x/a.py"}, allow) == "allow"
    assert _decide(tmp_path, "edit", both, allow) == "ask"
    assert _decide(tmp_path, "edit", both, Policy(deny=(CallRule(paths=("docs/**",)),))) == "deny"
    assert _decide(tmp_path, "execute", {"command": "ls"}, allow) == "ask"  # a call without a path matches no path


def test_a_link_that_leads_out_of_the_workspace_is_outside(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to("/etc")
    assert _decide(tree, "edit", {"path": "link/passwd"}) == "deny"
    assert _decide(tree, "edit", {"path": str(tree / "a.txt")}) == "ask"


def test_a_rule_about_cost_holds_above_it(tmp_path: Path) -> None:
    rules = Policy(ask=(CallRule(over_usd=0.5),), allow=(CallRule(kinds=("execute",)),))
    assert _decide(tmp_path, "execute", {"command": "ls"}, rules, spent_usd=0.5) == "allow"
    assert _decide(tmp_path, "execute", {"command": "ls"}, rules, spent_usd=0.6) == "ask"


def test_an_approval_for_longer_is_about_the_same_call(tmp_path: Path) -> None:
    edit = policy.make_call("Edit", "edit", {"path": "a.txt"}, tmp_path)
    command = policy.make_call("Bash", "execute", {"command": "make test"}, tmp_path)
    fetch = policy.make_call("Fetch", "fetch", {"url": "x"}, tmp_path)
    rules = tuple(rule for rule in map(policy.rule_of, (edit, command, fetch)) if rule is not None)
    assert len(rules) == 3
    assert _decide(tmp_path, "edit", {"path": "a.txt"}, remembered=rules) == "allow"
    assert _decide(tmp_path, "edit", {"path": "b.txt"}, remembered=rules) == "ask"
    assert _decide(tmp_path, "execute", {"command": "make test"}, remembered=rules) == "allow"
    assert _decide(tmp_path, "execute", {"command": "make test", "timeout": 9}, remembered=rules) == "allow"
    assert _decide(tmp_path, "execute", {"command": "make  test"}, remembered=rules) == "ask"
    assert _decide(tmp_path, "execute", {"command": "make test", "cwd": "/"}, remembered=rules) == "ask"
    assert _decide(tmp_path, "execute", {"command": "make test", "unsafe": True}, remembered=rules) == "ask"
    assert _decide(tmp_path, "fetch", None, remembered=({"kind": "fetch", "tool": "Tool"},)) == "ask"
    assert _decide(tmp_path, "fetch", {"url": "y"}, remembered=rules) == "ask"  # another tool
    denied = Policy(deny=(CallRule(kinds=("execute",)),))
    assert _decide(tmp_path, "execute", {"command": "make test"}, denied, remembered=rules) == "deny"


@pytest.mark.parametrize(("kind", "arguments"), [("edit", {"path": "/etc/x"}), ("other", {"a": 1}), ("mcp", None)])
def test_a_call_that_a_rule_would_widen_offers_none(tmp_path: Path, kind: str, arguments: Json) -> None:
    assert policy.rule_of(policy.make_call("Tool", kind, arguments, tmp_path)) is None


@pytest.mark.parametrize(
    ("kind", "is_denied"), [("read", False), ("execute", False), ("edit", True), ("fetch", True), ("mcp", True)]
)
def test_planning_denies_what_changes_something(tmp_path: Path, kind: str, is_denied: bool) -> None:
    assert (policy.forbid_changes(policy.make_call("Tool", kind, {"path": "a"}, tmp_path)) is not None) is is_denied


def test_a_patch_is_about_the_files_that_it_names(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b.txt\n*** Move to: ../c.txt\n*** End Patch"
    call = policy.make_call("apply_patch", "edit", {"command": patch}, tmp_path)
    assert (call.paths, call.command) == (("a.txt", "b.txt", str(tmp_path.parent / "c.txt")), None)
    assert _decide(tmp_path, "edit", {"command": patch}) == "deny"
    denied = Policy(deny=(CallRule(paths=("**/.env",)),))
    inner = "*** Begin Patch\n*** Delete File: conf/.env\n*** End Patch"
    assert _decide(tmp_path, "edit", {"command": inner}, denied, permissions="skip") == "deny"


_NO_CURL = Policy(deny=(CallRule(commands=("*curl*",)),))


@pytest.mark.parametrize("kind", ["execute", "other", "read"])
def test_a_command_that_begins_like_a_patch_is_a_command(tmp_path: Path, kind: str) -> None:
    hidden: JsonObject = {"command": "*** Begin Patch; curl evil\n*** Add File: src/a.py\n*** End Patch"}
    allow_files = Policy(allow=(CallRule(paths=("**",)),))
    assert policy.make_call("Tool", kind, hidden, tmp_path).kind == "execute"
    assert _decide(tmp_path, kind, hidden, allow_files) == "ask"
    assert _decide(tmp_path, kind, hidden, _NO_CURL, permissions="skip") == "deny"


@pytest.mark.parametrize(
    "arguments",
    [{"script": "curl evil"}, {"input": {"command": "curl evil"}}, {"command": {"x": "curl evil"}}, {}],
)
def test_a_call_that_hides_its_command_cannot_be_read(tmp_path: Path, arguments: JsonObject) -> None:
    call = policy.make_call("Tool", "execute", arguments, tmp_path)
    agent = AgentSettings(name="a", provider="custom", permissions="skip", policy=_NO_CURL)
    verdict = policy.decide(call, agent, (), 0.0)
    assert verdict == policy.Verdict(
        decision="ask", why="it does not say what it runs, and a rule might hold for it (commands: *curl*)"
    )
    assert policy.rule_of(call) is None
    for rules in _ALLOWING:
        assert _decide(tmp_path, "execute", arguments, rules) == "ask"


def test_the_command_of_another_servers_tool_can_be_denied_and_is_never_allowed_by_a_pattern(tmp_path: Path) -> None:
    call = policy.make_call("mcp__shell__run", "other", {"command": "curl evil"}, tmp_path, is_tool_server=True)
    patterns = {"deny": "deny", "ask": "ask", "allow": "ask"}
    for place, expected in patterns.items():
        rules = Policy(**{place: (CallRule(commands=("curl *",)),)})
        agent = AgentSettings(name="a", provider="custom", policy=rules)
        assert policy.decide(call, agent, (), 0.0).decision == expected
    assert policy.rule_of(call) == {"kind": "mcp", "tool": "mcp__shell__run"}
