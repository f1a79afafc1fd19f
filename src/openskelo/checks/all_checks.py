"""Run every checker that applies to a project, and the project's tests.

What applies is found in the folder: an allowlist, Python files, trace maps, folders of artifacts. The tests always
apply. A check that cannot be made has failed, and so has one whose file is gone while the commit has it, and a run of
pytest in which no test has passed. There is no way to leave a part out.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from openskelo import errors, files
from openskelo.checks import artifacts, scope, sync_celery, trace_map
from openskelo.handlers import blocking_call
from openskelo.kernel.json import Json
from openskelo.programs import child_process, git, program, time_limit
from openskelo.structs import frozen

ALLOWLIST = "allowlist.json"
#: The tests of a project that names no others.
PYTEST = ("python", "-m", "pytest", "-q")
_TRACE_MAP = "trace_map.json"
#: The word that tells a manifest of artifacts from those of web pages.
_OWN_MANIFEST = b'"correlation_id"'
_LEFT_OUT = frozenset({"__pycache__", "node_modules", "site-packages"})
_SUITE = re.compile(rb"<testsuite\b[^>]*>")
_TAIL = 2000


@frozen
class Options:
    """The choices of the caller."""

    allowlist: Path | None = None
    base: str = "HEAD"
    #: The code that has to run in a synchronous worker; all of the folder without it.
    code: Sequence[Path] = ()
    #: The program that runs the tests, pytest without it.
    tests: Sequence[str] = ()
    timeout_ms: int = 1_800_000
    #: Variables for the tests.
    environment: Mapping[str, str] = {}


@frozen
class Result:
    """The end of one check."""

    check: str
    #: What was checked, from the folder.
    target: str
    ok: bool
    #: A line for each thing that is wrong.
    reasons: tuple[str, ...] = ()
    #: The document of the checker.
    report: Mapping[str, Json] | None = None

    def document(self) -> dict[str, Json]:
        """Return the result as JSON."""
        return {
            "check": self.check,
            "target": self.target,
            "ok": self.ok,
            "reasons": list(self.reasons),
            "report": self.report,
        }


@frozen
class Absent:
    """A check that does not apply."""

    check: str
    why: str


class _Report(Protocol):
    """The common interface of the checkers' reports."""

    @property
    def ok(self) -> bool: ...
    def document(self) -> dict[str, Json]: ...


async def check(folder: Path, options: Options) -> tuple[list[Result], list[Absent]]:
    """Return the end of each check that applies, and the checks that do not (NotFound PATH_NOT_FOUND)."""
    if not await blocking_call.run(folder.is_dir):
        raise errors.NotFound(f"there is no folder {str(folder)!r}", code="PATH_NOT_FOUND")
    results, absent = list[Result](), list[Absent]()
    await _check_scope(folder, options, results, absent)
    await _check_code(folder, options, results, absent)
    found = await blocking_call.run(lambda: _find_evidence(folder))
    results += found.unreadable
    for path in found.trace_maps:
        results.append(await _result("trace-map", _name(path, folder), _later(trace_map.check, path)))
    for path in found.folders:
        results.append(await _result("artifacts", _name(path, folder), _later(artifacts.check, path)))
    if not found.trace_maps:
        absent.append(Absent(check="trace-map", why=f"there is no {_TRACE_MAP}"))
    if not found.folders:
        absent.append(Absent(check="artifacts", why="there is no folder of artifacts"))
    results.append(await _run_tests(folder, options))
    return results, absent


async def _result(name: str, target: str, report: Awaitable[_Report]) -> Result:
    """Return the result of a checker; one that cannot be asked has failed."""
    try:
        found = await report
    except errors.OpenSkeloError as error:
        reason = f"{error.code} {error.message}" + (f" ({error.hint})" if error.hint else "")
        return Result(check=name, target=target, ok=False, reasons=(reason,))
    return Result(check=name, target=target, ok=found.ok, reasons=tuple(_reasons(found)), report=found.document())


def _reasons(report: _Report) -> Iterator[str]:
    match report:
        case sync_celery.Report():
            for unreadable in report.unreadable:
                yield f"{unreadable.file}:{unreadable.line}: {unreadable.message}"
            for found in report.violations:
                yield f"{found.file}:{found.line}: {found.code} {found.message}"
        case scope.Report() | trace_map.Report() | artifacts.Report():
            yield from report.reasons()
        case _:
            raise TypeError(type(report))


async def _later(function: Callable[[Path], _Report], path: Path) -> _Report:
    return await blocking_call.run(lambda: function(path))


async def _check_scope(folder: Path, options: Options, results: list[Result], absent: list[Absent]) -> None:
    allowlist = options.allowlist or folder / ALLOWLIST

    async def report() -> _Report:
        allowed = await blocking_call.run(lambda: scope.read_allowlist(allowlist))
        return await scope.check(folder, allowed, base=options.base, allowlist=allowlist)

    is_there = await blocking_call.run(lambda: os.path.lexists(allowlist))
    if options.allowlist is not None or is_there or await _was_committed(folder, options.base):
        results.append(await _result("scope", _name(allowlist, folder), report()))
    else:
        absent.append(Absent(check="scope", why=f"there is no {ALLOWLIST}"))


