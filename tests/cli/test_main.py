"""The door of the command line: help, version, usage mistakes, defects, pipes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from openskelo.cli import main, reference
from tests.cli.conftest import SKELO, Skelo, clean_environment

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def test_help_lists_every_command_and_goes_to_stdout(skelo: Skelo) -> None:
    result = skelo("--help")
    assert (result.code, result.out, result.err) == (0, main.help_text(), "")
    assert all(f"  {name} " in result.out for name in main.COMMANDS)


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


def test_a_usage_mistake_is_a_document_with_json(skelo: Skelo) -> None:
    result = skelo("runs", "--limit", "many", "--json")
    assert result.code == 2
    assert result.document["error"]["code"] == "USAGE"
    assert "--limit" in result.document["error"]["message"]


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


def test_odd_bytes_in_an_argument_are_printable(skelo: Skelo) -> None:
    name = b"\xff\x1b[31m.yaml".decode(errors="surrogateescape")
    plain = skelo("validate", name)
    assert (plain.code, plain.err) == (2, "error: FILE_NOT_FOUND there is no file \\udcff\\u001b[31m.yaml\n")
    assert skelo("validate", name, "--json").document["error"]["code"] == "FILE_NOT_FOUND"


def test_a_defect_is_a_message_with_a_code(skelo: Skelo) -> None:
    broken = skelo.write("sitecustomize.py", "from openskelo.engine import place\nplace.project_at = None\n")
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


def test_the_reference_page_is_what_the_parsers_say() -> None:
    assert REFERENCE.read_text() == reference.page()
