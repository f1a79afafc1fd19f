"""Commands that need only a workflow file: validate, hash, explain, init, doctor, run --dry-run."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path

import pytest

from tests.cli.conftest import Skelo

GOOD = """\
name: greeting
description: Two steps.
inputs:
  who: string
blocks:
  - id: first
    mode: deterministic
    inputs: {who: {type: string, from: inputs.who}}
    outputs: {text: string}
    deterministic: {handler: builtin:transform, config: {map: {text: "'Hello ' + inputs.who"}}}
    post_gates: [{name: long_enough, type: length, port: text, min: 3}]
  - id: left
    mode: deterministic
    inputs: {text: {type: string, from: first.text}}
    outputs: {text: string}
    deterministic: {handler: builtin:transform, config: {map: {text: inputs.text}}}
  - id: right
    mode: approval
    inputs: {text: {type: string, from: first.text}}
    approval: {prompt: "Good? {{ inputs.text }}"}
"""
BAD = "name: bad\nblocks:\n  - id: a\n    mode: determinstic\n  - id: a\n    mod: ai\n"


def test_validate_prints_each_problem_at_its_place_and_exits_2(skelo: Skelo) -> None:
    skelo.write("bad.yaml", BAD)
    result = skelo("validate", "bad.yaml")
    assert (result.code, result.out) == (2, "")
    lines = result.err.splitlines()
    assert lines[0].startswith("bad.yaml:4:11: CHOICE ")
    assert lines[0].endswith("(did you mean 'deterministic'?)")
    assert lines[-1].endswith("problems found, nothing was started")


def test_validate_as_json_is_one_document(skelo: Skelo) -> None:
    skelo.write("good.yaml", GOOD)
    skelo.write("bad.yaml", BAD)
    result = skelo("validate", "good.yaml", "bad.yaml", "--json")
    assert (result.code, result.err) == (2, "")
    assert sorted(result.document) == ["files", "problems", "warnings"]
    keys = ["code", "column", "file", "hint", "line", "message", "path", "severity"]
    assert sorted(result.document["problems"][0]) == keys
    assert [(entry["file"], entry["valid"]) for entry in result.document["files"]] == [
        ("good.yaml", True),
        ("bad.yaml", False),
    ]


def test_validate_refuses_a_list_with_failed_items_for_an_input_that_does_not_accept_null(skelo: Skelo) -> None:
    keeps = "{id: a, foreach: {items: '[1]', on_fail: keep}, outputs: {word: string}}"
    takes = "{id: b, inputs: {words: {type: 'string[]', from: a.word}}}"
    skelo.write("gaps.yaml", f"name: gaps\nblocks:\n  - {keeps}\n  - {takes}\n")
    result = skelo("validate", "gaps.yaml")
    assert (result.code, result.err.splitlines()[0]) == (
        2,
        "gaps.yaml:4:54: TYPE_MISMATCH a.word is null in the list for a failed item, and b.words does not accept null"
        " (let items of b.words be null, or leave them out: `transform: value.filter(v, v != null)`)",
    )


def test_a_test_script_is_validated_against_the_workflow_beside_it(skelo: Skelo) -> None:
    skelo.write("good.yaml", GOOD)
    skelo.write("good.test.yaml", "tests:\n  - {name: one, inputs: {who: Ada}, expect: {ending: ok}}\n")
    result = skelo("validate", "good.test.yaml")
    assert (result.code, result.out, result.err) == (0, "good.test.yaml: valid, 1 test of greeting\n", "")
    skelo.write("good.test.yaml", "tests:\n  - {name: one, input: {who: Ada}, expect: {ending: ok}}\n")
    result = skelo("validate", "good.test.yaml")
    assert (result.code, result.err.splitlines()[0]) == (
        2,
        "good.test.yaml:2:17: UNKNOWN_KEY unknown key 'input' (did you mean 'inputs'?)",
    )


def test_a_project_file_is_validated_as_what_it_is(skelo: Skelo) -> None:
    skelo.write("other.yaml", "name: other\nwrite_roots: [out]\n")
    result = skelo("validate", "skelo.yaml", "other.yaml")
    assert (result.code, result.err) == (0, "")
    assert result.out == "skelo.yaml: valid, a project file\nother.yaml: valid, a project file\n"
    entry = {"file": "skelo.yaml", "valid": True, "name": "test", "hash": None}
    assert skelo("validate", "skelo.yaml", "--json").document == {"problems": [], "warnings": [], "files": [entry]}
    skelo.write("skelo.yaml", "name: test\nwrite_rots: [out]\n")
    result = skelo("validate", "skelo.yaml")
    assert (result.code, result.err.splitlines()[0]) == (
        2,
        "skelo.yaml:2:1: UNKNOWN_KEY unknown key 'write_rots' (did you mean 'write_roots'?)",
    )


def test_a_project_file_is_no_workflow_to_run(skelo: Skelo) -> None:
    result = skelo("run", "skelo.yaml")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(
        "skelo.yaml:1:1: KIND_PROJECT this is the settings file of a project, not a workflow ("
    )
    assert not (skelo.folder / ".skelo").exists()


def test_the_problems_of_a_file_stop_a_run_and_nothing_is_started(skelo: Skelo) -> None:
    skelo.write("bad.yaml", BAD)
    result = skelo("run", "bad.yaml", "--json")
    assert (result.code, result.err) == (2, "")
    assert list(result.document) == ["problems"]
    assert not (skelo.folder / ".skelo").exists()


def test_hash_ignores_comments_and_spacing(skelo: Skelo) -> None:
    skelo.write("one.yaml", GOOD)
    skelo.write("two.yaml", "# a comment\n" + GOOD.replace("name: greeting", "name:   greeting"))
    one, two = skelo("hash", "one.yaml", "two.yaml").out.splitlines()
    assert one.split("  ") == [two.split("  ")[0], "one.yaml"]
    assert one.startswith("sha256:")


def test_explain_draws_layers_contracts_gates_and_totals(skelo: Skelo) -> None:
    skelo.write("good.yaml", GOOD)
    result = skelo("explain", "good.yaml")
    assert (result.code, result.err) == (0, "")
    assert (
        "  ● DET   first  ← inputs.who\n  │\n  ┌ DET   left   ← first.text\n  └ HUMAN right  ← first.text\n"
        in result.out
    )
    assert 'gate after  long_enough: length {"port":"text","min":3}' in result.out
    assert re.search(r"^  DET +2 +2 +0 +0 +\? / \? / 10 min$", result.out, re.MULTILINE), (
        "at worst both use up their time"
    )
    assert "  all    3       3" in result.out
    assert "minimum / expected / worst case" in result.out
    assert not (skelo.folder / ".skelo").exists()


@pytest.mark.parametrize(
    ("mode", "on_deny", "words"),
    [
        ("ai", "end", "ends the run"),
        ("ai", "continue", "skips the block"),
        ("approval", "continue", "goes on with approved = false"),
        ("approval", "{route_to: first, max_bounces: 2}", "goes back to first, at most 2 times"),
    ],
)
def test_explain_says_what_a_denial_leads_to(skelo: Skelo, mode: str, on_deny: str, words: str) -> None:
    skelo.write(
        "ask.yaml",
        "name: ask\nblocks:\n  - {id: first, prompt: hi}\n"
        f"  - {{id: ask, after: first, mode: {mode}, approval: {{prompt: ok?, on_deny: {on_deny}}}}}\n",
    )
    assert f"a denial {words}\n" in skelo("explain", "ask.yaml").out


@pytest.mark.parametrize("mode", ["ai", "approval"])
@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("", "waits until a person answers"),
        (", timeout_sec: 20", "denied after 20 s without an answer"),
        (", timeout_sec: 20, on_timeout: approve", "approved after 20 s without an answer"),
    ],
)
def test_explain_says_how_long_an_approval_waits(skelo: Skelo, mode: str, limit: str, words: str) -> None:
    skelo.write(
        "ask.yaml",
        f"name: ask\nblocks:\n  - {{id: ask, prompt: hi, mode: {mode}, approval: {{prompt: ok?{limit}}}}}\n",
    )
    assert f"{words}\n" in skelo("explain", "ask.yaml").out


def test_explain_as_json_lists_layers_blocks_edges_and_totals(skelo: Skelo) -> None:
    skelo.write("good.yaml", GOOD)
    document = skelo("explain", "good.yaml", "--json").document
    assert document["layers"] == [["first"], ["left", "right"]]
    assert [(block["id"], block["badge"], block["effect"]) for block in document["blocks"]] == [
        ("first", "DET", "pure"),
        ("left", "DET", "pure"),
        ("right", "HUMAN", "idempotent"),
    ]
    assert {"from": "first", "output": "text", "to": "left", "input": "text"} in document["edges"]
    assert sorted(document["totals"]["byMode"]) == ["approval", "deterministic"]
    assert document["history"] is None


def test_a_run_counts_the_warnings_of_its_workflow(skelo: Skelo) -> None:
    block = "{id: a, mode: deterministic, inputs: {x: string?}, deterministic: {handler: 'builtin:pass'}}"
    skelo.write("my flow.yaml", f"blocks: [{block}]\n")
    told = "1 warning, listed by: skelo validate 'my flow.yaml'"
    for command, code in ((("run",), 0), (("explain",), 0), (("run", "--dry-run"), 0)):
        result = skelo(*command, "my flow.yaml")
        assert (result.code, result.err.splitlines()[0]) == (code, told)
    for command in (("run", "-q"), ("run", "--json"), ("explain", "--json")):
        assert told not in skelo(*command, "my flow.yaml").err


def test_a_dry_run_looks_for_artifacts(skelo: Skelo) -> None:
    transform = "{handler: builtin:transform, config: {map: {n: '1'}}}"
    skelo.write(
        "art.yaml",
        "blocks: [{id: a, mode: deterministic, inputs: {x: {type: artifact?, from: inputs.x}}, outputs: {n: integer},\n"
        f"  deterministic: {transform}}}]\ninputs: {{x: artifact?}}\n",
    )
    assert skelo("run", "art.yaml", "-q").code == 0
    named = ("--input", f"x=artifact://{uuid.UUID(int=0)}")
    for extra in ((), ("--dry-run",)):
        result = skelo("run", "art.yaml", *named, *extra)
        assert (result.code, result.err) == (2, "error: INPUT_INVALID input 'x': there is no such artifact\n")


def test_a_dry_run_checks_the_inputs_and_starts_nothing(skelo: Skelo) -> None:
    skelo.write("good.yaml", GOOD)
    assert skelo("run", "good.yaml", "--dry-run", "--json").document["error"]["code"] == "INPUT_MISSING"
    result = skelo("run", "good.yaml", "--dry-run", "--input", "who=Ada")
    assert result.code == 0
    assert result.out.endswith("dry run: the workflow and its inputs are valid, nothing was started\n")
    assert not (skelo.folder / ".skelo").exists()


def test_a_file_that_is_no_workflow_is_said_to_be_none(skelo: Skelo) -> None:
    (skelo.folder / "binary").write_bytes(b"\xff\x00\xfe")
    for name, code in (("nowhere.yaml", "FILE_NOT_FOUND"), (".", "FILE_UNREADABLE"), ("a" * 5000, "FILE_UNREADABLE")):
        result = skelo("validate", name, "--json")
        assert (result.code, result.document["error"]["code"]) == (2, code)
    assert skelo("validate", "binary", "--json").code == 2


def test_init_writes_a_project_that_validates_runs_and_passes_its_tests(tmp_path: Path) -> None:
    skelo = Skelo(folder=tmp_path)
    made = skelo("init", "demo", "--json")
    assert made.code == 0
    assert made.document["files"] == [
        ".gitignore",
        "README.md",
        "handlers/words.py",
        "hello.test.yaml",
        "hello.yaml",
        "release.test.yaml",
        "release.yaml",
        "schema/blocks.schema.json",
        "skelo.yaml",
    ]
    demo = Skelo(folder=tmp_path / "demo")
    first = (demo.folder / "hello.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=./schema/blocks.schema.json"
    assert json.loads((demo.folder / "schema/blocks.schema.json").read_text())["$schema"]
    assert demo("validate", "hello.yaml", "release.yaml").code == 0
    ran = demo("run", "hello.yaml", "--input", "name=Ada", "--json")
    assert (ran.code, ran.document["outputs"]["greeting"]) == (0, "Hello, Ada!")
    assert Path(ran.document["outputs"]["file"]).read_text() == "Hello, Ada!"
    assert demo("test", "hello.yaml").out.endswith("2 passed, 0 failed\n")
    assert demo("test", "release.yaml").out.endswith("2 passed, 0 failed\n")


def test_init_writes_over_nothing_unless_told_to(tmp_path: Path) -> None:
    skelo = Skelo(folder=tmp_path)
    mine = skelo.write("hello.yaml", "mine")
    result = skelo("init")
    assert (result.code, mine.read_text()) == (2, "mine")
    assert result.err.startswith("error: FILE_EXISTS . already has hello.yaml\n")
    assert skelo("init", "--force").code == 0
    assert mine.read_text() != "mine"


def test_init_says_a_command_that_can_be_typed_and_why_it_cannot_write(tmp_path: Path) -> None:
    skelo = Skelo(folder=tmp_path)
    said = skelo("init", "my project").out
    assert "\n  cd 'my project'\n" in said
    for page in (said, (tmp_path / "my project" / "README.md").read_text()):  # nobody looks for what they do not know
        assert re.search(r"^ +skelo serve .*the dashboard", page, re.MULTILINE)
    refused = skelo("init", "my project/skelo.yaml")
    assert (refused.code, refused.err) == (
        2,
        "error: FOLDER_UNWRITABLE cannot write to my project/skelo.yaml: there is a file where a folder is needed\n"
        "  choose another folder\n",
    )


def test_doctor_finds_a_file_where_the_data_dir_should_be(skelo: Skelo) -> None:
    file = skelo.write(".skelo", "")
    told = skelo("doctor", "--json")
    (found,) = [check for check in told.document["checks"] if check["name"] == "data dir"]
    assert (told.code, found["state"], found["detail"]) == (1, "fail", f"{file} is a file, not a folder")


def test_doctor_finds_a_healthy_set_up_healthy_and_a_broken_project_broken(skelo: Skelo) -> None:
    good = skelo("doctor", "--json")
    assert (good.code, good.document["ok"]) == (0, True)
    assert {check["name"] for check in good.document["checks"]} >= {"python", "data dir", "file locks", "durable write"}
    skelo.write("skelo.yaml", "nmae: x\n")
    bad = skelo("doctor", "--json")
    assert (bad.code, bad.document["checks"][-1]["state"]) == (1, "fail")


def test_a_data_dir_that_has_lost_its_version_still_has_its_runs_and_doctor_says_so(skelo: Skelo) -> None:
    skelo("init", "--force")
    ran = skelo("run", "hello.yaml", "--input", "name=Ada", "--json").document
    version = skelo.folder / ".skelo" / "version"
    version.unlink()
    told = skelo("doctor", "--json")
    (found,) = [check for check in told.document["checks"] if check["name"] == "data dir"]
    assert (told.code, found["state"]) == (0, "warn")
    assert found["detail"] == f"{skelo.folder / '.skelo'} has a log.db and no version: the file is lost"
    for command in (("runs",), ("show", "last"), ("verify", "last")):
        version.unlink()
        done = skelo(*command, "--json")
        assert (done.code, ran["runId"] in done.out) == (0, True), command
    version.unlink()
    (skelo.folder / ".skelo" / "log.db").write_bytes(b"no database" * 1000)
    damaged = skelo("doctor", "--json")
    assert (damaged.code, damaged.document["ok"]) == (1, False)
    assert skelo("runs").code != 0


@pytest.mark.parametrize(
    ("server", "state", "detail", "hint"),
    [
        ("command: [sh, -c, x]", "ok", "sh, for add", None),
        ("command: [./server.sh], folder: here", "ok", "./server.sh, for add", None),
        (
            "command: [no-such-program]",
            "warn",
            "no-such-program, for add: there is no such program",
            "install it, or correct `command` in skelo.yaml",
        ),
        (
            "url: 'http://127.0.0.1:1/', headers: {a: '${env:NOT_SET_ANYWHERE}'}",
            "warn",
            "http://127.0.0.1:1/, for add: the environment variable NOT_SET_ANYWHERE is not set",
            "set NOT_SET_ANYWHERE before starting skelo",
        ),
    ],
)
def test_doctor_says_what_an_mcp_server_needs(
    skelo: Skelo, server: str, state: str, detail: str, hint: str | None
) -> None:
    skelo.write("here/server.sh", "#!/bin/sh\n").chmod(0o755)
    skelo.write("skelo.yaml", f"mcp: {{sums: {{{server}}}}}\ntools: {{add: {{mcp: sums}}}}\n")
    checks = skelo("doctor", "--json").document["checks"]
    assert {"name": "mcp sums", "state": state, "detail": detail, "hint": hint} in checks