async def _was_committed(folder: Path, base: str) -> bool:
    """True if the commit has an allowlist, or if it cannot be said: deleting it must not end the check."""
    if not await blocking_call.run(lambda: os.path.lexists(folder / ".git")):
        return False
    try:
        listed = await git.run(folder, "ls-tree", "--name-only", "-z", git.check_revisions(base), ALLOWLIST)
        unborn = await git.run(folder, "for-each-ref", "--count=1")
    except errors.AttemptFailed:
        return True
    return bool(listed.stdout) if listed.status == 0 else unborn.status != 0 or bool(unborn.stdout)


async def _check_code(folder: Path, options: Options, results: list[Result], absent: list[Absent]) -> None:
    for path in options.code or [folder]:
        result = await _result(
            "sync-celery", _name(path, folder), _later(lambda path: sync_celery.check_paths([path]), path)
        )
        if result.ok and result.report is not None and result.report["files"] == 0 and not options.code:
            absent.append(Absent(check="sync-celery", why="there is no Python file"))
        else:
            results.append(result)


@frozen
class _Evidence:
    """The files that a checker reads."""

    trace_maps: list[Path]
    folders: list[Path]
    unreadable: list[Result]


def _find_evidence(folder: Path) -> _Evidence:
    """Return the trace maps and folders of artifacts, without those in hidden folders, caches and environments."""
    found = _Evidence(trace_maps=[], folders=[], unreadable=[])

    def add_error(error: OSError) -> None:
        name, reason = _name(Path(str(error.filename)), folder), f"it cannot be read: {error.strerror}"
        found.unreadable.append(Result(check="files", target=name, ok=False, reasons=(reason,)))

    for place, folders, names in os.walk(folder, onerror=add_error):
        folders[:] = sorted(name for name in folders if not _is_left_out(Path(place), name))
        if _TRACE_MAP in names:
            found.trace_maps.append(Path(place) / _TRACE_MAP)
        if not artifacts.NAMES.isdisjoint(names) or (artifacts.MANIFEST in names and _is_manifest(Path(place))):
            found.folders.append(Path(place))
    return found


def _is_left_out(place: Path, name: str) -> bool:
    return name.startswith(".") or name in _LEFT_OUT or (place / name / "pyvenv.cfg").exists()


def _is_manifest(folder: Path) -> bool:
    """True if the manifest is one of artifacts, or cannot be read."""
    try:
        return _OWN_MANIFEST in files.read_plain(folder / artifacts.MANIFEST)
    except OSError:
        return True


async def _run_tests(folder: Path, options: Options) -> Result:
    with tempfile.TemporaryDirectory(prefix="skelo-tests-") as temporary:
        summary = Path(temporary) / "tests.xml"
        argv = tuple(options.tests)
        if not argv:
            argv = (shutil.which(PYTEST[0]) or sys.executable, *PYTEST[1:], f"--junitxml={summary}")
        try:
            command = program.Program(argv=argv, folder=folder, environment=options.environment)
            end = await time_limit.within(options.timeout_ms, program.run(command))
        except (OSError, ValueError) as error:
            return _tests(options, f"cannot be started: {getattr(error, 'strerror', None) or error}")
        except errors.AttemptFailed as error:
            return _tests(options, f"{error.code} {error.message}")
        if end.status != 0:
            output = (end.stdout + end.stderr).decode("utf-8", "replace").strip()[-_TAIL:]
            return _tests(options, f"ended with {child_process.describe_end(end.status)}", *output.splitlines())
        if options.tests:
            return _tests(options)
        passed = await blocking_call.run(lambda: _count_passed(summary))
    return _tests(options, passed=passed) if passed else _tests(options, "no test has passed")


def _tests(options: Options, *reasons: str, passed: int | None = None) -> Result:
    report = None if passed is None else {"passed": passed}
    target = " ".join(options.tests or PYTEST)
    return Result(check="tests", target=target, ok=not reasons, reasons=reasons, report=report)


def _count_passed(summary: Path) -> int:
    """Return how many tests have passed, by pytest's own summary; 0 without one."""
    try:
        suite = _SUITE.search(files.read_plain(summary))
    except OSError:
        return 0
    if suite is None:
        return 0
    numbers = {key: int(number) for key, number in re.findall(rb'\b(tests|skipped|errors|failures)="(\d+)"', suite[0])}
    return numbers.pop(b"tests", 0) - sum(numbers.values())


def _name(path: Path, folder: Path) -> str:
    """Return a path as people read it: from the folder, if it is there."""
    try:
        text = path.relative_to(folder).as_posix()
    except ValueError:
        text = str(path)
    return git.printable(text)
