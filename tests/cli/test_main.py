"""The door of the command line: help, version, usage mistakes, defects, pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openskelo.cli import main, reference
from tests import forked_skelo
from tests.cli.conftest import SKELO, Skelo, clean_environment

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def test_help_lists_every_command_and_goes_to_stdout(skelo: Skelo) -> None:
    result = skelo("--help")
    assert (result.code, result.out, result.err) == (0, main.help_text(), "")
    assert all(f"  {name} " in result.out for name in main.COMMANDS)


def test_help_says_which_command_opens_the_dashboard(skelo: Skelo) -> None:
    (line,) = (line for line in skelo("--help").out.splitlines() if "dashboard" in line)
    assert line.split()[0] == "serve"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from openskelo.cli import main; assert main.main(['--help']) == 0;"
        "print([name for name in ('argparse', 'asyncio', 'rich', 'yaml', 'orjson', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_no_command_prints_the_help_on_stderr_and_exits_2(skelo: Skelo) -> None:
    result = skelo()
    assert (result.code, result.out, result.err) == (2, "", main.help_text())


def test_version_is_a_line_or_a_document(skelo: Skelo) -> None:
    assert skelo("--version").out.startswith("skelo ")
    assert list(skelo("--version", "--json").document) == ["version"]


def test_an_unknown_command_suggests_the_near_one(skelo: Skelo) -> None:
    result = skelo("vlidate")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: USAGE there is no command 'vlidate'\n  did you mean validate?\n"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("version",), "did you mean --version?"),
        (("RUNS",), "did you mean runs?"),
        (("run", "w.yaml", "--inpt", "name=x"), "did you mean --input?"),
        (("run", "w.yaml", "--data_dir=x"), "did you mean --data-dir?"),
        (("run", "w.yaml", "name=Ada"), "did you mean --input name=Ada?"),
        (("doctor", "name=Ada"), "usage: skelo doctor [--json] [--data-dir DIR] [-h]"),
        (("doctor", "--zzz"), "usage: skelo doctor [--json] [--data-dir DIR] [-h]"),
    ],
)
def test_a_mistyped_argument_suggests_what_was_meant(
    words: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(list(words)) == 2
    assert capsys.readouterr().err.splitlines()[1:] == [f"  {hint}"]


def test_a_usage_of_several_lines_stays_in_its_column(skelo: Skelo) -> None:
    _, first, second, *_ = skelo("run").err.splitlines()
    assert (first.index("[--input"), second.index("[--mode")) == (19, 19)


@pytest.mark.parametrize("name", main.COMMANDS)
def test_help_fits_a_terminal_of_80_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: skelo {name}")
    assert [line for line in shown.splitlines() if len(line) > 79] == []


def test_a_usage_mistake_is_a_document_with_json(skelo: Skelo) -> None:
    result = skelo("runs", "--limit", "many", "--json")
    assert result.code == 2
    assert result.document["error"]["code"] == "USAGE"
    assert "--limit" in result.document["error"]["message"]


@pytest.mark.parametrize("number", ["-1", "9223372036854775808", "9" * 5000, "1.5", "nan", ""])
@pytest.mark.parametrize(
    "words",
    [
        ("events", "last", "--after"),
        ("runs", "--limit"),
        ("runs", "--offset"),
        ("prune", "--keep"),
        ("explain", "w.yaml", "--items"),
    ],
)
def test_a_number_that_cannot_count_anything_is_refused_with_its_argument(
    words: tuple[str, ...], number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([*words, f"{number}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: USAGE argument --")
    assert len(error) < 1_000


def test_the_largest_number_is_taken(skelo: Skelo) -> None:
    skelo.write("w.yaml", "name: w\nblocks: [{id: a, mode: deterministic, deterministic: {handler: builtin:pass}}]\n")
    assert skelo("run", "w.yaml", "-q").code == 0
    most = str(2**63 - 1)
    for words in (("events", "last", "--after"), ("runs", "--limit"), ("runs", "--offset"), ("prune", "--keep")):
        assert skelo(*words, most).code == 0


def test_shared_options_may_stand_before_the_command(skelo: Skelo) -> None:
    result = skelo("--json", "--data-dir", "elsewhere", "runs")
    assert (result.code, result.document) == (0, {"runs": []})


def test_every_command_explains_itself(skelo: Skelo) -> None:
    for name in ("init", "run", "verify"):
        result = skelo(name, "--help")
        assert result.code == 0
        assert result.out.startswith(f"usage: skelo {name} ")


def test_help_for_a_command_may_be_asked_for_in_words(skelo: Skelo) -> None:
    assert skelo("help", "runs").out == skelo("runs", "--help").out
    assert skelo("help").out == main.help_text()


def test_closed_standard_streams_are_harmless(skelo: Skelo) -> None:
    for redirection, code in (("<&-", 0), (">&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 0)):
        done = subprocess.run(
            ["/bin/sh", "-c", f'exec "$0" runs --json {redirection}', SKELO],
            cwd=skelo.folder,
            capture_output=True,
            text=True,
            env=clean_environment(),
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, "")


def test_a_workflow_file_that_is_not_there_is_answered_with_the_one_that_is(skelo: Skelo) -> None:
    for name in ("hello.yaml", "hello.test.yaml", "hello.txt"):
        skelo.write(name, "")
    for said in ("helo.yaml", "hello", "hello.test.yml"):
        result = skelo("run", said)
        assert (result.code, result.err) == (
            2,
            f"error: FILE_NOT_FOUND there is no file {said}\n  did you mean 'hello.yaml'?\n",
        )


def test_odd_bytes_in_an_argument_are_printable(skelo: Skelo) -> None:
    name = b"\xff\x1b[31m.yaml".decode(errors="surrogateescape")
    plain = skelo("validate", name)
    assert (plain.code, plain.err) == (2, "error: FILE_NOT_FOUND there is no file \\udcff\\u001b[31m.yaml\n")
    assert skelo("validate", name, "--json").document["error"]["code"] == "FILE_NOT_FOUND"


def test_a_defect_is_a_message_with_a_code(skelo: Skelo) -> None:
    broken = skelo.write(
        "sitecustomize.py", "from openskelo.workflows.project import project_file\nproject_file.project_at = None\n"
    )
    result = skelo("runs", "--json", env={"PYTHONPATH": str(broken.parent)})
    assert result.code == 1
    assert result.document["error"] == {
        "code": "INTERNAL",
        "message": "TypeError: 'NoneType' object is not callable",
        "hint": "this is a defect of OpenSkelo, please report it; SKELO_DEBUG=1 prints where it happened",
    }


def test_a_reader_that_leaves_is_no_error() -> None:
    process = subprocess.Popen(
        [SKELO, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=30)
    assert err == b""
    assert process.returncode in (0, 141)


ASKING = """\
name: asking
blocks:
  - {id: ask, mode: approval, approval: {prompt: Go on?}}
