"""Commands that start, drive, read and end runs, on a real data dir."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import time
from datetime import datetime
from pathlib import Path

import pytest

from tests import forked_skelo
from tests.cli.conftest import Result, Skelo, clean_environment
from tests.cli.terminals import Terminal

CHAIN = """\
name: chain
inputs: {n: integer}
blocks:
  - id: double
    mode: deterministic
    inputs: {n: {type: integer, from: inputs.n}}
    outputs: {n: integer}
    deterministic: {handler: builtin:transform, config: {map: {n: inputs.n * 2}}}
  - id: next
    mode: deterministic
    inputs: {n: {type: integer, from: double.n}}
    outputs: {n: integer}
    deterministic: {handler: builtin:transform, config: {map: {n: inputs.n + 1}}}
outputs: {result: next.n}
"""
SLOW = """\
name: slow
blocks:
  - id: wait
    mode: deterministic
    outputs: {done: boolean}
    deterministic: {handler: handlers/wait.py}
  - id: after
    mode: deterministic
    inputs: {done: {type: boolean, from: wait.done}}
    outputs: {done: boolean}
    deterministic: {handler: builtin:pass}
"""
WAIT = """\
import pathlib, time
def handler(ctx):
    pathlib.Path("started").touch()
    for _ in range(600):
        if pathlib.Path("go").exists():
            return {"done": True}
        time.sleep(0.05)
    raise TimeoutError
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Skelo, Result]:
    """A project with one ended run."""
    folder = tmp_path_factory.mktemp("ended")
    (folder / "skelo.yaml").write_text("name: test\n")
    (folder / "chain.yaml").write_text(CHAIN)
    skelo = Skelo(folder=folder)
    return skelo, skelo("run", "chain.yaml", "--input", "n=20", "--json")


def test_run_prints_the_whole_document(ended: tuple[Skelo, Result]) -> None:
    _, ran = ended
    document = ran.document
    assert ran.code == 0
    assert (document["status"], document["ending"], document["phase"]) == ("completed", "ok", "DONE")
    assert document["outputs"] == {"result": 41}
    node = {"status": "idle", "outcome": "succeeded", "mode": "deterministic", "visits": 1, "attempts": 1}
    assert document["nodes"] == {"double": {**node, "outputs": {"n": 40}}, "next": {**node, "outputs": {"n": 41}}}
    assert document["approvals"] == []
    assert list(document["budget"]) == ["steps", "tokens", "costUsd", "wallMs", "toolSpendUsd"]
    assert document["budget"]["steps"] == {"used": 2, "limit": None}
    assert "error" not in document


def test_progress_goes_to_stderr_in_plain_lines(ended: tuple[Skelo, Result]) -> None:
    _, ran = ended
    lines = ran.err.splitlines()
    assert lines[0] == f"run {ran.document['runId']}"
    assert [line.split()[1:3] for line in lines[1:]] == [
        ["double", "started"],
        ["double", "done"],
        ["next", "started"],
        ["next", "done"],
    ]


def test_show_says_the_same_from_the_log(ended: tuple[Skelo, Result]) -> None:
    skelo, ran = ended
    shown = skelo("show", ran.document["runId"], "--json")
    assert (shown.code, shown.document, shown.err) == (0, ran.document, "")


def test_a_run_may_be_named_by_its_first_characters_or_last(ended: tuple[Skelo, Result]) -> None:
    skelo, ran = ended
    run_id = ran.document["runId"]
    assert skelo("output", run_id[:8], "result").out == "41\n"
    assert skelo("output", "last", "double.n", "--json").document == 40
    assert skelo("show", "zzzz", "--json").document["error"]["code"] == "RUN_NOT_FOUND"
    assert skelo("show", run_id[:2], "--json").document["error"]["code"] == "USAGE"


def test_an_unknown_output_names_those_there_are(ended: tuple[Skelo, Result]) -> None:
    skelo, _ = ended
    result = skelo("output", "last", "nothing")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: OUTPUT_NOT_FOUND this run has no output nothing\n  its outputs: result\n"
    assert skelo("output", "last", "double").err.endswith("\n  double is a node, with double.n\n")
    assert skelo("output", "last", "duble.n").err.endswith("\n  did you mean 'double.n'?\n")
    assert skelo("output", "last", "reslt").err.endswith("\n  did you mean 'result'?\n")


