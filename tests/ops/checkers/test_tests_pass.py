"""tests_pass: real commands, on real trees."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from openskelo.handlers import project_registry
from openskelo.kernel.json import Json
from tests.executors import workshop
from tests.executors.ops import bench

CHECK = "import sys; sys.exit(0 if open('file').read() == 'new\\n' else 3)"


def check(root: Path, code: str, *, allowed: bool = True, **more: Json) -> bench.Done:
    where = workshop.project(root, allow_commands=allowed)
    return bench.perform(where, "verify", {"checker_id": "tests_pass", "argv": [sys.executable, "-c", code], **more})


def test_a_command_that_ends_with_zero_holds(tmp_path: Path) -> None:
    done = check(tmp_path, "print('fine')")
    assert (done.value, done.holds) == ({"ok": True, "status": 0, "output": "fine\n"}, True)
    assert workshop.log_of(done.whole) == "fine\n"


def test_a_command_that_fails_does_not_hold(tmp_path: Path) -> None:
    done = check(tmp_path, "import sys; sys.exit('broken')")
    verdict = {"ok": False, "reason": "the command ended with exit code 1", "status": 1, "output": "broken\n"}
    assert (done.value, done.holds) == (verdict, False)


def test_a_patch_is_applied_to_a_copy_and_the_tree_stays(tmp_path: Path) -> None:
    bench.repository(tmp_path, file="old\n")
    assert check(tmp_path, CHECK).holds is False
    done = check(tmp_path, CHECK, input_ref=bench.patch("file", "old", "new"))
    assert (done.value, done.holds) == ({"ok": True, "status": 0, "output": ""}, True)
    assert (tmp_path / "file").read_text() == "old\n"


def test_the_copy_has_untracked_files_and_leaves_ignored_ones_behind(tmp_path: Path) -> None:
    bench.repository(tmp_path, file="old\n", **{".gitignore": "ignored\n"})
    (tmp_path / "extra").write_text("x")
    (tmp_path / "ignored").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "gone").write_text("")
    bench.git(tmp_path, "add", "gone")
    (tmp_path / "gone").unlink()
    code = "import os; print(sorted(os.listdir()), os.path.islink('link'), os.getcwd())"
    done = check(tmp_path, code, input_ref=bench.patch("file", "old", "new"))
    assert isinstance(done.value, dict)
    listed, _, folder = str(done.value["output"]).rpartition(" ")
    assert listed == "['.gitignore', 'extra', 'file', 'link'] True"
    assert not Path(folder.strip()).exists()


def test_a_test_that_data_may_have_planted_is_not_run(tmp_path: Path) -> None:
    bench.repository(tmp_path, file="old\n", **{"test_own.py": "def test_own(): pass\n"})
    (tmp_path / "out").mkdir()
    planted = f"open({str(tmp_path / 'planted')!r}, 'w')\n"
    (tmp_path / "out" / "test_it.py").write_text(planted)
    (tmp_path / "out" / "conftest.py").write_text(planted)
    where = workshop.project(tmp_path, allow_commands=True)
    argv: list[Json] = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    for more in ({}, {"input_ref": bench.patch("file", "old", "new")}):
        done = bench.perform(where, "verify", {"checker_id": "tests_pass", "argv": argv, **more})
        assert isinstance(done.value, dict)
        assert (done.holds, "1 passed" in str(done.value["output"])) == (True, True)
    assert not (tmp_path / "planted").exists()


def test_a_patch_that_does_not_apply_does_not_hold(tmp_path: Path) -> None:
    bench.repository(tmp_path, file="old\n")
    done = check(tmp_path, CHECK, input_ref=bench.patch("file", "older", "new"))
    assert isinstance(done.value, dict)
    assert (done.value["ok"], done.value["applies"]) == (False, False)
    assert check(tmp_path, CHECK, input_ref=["x"]).value == {
        "ok": False,
        "reason": "it is not a text that could be a patch",
    }


def test_a_command_that_hangs_is_killed_with_all_it_started(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time;"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "open('pid', 'w').write(str(p.pid)); time.sleep(60)"
    )
    done = check(tmp_path, code, timeout_ms=5000)  # a busy machine takes seconds to start the two interpreters
    assert done.value == {"ok": False, "reason": "the command was stopped after 5000 ms", "timeout": True}
    assert not _is_there(int((tmp_path / "pid").read_text()))


def _is_there(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return False
        except (ProcessLookupError, FileNotFoundError):
            return False
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return True


def test_a_plan_may_not_name_a_command_where_the_project_does_not_allow_it(tmp_path: Path) -> None:
    done = check(tmp_path, "open('ran', 'w')", allowed=False)
    assert done.failure is not None
    assert (done.code, done.failure.denied, done.failure.retryable) == ("COMMANDS_NOT_ALLOWED", True, False)
    assert not (tmp_path / "ran").exists()


def test_a_command_that_the_project_fixed_needs_no_permission(tmp_path: Path) -> None:
    fixed = project_registry.Function(
        name="unit", kind="builtin", target="tests_pass", config={"argv": [sys.executable, "-c", ""]}, needs_input=False
    )
    where = workshop.project(tmp_path, registry=project_registry.Registry(checkers={"unit": fixed}))
    assert bench.perform(where, "verify", {"checker_id": "unit"}).value == {"ok": True, "status": 0, "output": ""}
    told: dict[str, Json] = {"checker_id": "unit", "argv": [sys.executable, "-c", "open('ran', 'w')"]}
    assert bench.perform(where, "verify", told).holds is True
    assert not (tmp_path / "ran").exists()


def test_a_command_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    where = workshop.project(tmp_path, allow_commands=True)
    done = bench.perform(where, "verify", {"checker_id": "tests_pass", "argv": ["no-such-program"]})
    assert (done.code, done.holds) == ("CHECKER_FAILED", None)