"""
UNWRITABLE = "error: FILE_UNWRITABLE standard output cannot be written: Bad file descriptor"


def _unwritable(skelo: Skelo, *words: str, stream: str = "stdout", **env: str) -> tuple[int, str]:
    """The code of a command, one of whose streams takes nothing (as on a full disk), and what it wrote to the other."""
    with Path(os.devnull).open("rb") as nothing:
        done = subprocess.run(
            [SKELO, *words],
            cwd=skelo.folder,
            env=clean_environment() | env,
            text=True,
            check=False,
            stdout=nothing if stream == "stdout" else subprocess.PIPE,
            stderr=nothing if stream == "stderr" else subprocess.PIPE,
        )
    return done.returncode, done.stdout or done.stderr or ""


@pytest.mark.parametrize("env", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_output_that_cannot_be_written_is_said_so_and_leaves_the_runs_code(skelo: Skelo, env: dict[str, str]) -> None:
    skelo.write("asking.yaml", ASKING)
    code, err = _unwritable(skelo, "run", "asking.yaml", **env)
    hint = "  the command has done its work; `skelo show` and `skelo output` print the result again"
    assert (code, err.splitlines()[-2:]) == (3, [UNWRITABLE, hint])
    for words in (("show", "last"), ("show", "last", "--json")):
        code, err = _unwritable(skelo, *words, **env)
        assert (code, err.splitlines()[0]) == (3, UNWRITABLE)
    skelo("cancel", "last")
    assert _unwritable(skelo, "show", "last", **env)[0] == 130
    for words in (("runs",), ("runs", "--json"), ("runs", "--help"), ("--help",), ("--version",)):
        code, err = _unwritable(skelo, *words, **env)
        assert (code, err.splitlines()[0]) == (74, UNWRITABLE)


def test_a_run_is_followed_as_long_as_somebody_can_read_it(skelo: Skelo) -> None:
    skelo.write("asking.yaml", ASKING)
    skelo("run", "asking.yaml")
    code, err = _unwritable(skelo, "events", "last", "--follow")
    assert (code, err.splitlines()[0]) == (74, UNWRITABLE)
    words = ["events", "last", "--follow"]
    following = forked_skelo.start(words, folder=skelo.folder, env=clean_environment())
    assert following.stdout is not None
    first = following.stdout.readline()
    skelo("cancel", "last")
    rest, _ = following.communicate()
    assert (following.returncode, "run.created" in first, "run.ended" in rest) == (0, True, True)


def test_progress_that_cannot_be_written_does_not_stop_a_run(skelo: Skelo) -> None:
    skelo.write("asking.yaml", ASKING)
    code, out = _unwritable(skelo, "run", "asking.yaml", stream="stderr")
    assert (code, out.partition(" ")[0]) == (3, "paused")
    assert _unwritable(skelo, "run", "nothing.yaml", stream="stderr") == (2, "")


def test_the_reference_page_is_what_the_parsers_say() -> None:
    assert REFERENCE.read_text() == reference.page()