def test_one_of_a_thing_is_not_many(skelo: Skelo) -> None:
    skelo.write(
        "one.yaml",
        "name: one\nblocks:\n  - {id: a, mode: deterministic, foreach: {items: '[1]'}, outputs: {n: integer},"
        " deterministic: {handler: builtin:transform, config: {map: {n: item}}}}\n",
    )
    ran = skelo("run", "one.yaml")
    assert (ran.code, " 1 item\n" in ran.err) == (0, True)
    assert "\nused 1 step, " in skelo("show", "last").out


def test_runs_lists_the_newest_first_and_nothing_where_there_is_no_data_dir(
    ended: tuple[Skelo, Result], tmp_path: Path
) -> None:
    skelo, ran = ended
    (row,) = skelo("runs", "--json").document["runs"]
    assert list(row) == ["runId", "name", "status", "ending", "createdAt", "updatedAt"]
    assert (row["runId"], row["name"], row["status"], row["ending"]) == (
        ran.document["runId"],
        "chain",
        "completed",
        "ok",
    )
    empty = skelo("runs", "--json", "--data-dir", str(tmp_path / "none"))
    assert (empty.code, empty.document) == (0, {"runs": []})
    assert not (tmp_path / "none").exists()


def test_an_empty_list_names_the_data_dir(ended: tuple[Skelo, Result], tmp_path: Path) -> None:
    skelo, _ = ended
    none = tmp_path / "none"
    assert skelo("runs", "--data-dir", str(none)).err == f"no runs in {none}\n"
    assert skelo("runs", "--status", "failed").err == f"no failed runs in {skelo.folder}/.skelo\n"
    nothing = "nothing is waiting for a person"
    assert skelo("approvals", "--data-dir", str(none)).err == f"{nothing}: no runs are kept in {none}\n"
    assert skelo("approvals").err == f"{nothing}\n"
    assert not none.exists()


def test_events_are_the_lines_of_the_log(ended: tuple[Skelo, Result]) -> None:
    skelo, ran = ended
    printed = skelo("events", "last", "--json")
    file = skelo.folder / ".skelo" / "events" / "000000000001.jsonl"
    lines = [line for line in file.read_text().splitlines(keepends=True) if ran.document["runId"] in line]
    assert (printed.code, printed.out) == (0, "".join(lines))
    later = skelo("events", "last", "--after", "5", "--follow")
    assert [line.split()[2] for line in later.out.splitlines()] == ["run.ended"]


def test_events_tell_how_a_run_began_what_it_keeps_and_how_it_ended(skelo: Skelo) -> None:
    skelo.write("handlers/say.py", "def handler(ctx):\n    print('hm')\n    return {}\n")
    said = "name: said\nblocks: [{id: a, mode: deterministic, deterministic: {handler: handlers/say.py}}]\n"
    skelo.write("said.yaml", said)
    assert skelo("run", "said.yaml").code == 0
    told = [line.split("Z  ")[1].split() for line in skelo("events", "last").out.splitlines()]
    assert [words[:4] for words in told if words[0] != "attempt.succeeded"] == [
        ["run.created", "run", "of", "said"],
        ["attempt.started", "a", "started"],
        ["artifact.created", "a", "artifact", "a.log"],
        ["run.ended", "run", "ended:", "ok"],
    ]


def test_receipts_verify_replay_export_agree(ended: tuple[Skelo, Result], tmp_path: Path) -> None:
    skelo, ran = ended
    receipts = skelo("receipts", "last", "--json").document
    assert [receipt["step_id"] for receipt in receipts["receipts"]] == ["double", "next"]
    assert receipts["digest"].startswith("sha256:")
    verified = skelo("verify", "last", "--json")
    assert (verified.code, verified.document["intact"], verified.document["ended"]) == (0, True, True)
    replayed = skelo("replay", "last", "--json")
    assert (replayed.code, replayed.document["counts"]["same"]) == (0, 2)
    file = tmp_path / "run.skelo.jsonl"
    assert skelo("export", "last", "--sign", "-o", str(file), "--json").document["runId"] == ran.document["runId"]
    elsewhere = skelo("verify", str(file), "--json", folder=tmp_path)
    assert (elsewhere.code, elsewhere.document["signature"]) == (0, "ok")
    file.write_bytes(file.read_bytes().replace(b"succeeded", b"succeedee", 1))
    altered = skelo("verify", str(file), folder=tmp_path)
    assert (altered.code, altered.out.split()[0]) == (1, "altered")


