"""What is checked, what is reported, and what becomes of files that cannot be read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo import errors
from openskelo.checks import sync_celery

_UNLIMITED = "import requests\nrequests.get('u')\n"


def _unreadable(report: sync_celery.Report) -> list[tuple[str, int, str]]:
    return [(entry.file, entry.line, entry.message) for entry in report.unreadable]


def test_a_report_is_a_document() -> None:
    source = "import requests\nrequests.get(\n  'ü')\n_ = 'ü', requests.put('u')  # sync-ok: ends with the job\n"
    assert sync_celery.check_source(source, "a.py").document() == {
        "ok": False,
        "files": 1,
        "violations": [
            {
                "file": "a.py",
                "line": 2,
                "column": 1,
                "endLine": 3,
                "code": "NO_TIMEOUT",
                "message": "requests.get() has no time limit (timeout=)",
                "hint": "set a time limit where the call can be seen, such as timeout=30",
            }
        ],
        "suppressed": [{"file": "a.py", "line": 4, "code": "NO_TIMEOUT", "reason": "ends with the job"}],
        "unreadable": [],
    }


def test_columns_count_characters() -> None:
    (found,) = sync_celery.check_source("import requests\n_ = 'üü', requests.put('u')\n").violations
    assert (found.line, found.column) == (2, 11)


def test_characters_that_nobody_sees_are_no_reason() -> None:
    assert not sync_celery.check_source("import asyncio  # sync-ok: a" + "\u200b" * 12 + "b\n").ok


def test_a_reason_that_is_too_short_is_named() -> None:
    (found,) = sync_celery.check_source("import requests\nrequests.get('u')  # sync-ok: short\n").violations
    assert found.hint.endswith("; the reason after `sync-ok:` needs 10 characters")


def test_files_are_named_relative_to_their_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.py").write_text(_UNLIMITED)
    (tmp_path / "a" / "b" / "d.txt").write_text(_UNLIMITED)
    report = sync_celery.check_paths([tmp_path / "a"])
    assert (report.files, [found.file for found in report.violations]) == (1, ["b/c.py"])


@pytest.mark.parametrize("folder", [".git", "__pycache__", ".venv", "node_modules", "env"])
def test_environments_and_caches_are_left_out(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "a.py").write_text(_UNLIMITED)
    (tmp_path / folder / "pyvenv.cfg").touch()
    (tmp_path / "b.py").write_text("")
    report = sync_celery.check_paths([tmp_path])
    assert (report.ok, report.files) == (True, 1)


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound) as missing:
        sync_celery.check_paths([tmp_path, tmp_path / "nothing"])
    assert missing.value.code == "PATH_NOT_FOUND"


# -- bad input --------------------------------------------------------------------------------------------------------

BROKEN = {
    "syntax": (b"def f(:\n", "it does not parse: invalid syntax"),
    "null byte": (b"x = 1\0\n", "it does not parse: source code string cannot contain null bytes"),
    "encoding": (b"x = '\xff'\n", "it does not parse: (unicode error) 'utf-8' codec can't decode byte"),
    "unknown encoding": (b"# coding: nothing\n", "it does not parse: unknown encoding: nothing"),
    "parentheses": (b"(" * 5000 + b")" * 5000, "it does not parse: too many nested parentheses"),
    "depth": (b"x = " + b"-" * 3000 + b"1\n", "it is nested too deeply to be checked"),
    "size": (b"#" * (10 * 1024 * 1024), "it has more than the 2097152 bytes that are checked"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read_is_not_clean(tmp_path: Path, name: str) -> None:
    content, message = BROKEN[name]
    (tmp_path / "broken.py").write_bytes(content)
    report = sync_celery.check_paths([tmp_path])
    assert (report.ok, report.files, len(report.unreadable)) == (False, 1, 1)
    assert report.unreadable[0].message.startswith(message)


def test_broken_files_do_not_hide_the_others(tmp_path: Path) -> None:
    for number, (content, _) in enumerate(BROKEN.values()):
        (tmp_path / f"broken{number}.py").write_bytes(content)
    (tmp_path / "works.py").write_text(_UNLIMITED)
    report = sync_celery.check_paths([tmp_path])
    assert (report.files, len(report.unreadable), len(report.violations)) == (len(BROKEN) + 1, len(BROKEN), 1)


def test_the_line_of_a_syntax_error_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = (\n")
    assert _unreadable(sync_celery.check_paths([tmp_path])) == [("a.py", 2, "it does not parse: '(' was never closed")]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "self.py").symlink_to("self.py")
    (tmp_path / "gone.py").symlink_to("nothing")
    (tmp_path / "a.py").write_text(_UNLIMITED)
    report = sync_celery.check_paths([tmp_path])
    assert [found.file for found in report.violations] == ["a.py"]
    assert _unreadable(report) == [
        ("gone.py", 1, "it cannot be read: No such file or directory"),
        ("self.py", 1, "it cannot be read: Too many levels of symbolic links"),
    ]


def test_a_linked_folder_is_checked(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.py").write_text(_UNLIMITED)
    (tmp_path / "code" / "linked").symlink_to(tmp_path / "other")
    assert [found.file for found in sync_celery.check_paths([tmp_path / "code"]).violations] == ["linked/a.py"]


def test_links_that_cross_do_not_multiply_what_is_behind_them(tmp_path: Path) -> None:
    for name in "abcdefgh":
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(_UNLIMITED)
        for other in "abcdefgh":
            (tmp_path / name / f"to_{other}").symlink_to(tmp_path / other)
    report = sync_celery.check_paths([tmp_path])
    assert [found.file for found in report.violations] == [f"{name}/{name}.py" for name in "abcdefgh"]


def test_a_folder_that_cannot_be_looked_at_is_unreadable(tmp_path: Path) -> None:
    """The path of the folder is longer than the system allows, which is an error for the administrator as well."""
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("f" * 200, dir_fd=folder)
        inner = os.open("f" * 200, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    (tmp_path / "a.py").write_text(_UNLIMITED)
    report = sync_celery.check_paths([tmp_path])
    assert [found.file for found in report.violations] == ["a.py"]
    assert [entry.message for entry in report.unreadable] == ["it cannot be read: File name too long"]


def test_a_pipe_is_unreadable(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    assert _unreadable(sync_celery.check_paths([tmp_path])) == [
        ("a.py", 1, "it cannot be read: it is a pipe, not a file")
    ]


def test_a_long_chain_of_operators_is_read() -> None:
    source = "import requests\nx = " + " + ".join(["1"] * 800) + " + requests.get('u')\n"
    assert len(sync_celery.check_source(source).violations) == 1


def test_lists_in_lists_cost_no_exponential_time() -> None:
    source = "x = 1\n" + "x = [x, x]\n" * 200 + "def f(x):\n" + "    x = (x, x), [x]\n" * 200
    assert sync_celery.check_source(source).ok


MANY: dict[str, Callable[[int], str]] = {
    "branches": lambda n: f"if a{n}:\n    x{n} = {n}\nelse:\n    x{n} = None\n",
    "rebindings": lambda n: f"x = f(x, {n})\n",
    "functions that rebind": lambda n: f"def f{n}():\n    global x\n    x = g(x)\n    x = {n}\n",
    "attempts": lambda n: f"try:\n    x{n} = {n}\nexcept E:\n    x{n} = None\n",
    "star imports": lambda n: f"from m{n} import *\nf{n}()\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MANY)
def test_twenty_thousand_of_a_kind_are_read(kind: str) -> None:
    """A design that copies all names for each of them takes longer than a test may."""
    source = "import requests\n" + "".join(map(MANY[kind], range(20_000))) + "requests.get('u')\n"
    report = sync_celery.check_source(source)
    assert [(found.code, report.unreadable) for found in report.violations] == [("NO_TIMEOUT", ())]


def test_nested_loops_cost_no_exponential_time() -> None:
    loops = "".join(f"{' ' * depth}for x{depth} in y:\n{' ' * depth} z = x{depth}\n" for depth in range(18))
    assert sync_celery.check_source(loops).ok


@given(st.text())
def test_any_text_gets_a_report(text: str) -> None:
    report = sync_celery.check_source(text)
    assert report.files == 1
