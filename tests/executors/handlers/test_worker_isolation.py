"""A warm worker is used again: its process is as it was before the call, and only the globals of modules stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel import definition
from openskelo.kernel.json import Json
from tests.executors import workshop

#: Returns what it finds, then changes it; `pid` shows that the same process is used again.
CALL = """
import os, sys
import beside
from pack import part

seen = []

def handler(ctx):
    found = FOUND
    CHANGE
    return {"found": found, "pid": os.getpid()}
"""
STATES = {
    "environment": ('os.environ.get("LEFT_BEHIND")', 'os.environ["LEFT_BEHIND"] = "x"; os.environ.pop("HOME", None)'),
    "removed variable": ('"HOME" in os.environ', 'os.environ.pop("HOME", None)'),
    "sys.path": ('"/left/behind" in sys.path', 'sys.path.insert(0, "/left/behind")'),
    "replaced sys.path": ("len(sys.path) > 1", 'sys.path = ["/left/behind"]'),
    "sys.meta_path": ("len(sys.meta_path) > 1", "sys.meta_path.clear()"),
    "working folder": ("os.getcwd() == ctx.inputs['root']", 'os.chdir("/")'),
    "umask": ("os.umask(0o22)", "os.umask(0o77)"),
}
GLOBALS = {
    "of the handler's file": ("list(seen)", "seen.append(1)"),
    "of a file beside it": ("list(beside.seen)", "beside.seen.append(1)"),
    "of a package": ("list(part.seen)", "part.seen.append(1)"),
}
#: Changes a file that is imported inside the function.
CHANGED = """
import os, pathlib

def handler(ctx):
    from pack import part
    path = pathlib.Path(part.__file__)
    found = list(part.seen)
    path.write_text("seen = ['changed']\\n")
    return {"found": found, "pid": os.getpid()}
"""


def call_twice(root: Path, source: str) -> list[Json]:
    (root / "handlers").mkdir()
    (root / "pack").mkdir()
    (root / "handlers" / "it.py").write_text(source)
    (root / "handlers" / "beside.py").write_text("seen = []\n")
    (root / "pack" / "part.py").write_text("seen = []\n")
    node = definition.Node(
        key="it",
        mode="deterministic",
        handler="handlers/it.py",
        inputs=(workshop.port("root"),),
        outputs=(workshop.port("found"), workshop.port("pid")),
    )
    task = workshop.task_of(node, {"root": str(root)})
    results = workshop.perform(workshop.project(root), task, task)
    values = [result.outcome.outputs for result in results]
    return [None if value is None else value["value"] for value in values]


@pytest.mark.parametrize("state", STATES)
def test_a_call_finds_nothing_that_the_call_before_has_changed(state: str, tmp_path: Path) -> None:
    found, change = STATES[state]
    first, second = call_twice(tmp_path.resolve(), CALL.replace("FOUND", found).replace("CHANGE", change))
    assert isinstance(first, dict)
    assert first == second


@pytest.mark.parametrize("place", GLOBALS)
def test_a_call_finds_what_the_call_before_has_left_in_a_global(place: str, tmp_path: Path) -> None:
    found, change = GLOBALS[place]
    first, second = call_twice(tmp_path.resolve(), CALL.replace("FOUND", found).replace("CHANGE", change))
    assert isinstance(first, dict)
    assert first["found"] == []
    assert second == {"found": [1], "pid": first["pid"]}


def test_a_changed_file_is_loaded_anew_also_if_it_is_imported_inside_the_function(tmp_path: Path) -> None:
    first, second = call_twice(tmp_path.resolve(), CHANGED)
    assert isinstance(first, dict)
    assert first["found"] == []
    assert second == {"found": ["changed"], "pid": first["pid"]}


def test_installed_packages_stay_loaded(tmp_path: Path) -> None:
    source = 'import sys\n\ndef handler(ctx):\n    found = "turtledemo" in sys.modules\n    import turtledemo\n'
    first, second = call_twice(tmp_path.resolve(), source + '    return {"found": found, "pid": 1}\n')
    assert [first, second] == [{"found": False, "pid": 1}, {"found": True, "pid": 1}]


@pytest.mark.parametrize("call", ["def", "async def"])
def test_a_module_that_data_may_have_written_is_not_imported(call: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "planted.py").write_text("raise SystemExit\n")
    source = f"from out import planted\n\n{call} handler(ctx):\n    return {{}}\n"
    (tmp_path / "it.py").write_text(source)
    node = definition.Node(key="it", mode="deterministic", handler="it.py")
    (result,) = workshop.perform(workshop.project(tmp_path), workshop.task_of(node, {}))
    assert result.outcome.failure is not None
    assert result.outcome.failure.code == "HANDLER_LOAD"
    assert "is in a folder that data may write to, so it is not run" in result.outcome.failure.message