def test_the_path_of_an_export_is_its_last_line_on_a_terminal_too(ended: tuple[Skelo, Result], tmp_path: Path) -> None:
    skelo, _ = ended
    file = tmp_path / "run.skelo.jsonl"
    terminal = Terminal(skelo.folder, "export", "last", "--output", str(file))
    assert terminal.end() == 0
    lines = terminal.seen.splitlines()
    assert lines[0].startswith("6 events, ")
    assert lines[-1] == str(file)


def test_fork_keeps_what_came_before_and_diff_shows_the_rest(ended: tuple[Skelo, Result], tmp_path: Path) -> None:
    original, ran = ended
    skelo = Skelo(folder=Path(shutil.copytree(original.folder, tmp_path / "copy")))
    forked = skelo("fork", ran.document["runId"], "--from", "next", "--set", "n=7", "--json")
    assert (forked.code, forked.document["outputs"]) == (0, {"result": 8})
    assert forked.document["nodes"]["double"]["outputs"] == {"n": 40}
    compared = skelo("diff", ran.document["runId"], forked.document["runId"], "--json", "--exit-code")
    assert compared.code == 1
    changed = {node["node"]: node["outputs"] for node in compared.document["nodes"]}["next"]
    assert [(change["path"], change["before"], change["after"]) for change in changed] == [("/n", 41, 8)]
    shown = skelo("diff", ran.document["runId"], forked.document["runId"]).out
    assert "  - inputs/n  40\n  + inputs/n  7\n  - /n  41\n  + /n  8\n" in shown
    again = skelo("fork", ran.document["runId"], "--from", "next", "--json").document["runId"]
    same = skelo("diff", ran.document["runId"], again, "--exit-code")
    assert (same.code, same.out.splitlines()[2:]) == (
        0,
        ["same workflow", "same work, by the receipts", "2 of 2 nodes are the same"],
    )


def test_diff_shows_how_runs_ended_and_what_is_not_finished(skelo: Skelo) -> None:
    ask = "{id: ask, mode: approval, outputs: {approved: boolean}, approval: {prompt: Well?}}"
    read = (
        "{id: read, mode: deterministic, inputs: {path: string}, outputs: {content: string},"
        " deterministic: {handler: builtin:read-file, config: {path_from: path}}}"
    )
    skelo.write("fails.yaml", f"name: fails\nblocks:\n  - {read}\noutputs: {{text: read.content}}\n")
    skelo.write("asks.yaml", f"name: asks\nblocks:\n  - {ask}\n")
    skelo.write("here.txt", "here\n")
    ran = [
        skelo("run", "fails.yaml", "--input", f"path={name}", "--json") for name in ("one.txt", "two.txt", "here.txt")
    ]
    assert [one.code for one in ran] == [1, 1, 0]
    one, two, here = (str(one.document["runId"]) for one in ran)
    failed = skelo("diff", one, two, "--exit-code")
    assert failed.code == 1
    assert "\nread\n  - error " in failed.out
    assert "one.txt" in failed.out.split("- error ")[1].splitlines()[0]
    assert "two.txt" in failed.out.split("+ error ")[1].splitlines()[0]
    assert '\noutputs\n  + /text  "here\\n"\nread  failed -> succeeded\n' in skelo("diff", one, here).out
    waiting = [str(skelo("run", "asks.yaml", "--json").document["runId"]) for _ in range(2)]
    assert "\nask  asking in both\n0 of 1 nodes are the same\n" in skelo("diff", *waiting).out


