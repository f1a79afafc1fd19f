"""The sandbox holds: each attempt to get out fails in it, and succeeds without it where that can be shown safely."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest

from openskelo import errors
from openskelo.agents.sandbox import inside_sandbox, landlock, program_paths, sandbox
from openskelo.kernel.json import Json
from openskelo.testing import scripted_model_server
from tests import forked_skelo
from tests.agents import escape_attempts, escape_scene, repository

_INSIDE = (sys.executable, "-I", "-S", inside_sandbox.__file__)

#: What Landlock does not prevent. `landlock.limits` says each of it in words.
LANDLOCK_GAPS = {
    "connect_to_a_socket_in_a_file",
    "exchange_datagrams_with_the_host",
    "lead_git_somewhere_else",
    "link_a_file_of_the_user_into_the_worktree",
    "make_a_namespace_of_its_own",
    "move_the_folder_of_its_settings_away",
    "move_the_link_to_git_away",
    "obey_the_settings_of_the_repository",
    "obey_the_settings_that_a_link_leads_to",
    "read_the_password_of_a_remote",
    "remove_its_own_settings",
    "remove_the_link_to_git",
    "replace_its_own_settings",
    "resolve_a_name",
    "see_other_processes",
    "use_shared_memory_of_the_host",
    "change_the_priority_of_another_process",
    "write_its_own_settings",
}


@pytest.fixture(scope="module", params=escape_scene.USERS)
def scene(request: pytest.FixtureRequest) -> Generator[escape_scene.Scene]:
    with escape_scene.make(escape_scene.USERS[request.param]) as made:
        yield made


@pytest.mark.parametrize("name", escape_attempts.ATTEMPTS)
def test_an_attempt_to_get_out_fails(scene: escape_scene.Scene, name: str) -> None:
    boxed = scene.attempt_boxed("bubblewrap", name)
    assert boxed.returncode == 1, (boxed.stdout, boxed.stderr)
    shown = escape_attempts.UNBOXED[name]
    if shown == "any" or (shown == "root" and scene.user == 0):
        unboxed = scene.try_unboxed(name)
        assert unboxed.returncode == 0, unboxed.stderr


@pytest.mark.parametrize("name", [name for name in escape_attempts.ATTEMPTS if name not in LANDLOCK_GAPS])
def test_an_attempt_that_landlock_prevents_fails(scene: escape_scene.Scene, name: str) -> None:
    boxed = scene.attempt_boxed("landlock", name)
    assert boxed.returncode == 1, (boxed.stdout, boxed.stderr)


def test_the_gaps_of_landlock_are_told() -> None:
    assert len(landlock.limits(7)) == 6
    assert "it can use TCP freely: this kernel is older than 6.7" in landlock.limits(3)
    assert "it can send signals to other processes of this user" in landlock.limits(5)


# -- what the program inside is to reach ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_it_may_change_its_worktree_and_its_home_and_read_the_repository(
    scene: escape_scene.Scene, kind: sandbox.Kind
) -> None:
    script = (
        "set -e; echo x > made.txt; test -f hello.txt; git status --porcelain | grep -q made.txt;"
        " git diff --quiet hello.txt; git log --oneline | grep -q two; echo x > $HOME/mine;"
        " echo x > ${TMPDIR:-/tmp}/mine; rm made.txt"
    )
    done = scene.try_boxed(kind, "/bin/sh", "-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    assert (scene.place.home / "mine").exists()


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_it_reaches_its_own_session(scene: escape_scene.Scene, kind: sandbox.Kind) -> None:
    port = sandbox.relay_port(sandbox.choose_now(kind)) or scene.values["server_port"]
    url = f"http://127.0.0.1:{port}/{scene.values['own_path']}/hello"
    code = (
        "import sys, urllib.request as r; print(r.urlopen(r.Request(sys.argv[1], "
        "headers={'Authorization': 'Bearer ' + sys.argv[2]})).read())"
    )
    done = scene.try_boxed(kind, escape_scene.python(), "-c", code, url, scene.values["token"])
    assert (done.returncode, done.stdout) == (0, "b'hello'\n"), done.stderr


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_while_planning_it_cannot_change_its_worktree(scene: escape_scene.Scene, kind: sandbox.Kind) -> None:
    for command in ("echo x > new.txt", "echo x >> hello.txt", "rm hello.txt", "mv hello.txt other.txt", "mkdir new"):
        done = scene.try_boxed(kind, "/bin/sh", "-c", command, is_read_only=True)
        assert done.returncode != 0, command
    assert (scene.place.tree / "hello.txt").read_text() == "hello\n"
    assert scene.try_boxed(kind, "/bin/sh", "-c", "cat hello.txt; echo x > $HOME/notes", is_read_only=True).stdout


def test_settings_of_the_repository_that_are_hidden_are_not_changed(scene: escape_scene.Scene) -> None:
    done = scene.try_boxed("bubblewrap", "/bin/sh", "-c", "ls -A .codex; cat .mcp.json; echo x > .codex/config.toml")
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert (scene.place.tree / ".codex" / "config.toml").read_text() == "evil = true"


def test_its_environment_is_not_in_the_arguments_that_others_see(scene: escape_scene.Scene) -> None:
    argv = scene.try_boxed("bubblewrap", "/bin/sh", "-c", ":").args
    assert not [word for word in argv if word.startswith(("HOME=", "PATH=")) or word == "--setenv"]


# -- the program of ours inside ---------------------------------------------------------------------------------------


def test_the_exit_code_comes_out(scene: escape_scene.Scene) -> None:
    assert scene.try_boxed("bubblewrap", "/bin/sh", "-c", "exit 3").returncode == 3
    assert scene.try_boxed("bubblewrap", "/bin/sh", "-c", "kill -9 $$").returncode == 128 + signal.SIGKILL


def test_the_relay_passes_signals_on_and_leaves_the_pipes_alone(tmp_path: Path) -> None:
    script = "trap 'echo ended; exit 5' TERM; read line; echo got $line; while :; do sleep 0.05; done"
    argv = (*_INSIDE, "relay", "47017=/nowhere", "--", "/bin/sh", "-c", script)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as relay:
        assert relay.stdin is not None
        assert relay.stdout is not None
        relay.stdin.write("hello\n")
        relay.stdin.flush()
        assert relay.stdout.readline() == "got hello\n"
        relay.send_signal(signal.SIGTERM)
        assert (relay.stdout.readline(), relay.wait(10)) == ("ended\n", 5)


def test_a_program_that_cannot_be_started_ends_with_a_sentence() -> None:
    done = subprocess.run([*_INSIDE, "relay", "--", "/no/such/program"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        127,
        "/no/such/program cannot be started in the sandbox: No such file or directory\n",
    )


def test_a_port_that_cannot_be_opened_ends_with_a_sentence(scene: escape_scene.Scene) -> None:
    argv = scene.try_boxed("bubblewrap", "/bin/sh", "-c", ":").args
    relay = argv.index("relay")
    done = scene.run([*argv[: relay + 1], "80=/nowhere", *argv[argv.index("--", relay) :]], {})
    assert (done.returncode, done.stderr) == (127, "port 80 cannot be opened in the sandbox: Permission denied\n")


def test_killing_the_outer_process_ends_everything_inside(scene: escape_scene.Scene) -> None:
    argv = scene.try_boxed("bubblewrap", "/bin/sh", "-c", ":").args
    mark = f"97{os.getpid()}"
    command = [*argv[: argv.index("/bin/sh")], "/bin/sh", "-c", f"sleep {mark} & setsid sleep {mark} & wait"]
    with subprocess.Popen(command, cwd=scene.place.tree, env={"PATH": os.defpath}, **scene.identity) as outer:
        _wait_for(lambda: len(_processes(mark)) == 2)
        outer.send_signal(signal.SIGKILL)
    _wait_for(lambda: not _processes(mark))


def test_the_hook_prints_the_answer_and_refuses_without_one(scene: escape_scene.Scene) -> None:
    url = f"http://127.0.0.1:{scene.values['server_port']}/{scene.values['own_path']}/hello"
    argv = [*_INSIDE, "hook"]
    token = {"SKELO_HOOK_TOKEN": scene.values["token"]}
    said = subprocess.run([*argv, url], input=b"{}", env=token, capture_output=True, check=False)
    assert (said.returncode, said.stdout) == (0, b"hello")
    wrong = subprocess.run([*argv, url], input=b"{}", env={}, capture_output=True, check=False)
    assert (wrong.returncode, wrong.stderr) == (2, b"OpenSkelo answered with HTTP 404\n")
    closed = subprocess.run([*argv, "http://127.0.0.1:9/x"], input=b"{}", env=token, capture_output=True, check=False)
    assert closed.returncode == 2
    assert b"OpenSkelo did not answer" in closed.stderr


def _processes(argument: str) -> list[int]:
    wanted = f"sleep\0{argument}\0".encode()
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal() and escape_attempts.read(entry / "cmdline") == wanted
    ]


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# -- choosing one -----------------------------------------------------------------------------------------------------


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[None]:
    """Let `bwrap` be missing for a while."""
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox.probe.cache_clear()
    yield
    monkeypatch.undo()
    sandbox.probe.cache_clear()


def test_auto_takes_bubblewrap_and_else_landlock_and_never_none(
    without_bubblewrap: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sandbox.choose_now("auto").kind == "landlock"
    assert sandbox.choose_now("none").kind == "none"
    monkeypatch.setattr(inside_sandbox, "landlock_version", lambda: 0)
    sandbox.probe.cache_clear()
    with pytest.raises(errors.AttemptFailed) as raised:
        sandbox.choose_now("auto")
    assert raised.value.code == "SANDBOX_UNAVAILABLE"
    assert raised.value.message == (
        "the agent cannot be confined here: bubblewrap: the program bwrap is not installed; "
        "landlock: this kernel does not have it"
    )
    assert "the package `bubblewrap`" in str(raised.value.hint)


@pytest.mark.usefixtures("without_bubblewrap")
def test_a_sandbox_that_is_asked_for_and_missing_is_an_error() -> None:
    with pytest.raises(errors.AttemptFailed, match="bwrap is not installed"):
        sandbox.choose_now("bubblewrap")


def test_here_bubblewrap_works() -> None:
    assert sandbox.probe("bubblewrap").sandbox is not None, (
        f"the tests need bubblewrap: {sandbox.probe('bubblewrap').why}; scripts/bubblewrap.sh installs it"
    )
    assert "--disable-userns" in sandbox.choose_now("auto").options


# -- finding what a program needs -------------------------------------------------------------------------------------


def test_a_script_of_npm_needs_its_folder_and_its_interpreter(tmp_path: Path) -> None:
    node = tmp_path / "node" / "bin" / "node"
    script = tmp_path / "app" / "node_modules" / "agent" / "cli.js"
    for path in (node, script, tmp_path / "node" / "lib" / "x"):
        path.parent.mkdir(parents=True, exist_ok=True)
    node.write_text("")
    node.chmod(0o755)
    script.write_text("#!/usr/bin/env node\n")
    script.chmod(0o755)
    link = tmp_path / "app" / "node_modules" / ".bin" / "agent"
    link.parent.mkdir()
    link.symlink_to("../agent/cli.js")
    needed = program_paths.needed_by(link, f"{node.parent}:/usr/bin", private=(tmp_path,))
    assert set(needed) == {tmp_path / "app" / "node_modules", node.parent, tmp_path / "node" / "lib"}


def test_a_program_beside_private_files_is_shown_alone(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert program_paths.needed_by(program, "/usr/bin", private=(tmp_path,)) == (program,)
    assert program_paths.needed_by(program, "/usr/bin", private=()) == (tmp_path,)
    assert program_paths.needed_by(Path("/bin/sh"), "/usr/bin", private=()) == ()


# -- runs -------------------------------------------------------------------------------------------------------------


def _session(root: Path, run_id: Any) -> dict[str, Any]:
    (event, *_) = [event for event in repository.events(root, run_id) if event["type"] == "session.opened"]
    return cast("dict[str, Any]", cast("dict[str, Any]", event["data"])["session"])


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock", "none"])
def test_the_record_says_how_a_run_was_confined(tmp_path: Path, kind: str) -> None:
    root = repository.make(tmp_path, sandbox=kind)
    document = repository.play(root, repository.block("@write new.txt x", "@say done"))
    assert document["ending"] == "ok", document.get("error")
    box = _session(root, document["runId"])["sandbox"]
    assert box["kind"] == kind
    assert bool(box["limits"]) == (kind != "bubblewrap")
    assert repository.processes_left(root) == []


def test_an_agent_that_writes_outside_fails_and_changes_nothing(tmp_path: Path) -> None:
    root = repository.make(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    document = repository.play(root, repository.block(f"@write {outside}/new.txt x", f"@write {root}/hello.txt x"))
    assert list(outside.iterdir()) == []
    assert (root / "hello.txt").read_text() == "hello\n"
    assert document["ending"] == "ok"


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_an_agent_of_a_planning_run_may_read_and_not_write(tmp_path: Path, kind: str) -> None:
    root = repository.make(tmp_path, sandbox=kind)
    document = repository.play(root, repository.block("@write new.txt x", "@say never"), global_mode="PLANNING")
    assert cast("dict[str, Any]", document.get("error"))["code"] == "AGENT_EXITED"
    assert "Read-only file system" in str(document.get("error")) or "Permission denied" in str(document.get("error"))
    document = repository.play(root, repository.block("@say a plan"), global_mode="PLANNING")
    assert (document["ending"], document["globalMode"]) == ("ok", "PLANNING")


def test_an_agent_that_is_not_confined_does_not_plan(tmp_path: Path) -> None:
    root = repository.make(tmp_path, sandbox="none")
    document = repository.play(root, repository.block("@say a plan"), global_mode="PLANNING")
    assert cast("dict[str, Any]", document.get("error"))["code"] == "PLANNING_MODE"


def test_a_run_is_refused_before_anything_starts_where_its_sandbox_is_missing(tmp_path: Path) -> None:
    root = repository.make(tmp_path, sandbox="bubblewrap")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(cast("str", shutil.which(name)))
    (root / "flow.yaml").write_text(json.dumps(repository.block("@say x")))
    done = forked_skelo.run(["run", "flow.yaml", "--json"], folder=root, env={"PATH": str(programs)})
    assert done.returncode == 2
    assert "SANDBOX_UNAVAILABLE" in done.stdout + done.stderr
    assert "install bubblewrap" in done.stdout + done.stderr


def test_a_program_that_is_not_visible_inside_is_named(tmp_path: Path) -> None:
    root = repository.make(tmp_path, command=["./agent"])
    (root / "agent").write_text("#!/bin/sh\n")
    document = repository.play(root, repository.block("@say x"))
    assert cast("dict[str, Any]", document.get("error"))["code"] == "AGENT_NOT_STARTED"


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
@pytest.mark.parametrize(("network", "status"), [("model", "[200]"), ("none", "[404]")])
def test_an_agent_reaches_its_model_unless_it_may_not(tmp_path: Path, kind: str, network: str, status: str) -> None:
    with scripted_model_server.serve() as server:
        root = repository.make(tmp_path, sandbox=kind, network=network, base_url=server.url, model="scripted")
        document = repository.play(root, repository.block("@model @say hi"))
    assert document["ending"] == "ok", document.get("error")
    assert cast("dict[str, Any]", document["nodes"])["work"]["outputs"]["summary"] == status


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_an_agent_reaches_a_server_of_this_machine_that_the_project_names(tmp_path: Path, kind: str) -> None:
    with scripted_model_server.serve() as server:
        place = server.url.removeprefix("http://")
        for network, answer in (
            ([place], "[HTTP/1.1 200 Connection established]"),
            (["127.0.0.1:9999"], "[HTTP/1.1 403"),
        ):
            folder = tmp_path / str(len(answer))
            folder.mkdir()
            root = repository.make(folder, sandbox=kind, network=cast("Json", network))
            document = repository.play(root, repository.block(f"@connect {place}"))
            said = cast("dict[str, Any]", document["nodes"])["work"]["outputs"]["summary"]
            assert said.startswith(answer), said