def test_diff_shows_long_values_from_where_they_part(skelo: Skelo) -> None:
    skelo.write(
        "say.yaml",
        "name: say\ninputs: {n: string}\nblocks:\n  - {id: say, mode: deterministic, outputs: {said: boolean},"
        " deterministic: {handler: builtin:transform, config: {map: {said: 'true'}}}}\n",
    )
    same = "a" * 200
    ran = [skelo("run", "say.yaml", "--input", f"n={same}{end}", "--json") for end in ("-first", "-second")]
    shown = skelo("diff", *(str(one.document["runId"]) for one in ran)).out
    kept = "a" * 39 + "-"
    assert f'\ninputs\n  - /n  …{kept}first"\n  + /n  …{kept}second"\n' in shown


def test_bad_inputs_exit_2_and_start_nothing(skelo: Skelo) -> None:
    skelo.write("chain.yaml", CHAIN)
    for words, code in (
        ((), "INPUT_MISSING"),
        (("--input", "n=many"), "INPUT_INVALID"),
        (("--input", "n=1.5"), "INPUT_INVALID"),
        (("--input", "m=1"), "INPUT_UNKNOWN"),
        (("--inputs", "nowhere.json"), "FILE_UNREADABLE"),
    ):
        result = skelo("run", "chain.yaml", *words, "--json")
        assert (result.code, result.document["error"]["code"]) == (2, code)
    assert skelo("runs", "--json").document == {"runs": []}


def test_a_failed_run_says_why_and_exits_1(skelo: Skelo) -> None:
    skelo.write("fails.yaml", CHAIN.replace("inputs.n + 1", "inputs.n / 0"))
    result = skelo("run", "fails.yaml", "--inputs", "-", stdin='{"n": 1}')
    assert result.code == 1
    assert result.out.startswith("failed  ")
    assert " in next: " in result.out
    assert skelo("resume", "last", "--json").document["ending"] == "failed"


def test_a_failed_run_says_how_to_go_on_and_that_does(skelo: Skelo) -> None:
    flow = CHAIN.replace("builtin:transform, config: {map: {n: inputs.n + 1}}", "handlers/next.py")
    skelo.write("fails.yaml", flow)
    skelo.write("handlers/next.py", "def handler(ctx):\n    return {}\n")
    failed = skelo("run", "fails.yaml", "--input", "n=1")
    assert failed.code == 1
    row = skelo("runs", "--json").document["runs"][0]
    command = f"skelo fork {row['runId'][:8]} --from next"
    advice = f"after fixing the cause, try again and keep what came before: {command}"
    said = [skelo(*words, "last").err.splitlines()[-1] for words in (("show",), ("resume",))]
    assert [failed.err.splitlines()[-1], *said] == [advice] * 3
    skelo.write("handlers/next.py", "def handler(ctx):\n    return {'n': ctx.inputs['n'] + 1}\n")
    forked = skelo(*command.split()[1:], "--json")
    assert (forked.code, forked.document["outputs"]) == (0, {"result": 3})
    assert "fork" not in skelo("show", "last").err


def test_the_last_lines_that_a_handler_prints_are_shown_as_soon_as_it_has_ended(skelo: Skelo) -> None:
    skelo.write("flow.yaml", "blocks: [{id: talk, mode: deterministic, deterministic: {handler: talk.py}}]\n")
    skelo.write(
        "talk.py", "def handler(ctx):\n    for number in range(23):\n        print('line', number)\n    return {}\n"
    )
    result = skelo("run", "flow.yaml")
    assert result.code == 0, result.err
    said = [line.partition(" | ")[2] for line in result.err.splitlines() if line.split()[:2] == ["talk", "|"]]
    assert said == ["(3 lines before)", *(f"line {number}" for number in range(3, 23))]


def test_the_logs_of_items_have_their_numbers_and_do_not_flood_the_view(skelo: Skelo) -> None:
    skelo.write(
        "flow.yaml",
        "blocks:\n"
        "  - id: talk\n"
        "    mode: deterministic\n"
        "    foreach: {items: '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]', concurrency: 1}\n"
        "    deterministic: {handler: talk.py}\n",
    )
    skelo.write(
        "talk.py", "def handler(ctx):\n    for number in range(5):\n        print('line', number)\n    return {}\n"
    )
    result = skelo("run", "flow.yaml")
    assert result.code == 0, result.err
    said = [line.split(" | ")[0].split()[-1] for line in result.err.splitlines() if " | " in line]
    assert said == [f"talk[{item}]" for item in range(10) for _ in range(4)] + ["talk"]
    run_id = skelo("runs", "--json").document["runs"][0]["runId"]
    assert f"| (logs of more items are not shown here: skelo show {run_id[:8]} --logs)\n" in result.err


def test_a_spent_budget_exits_4(skelo: Skelo) -> None:
    skelo.write("chain.yaml", CHAIN + "budgets: {max_steps: 1}\n")
    result = skelo("run", "chain.yaml", "--input", "n=1", "--json")
    assert (result.code, result.document["ending"]) == (4, "budget_exceeded")


def _start_slow(skelo: Skelo, flow: str = SLOW, handler: str = WAIT) -> forked_skelo.ForkedProcess:
    skelo.write("slow.yaml", flow)
    skelo.write("handlers/wait.py", handler)
    process = forked_skelo.start(["run", "slow.yaml", "--json"], folder=skelo.folder, env=clean_environment())
    deadline = time.monotonic() + 100
    while not (skelo.folder / "started").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def test_ctrl_c_suspends_and_resume_goes_on(skelo: Skelo) -> None:
    process = _start_slow(skelo)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert "Traceback" not in err
    assert process.returncode == 3
    suspended = Result(code=3, out=out, err=err).document
    assert (suspended["status"], suspended["ending"]) == ("paused", None)
    (skelo.folder / "go").touch()
    resumed = skelo("resume", "last", "--json")
    assert (resumed.code, resumed.document["ending"]) == (0, "ok")
    assert resumed.document["outputs"] == {"done": True}


def test_ctrl_c_in_the_last_step_lets_a_once_effect_finish_and_with_it_the_run(skelo: Skelo) -> None:
    last = SLOW.partition("  - id: after")[0].replace("    deterministic:", "    effect: once\n    deterministic:")
    process = _start_slow(skelo, last)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert any("run paused" in line for line in iter(process.stderr.readline, ""))
    (skelo.folder / "go").touch()
    out, err = process.communicate(timeout=20)
    ended = Result(code=process.wait(), out=out, err=err)
    assert (ended.code, ended.document["status"], ended.document["ending"]) == (0, "completed", "ok")


def test_a_node_that_waits_for_its_next_attempt_is_not_called_running(skelo: Skelo) -> None:
    retry = "    retry: {max_attempts: 2, delay_ms: 60000}\n    deterministic: {handler: handlers/wait.py}"
    flow = SLOW.replace("    deterministic: {handler: handlers/wait.py}", retry)
    process = _start_slow(skelo, flow, WAIT.replace("    for _", "    raise OSError('busy')\n    for _"))
    assert process.stderr is not None
    assert any("will try again" in line for line in iter(process.stderr.readline, ""))
    shown = skelo("show", "last", "--json").document["nodes"]["wait"]
    assert (shown["status"], shown["outcome"], shown["attempts"]) == ("idle", None, 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 3
    suspended = skelo("show", "last", "--json").document["nodes"]
    assert (suspended["wait"], suspended["after"].get("retryAt")) == (shown, None)
    due = datetime.fromisoformat(shown["retryAt"]).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    rows = [line for line in skelo("show", "last").out.splitlines() if line.startswith(("wait ", "after "))]
    assert [row.split("  ")[2].strip() for row in rows] == [f"waiting until {due}", "idle"]


def test_a_node_whose_attempt_was_suspended_is_not_called_running(skelo: Skelo) -> None:
    process = _start_slow(skelo)
    assert skelo("show", "last", "--json").document["nodes"]["wait"]["status"] == "running"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 3
    shown = skelo("show", "last")
    assert (shown.code, shown.out.count("waiting"), shown.out.count("running")) == (3, 1, 0)


def test_a_second_ctrl_c_cancels(skelo: Skelo) -> None:
    process = _start_slow(skelo)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert any("Ctrl-C again cancels it" in line for line in iter(process.stderr.readline, ""))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert "Traceback" not in err
    assert (process.returncode, Result(code=0, out=out, err=err).document["ending"]) == (130, "cancelled")


def test_cancel_from_another_process_ends_the_run(skelo: Skelo) -> None:
    process = _start_slow(skelo)
    cancelled = skelo("cancel", "last", "--reason", "enough", "--json")
    assert (cancelled.code, cancelled.document["ending"]) == (0, "cancelled")
    process.communicate(timeout=20)
    assert process.returncode == 130
    again = skelo("cancel", "last", "--json")
    assert (again.code, again.document["error"]["code"]) == (2, "RUN_ENDED")


def test_a_cut_effect_is_asked_about_and_its_outputs_are_read_by_their_schema(skelo: Skelo) -> None:
    process = _start_slow(
        skelo, SLOW.replace("outputs: {done: boolean}", "effect: once\n    outputs: {done: boolean}", 1)
    )
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    paused = skelo("resume", "last")
    assert paused.code == 3
    assert "    done by handlers/wait.py\n" in paused.out
    assert "--set done=…   it did happen\n" in paused.out
    (approval,) = skelo("approvals", "last", "--json").document["approvals"]
    assert (approval["node"], approval["kind"]) == ("wait", "uncertain")
    assert skelo("approve", approval["id"], "--set", "done=perhaps", "--json").code == 2
    happened = skelo("approve", approval["id"], "--set", "done=true", "--json")
    assert (happened.code, happened.document["outputs"]) == (0, {"done": True})


def test_events_follow_a_run_that_another_process_drives(skelo: Skelo) -> None:
    process = _start_slow(skelo)
    words = ["events", "last", "--follow", "--json"]
    follower = forked_skelo.start(words, folder=skelo.folder, env=clean_environment())
    assert follower.stdout is not None
    assert '"type":"run.created"' in follower.stdout.readline()
    (skelo.folder / "go").touch()
    out, _ = follower.communicate(timeout=20)
    assert (follower.returncode, '"type":"run.ended"' in out.splitlines()[-1]) == (0, True)
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_data_dir_that_cannot_be_is_invalid_input(skelo: Skelo, tmp_path: Path) -> None:
    skelo.write("chain.yaml", CHAIN)
    for name, version in (("older", "3"), ("newer", "99")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "version").write_text(f"{version}\n")
    places = {
        "chain.yaml": ("STORE_IO", "check the data dir's disk, owner and permissions"),
        str(tmp_path / "older"): ("STORE_VERSION", "move it away and start anew"),
        str(tmp_path / "newer"): ("STORE_VERSION", "use a newer openskelo"),
    }
    for place, refusal in places.items():
        result = skelo("run", "chain.yaml", "--input", "n=1", "--json", env={"SKELO_HOME": place})
        error = result.document["error"]
        assert (result.code, error["code"], error["hint"]) == (2, *refusal)


def test_a_data_dir_of_another_version_below_the_folder_is_passed_over(skelo: Skelo) -> None:
    skelo.write("deep/.skelo/version", "3\n")
    result = skelo("runs", "--json")
    assert (result.code, result.document, result.err) == (0, {"runs": []}, "")


def test_a_killed_run_goes_on_where_it_stopped(skelo: Skelo) -> None:
    process = _start_slow(skelo)
    busy = skelo("resume", "last", "--json")
    assert (busy.code, busy.document["error"]["code"]) == (2, "BUSY")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    (skelo.folder / "go").touch()
    resumed = skelo("resume", "last", "--json")
    assert (resumed.code, resumed.document["ending"]) == (0, "ok")


def test_an_input_that_names_no_file_is_invalid_input(skelo: Skelo) -> None:
    skelo.write(
        "read.yaml",
        """\
name: read
blocks:
  - id: read
    mode: deterministic
    inputs: {path: file}
    outputs: {content: string}
    deterministic: {handler: builtin:read-file, config: {path_from: path}}
""",
    )
    for extra in ((), ("--dry-run",)):
        result = skelo("run", "read.yaml", "--input", "path=nope.txt", "--json", *extra)
        assert (result.code, result.document["error"]["code"]) == (2, "INPUT_INVALID")
    assert skelo("runs", "--json").document == {"runs": []}


def test_the_item_that_failed_is_named(skelo: Skelo) -> None:
    skelo.write(
        "each.yaml",
        "name: each\nblocks:\n  - {id: a, mode: deterministic, foreach: {items: '[1, 2, 3]', concurrency: 1},"
        " outputs: {n: integer}, deterministic: {handler: 'builtin:transform', config: {map: {n: item}}},"
        " post_gates: [{name: g, type: expr, expression: item < 2}]}\n",
    )
    result = skelo("run", "each.yaml", "--quiet")
    assert (result.code, "  POST_GATE_FAILED in a[1]: gate 'g': " in result.out) == (1, True)
    error = skelo("show", "last", "--json").document["error"]
    assert (error["node"], error["item"]) == ("a", 1)


def test_show_tells_what_each_attempt_has_logged(skelo: Skelo) -> None:
    skelo.write(
        "talk.yaml",
        """\
name: talk
blocks:
  - id: talk
    mode: deterministic
    inputs: {item: string}
    outputs: {n: integer}
    foreach: {items: "['a', 'b']", concurrency: 1}
    retry: {max_attempts: 2}
    deterministic: {handler: talk.py}
""",
    )
    skelo.write(
        "talk.py",
        """\
def handler(ctx):
    ctx.log(f"{ctx.inputs['item']} \\x1b[1m{ctx.attempt}")
    if ctx.attempt == 1 and ctx.inputs["item"] == "b":
        raise ValueError("not yet")
    return {"n": ctx.attempt}
""",
    )
    assert skelo("run", "talk.yaml", "--quiet").code == 0
    assert "logs" not in skelo("show", "last", "--json").document
    logs = skelo("show", "last", "--logs", "--json").document["logs"]
    assert [(one["node"], one["visit"], one["item"], one["attempt"], one["name"]) for one in logs] == [
        ("talk", 1, 0, 1, "talk.log"),
        ("talk", 1, 1, 1, "talk.log"),
        ("talk", 1, 1, 2, "talk.log"),
    ]
    assert [one["text"].splitlines()[0] for one in logs] == ["a \x1b[1m1", "b \x1b[1m1", "b \x1b[1m2"]
    shown = skelo("show", "last", "--logs").out
    assert shown.startswith(skelo("show", "last").out)
    assert "\ntalk visit 1 item 0 attempt 1:\n  a \\u001b[1m1\n" in shown
    assert shown.endswith("\ntalk visit 1 item 1 attempt 2:\n  b \\u001b[1m2\n")


@pytest.mark.parametrize("command", [("verify", "last"), ("doctor",)], ids=lambda words: words[0])
@pytest.mark.parametrize("size", [0, 700])
def test_event_files_that_were_cut_are_completed(skelo: Skelo, command: tuple[str, ...], size: int) -> None:
    skelo.write("chain.yaml", CHAIN)
    assert skelo("run", "chain.yaml", "--input", "n=1").code == 0
    path = skelo.folder / ".skelo" / "events" / "000000000001.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:size])
    assert skelo(*command).code == 0
    assert path.read_bytes() == whole


def test_time_between_two_tries_is_wall_time_and_is_not_called_work(skelo: Skelo) -> None:
    handler = 'deterministic: {handler: "builtin:read-file", config: {path: missing.txt}}'
    retry = "retry: {max_attempts: 2, delay_ms: 300}"
    skelo.write("fails.yaml", f"name: fails\nblocks: [{{id: a, mode: deterministic, {retry}, {handler}}}]")
    assert skelo("run", "fails.yaml").code == 1
    (used,) = re.findall(r"used 2 steps, (\d+) ms of wall time", skelo("show", "last").out)
    assert int(used) >= 300


def test_doctor_names_event_files_that_are_not_what_the_log_holds(skelo: Skelo) -> None:
    skelo.write("chain.yaml", CHAIN)
    assert skelo("run", "chain.yaml", "--input", "n=1").code == 0
    path = skelo.folder / ".skelo" / "events" / "000000000001.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"{}\n" + whole)
    for _ in range(2):
        (found,) = [one for one in skelo("doctor", "--json").document["checks"] if one["name"] == "event files"]
        assert (found["state"], "000000000001.differs-1.jsonl" in found["detail"]) == ("warn", True)
    assert path.read_bytes() == whole
    assert path.with_name("000000000001.differs-1.jsonl").read_bytes() == b"{}\n" + whole


def test_doctor_names_the_run_that_the_log_has_lost_and_nothing_removes_its_events(skelo: Skelo) -> None:
    """A damaged write-ahead log leaves the database as it was some commits ago."""
    skelo.write("chain.yaml", CHAIN)
    assert skelo("run", "chain.yaml", "--input", "n=1").code == 0
    database = skelo.folder / ".skelo" / "log.db"
    before = database.read_bytes()
    lost = skelo("run", "chain.yaml", "--input", "n=2", "--json").document["runId"]
    copy = skelo.folder / ".skelo" / "events" / "000000000001.jsonl"
    events = [line for line in copy.read_bytes().splitlines() if lost.encode() in line]
    database.write_bytes(before)
    for _ in range(2):
        answer = skelo("doctor", "--json")
        (found,) = [one for one in answer.document["checks"] if one["name"] == "event files"]
        assert (answer.code, found["state"]) == (1, "fail")
        assert f"of run {lost} ({len(events)} events)" in found["detail"]
        assert skelo("prune", "--keep", "0", "--delete").code == 0
        assert skelo("run", "chain.yaml", "--input", "n=3").code == 0
    kept = copy.with_name("000000000001.differs-1.jsonl").read_bytes()
    assert kept.splitlines() == events


def test_a_database_in_another_mode_is_put_into_wal_mode(skelo: Skelo) -> None:
    skelo.write("chain.yaml", CHAIN)
    assert skelo("run", "chain.yaml", "--input", "n=1").code == 0
    with contextlib.closing(sqlite3.connect(skelo.folder / ".skelo" / "log.db", isolation_level=None)) as other:
        assert other.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
        other.execute("BEGIN IMMEDIATE")
        found = {one["name"]: one for one in skelo("doctor", "--json").document["checks"]}["runs"]
        assert (found["state"], "log" in found["detail"]) == ("fail", True)
        other.execute("ROLLBACK")
    assert skelo("run", "chain.yaml", "--input", "n=1").code == 0
    with contextlib.closing(sqlite3.connect(skelo.folder / ".skelo" / "log.db")) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


#: SQLite as on a file system that cannot share memory between processes, such as one of the network.
NO_SHARED_MEMORY = """\
import sqlite3
_connect = sqlite3.connect
def connect(path, **options):
    return _connect(path if options.get("uri") else f"file:{path}?vfs=unix-dotfile", **{**options, "uri": True})
sqlite3.connect = connect
"""


def test_a_file_system_that_does_not_take_wal_mode_starts_no_run(skelo: Skelo) -> None:
    skelo.write("chain.yaml", CHAIN)
    skelo.write("shim/sitecustomize.py", NO_SHARED_MEMORY)
    refused = skelo("run", "chain.yaml", "--input", "n=1", "--json", env={"PYTHONPATH": str(skelo.folder / "shim")})
    assert (refused.code, refused.document["error"]["code"]) == (2, "STORE_MODE")
    assert skelo("runs", "--json").document == {"runs": []}


def test_work_whose_result_is_known_is_done_all_the_same_without_the_cache(skelo: Skelo) -> None:
    block = "{id: count, mode: deterministic, outputs: {n: integer}, cache: true, deterministic: {handler: count.py}}"
    skelo.write("count.yaml", f"name: count\nblocks: [{block}]\n")
    counting = "from pathlib import Path\n\n\ndef handler(ctx):\n    lines = Path('lines')\n"
    counting += "    with lines.open('a') as file:\n        file.write('x')\n    return {'n': lines.stat().st_size}\n"
    skelo.write("count.py", counting)

    def count(*options: str) -> object:
        return skelo("run", "count.yaml", "--json", *options).document["outputs"]["n"]

    assert [count(), count(), count("--no-cache"), count()] == [1, 1, 2, 2]
    assert skelo("resume", "last", "--no-cache").code == 0
