"""Checks that Python code can run in a synchronous Celery worker: `check_paths` for files, `check_source` for a text.

    python_files      which files of a folder are checked
    analysis/         reads a module and finds calls, imports and syntax
    rules             which of these a worker cannot bear
    report            what was found

The code is parsed and never run. Names are followed through imports, aliases and assignments, so that `get(url)` is a
finding where `get` is `requests.get`, but not where it is a function of the module.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from openskelo import errors, files
from openskelo.checks.sync_celery import analysis, python_files, rules
from openskelo.checks.sync_celery.report import Report, Suppressed, Unreadable, Violation

#: A larger file is not read: parsing takes a hundred times the file's size in memory.
MAX_BYTES = 2 * 1024 * 1024
#: A shorter reason explains nothing.
_MIN_REASON = 10
_COMMENT = re.compile(r"#\s*sync-ok:\s*(.*\S)")


def check_paths(paths: Sequence[Path | str]) -> Report:
    """Return what is found in these files, and in the Python files of these folders.

    Raise NotFound PATH_NOT_FOUND if a path does not exist. A file in a folder is named relative to the folder.
    """
    for path in paths:
        if not python_files.exists(Path(path)):
            raise errors.NotFound(f"there is no file or folder {str(path)!r}", code="PATH_NOT_FOUND")
    found = [found for path in paths for found in python_files.find(Path(path))]
    return join([_check_file(file) for file in found])


def check_source(source: str | bytes, file: str = "<text>") -> Report:
    """Return what is found in the text of one module; `file` is its name in the report."""
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if len(data) > MAX_BYTES:
        return _unreadable(file, f"it has more than the {MAX_BYTES} bytes that are checked")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the code that is read, such as invalid escapes
            tree = ast.parse(data)
        found = analysis.analyse(tree)
        text = _decode(data)
    except SyntaxError as error:
        return _unreadable(file, f"it does not parse: {error.msg}", error.lineno or 1)
    except (ValueError, UnicodeError) as error:
        return _unreadable(file, f"it does not parse: {error}")
    except (RecursionError, MemoryError):
        return _unreadable(file, "it is nested too deeply to be checked")
    return _report(file, found, text)


def _check_file(found: python_files.PythonFile) -> Report:
    if found.problem:
        return _unreadable(found.name, found.problem)
    try:
        with files.open_plain(found.path) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return _unreadable(found.name, f"it cannot be read: {error.strerror}")
    return check_source(data, found.name)


def _report(file: str, found: Iterable[analysis.Found], text: str) -> Report:
    lines = text.split("\n")
    reasons = _reasons(text)
    violations, suppressed = list[Violation](), list[Suppressed]()
    for finding in found:
        reason = reasons.get(finding.line, "")
        if len(reason) >= _MIN_REASON:
            suppressed.append(Suppressed(file=file, line=finding.line, code=finding.code, reason=reason))
            continue
        short = f"; the reason after `sync-ok:` needs {_MIN_REASON} characters" if reason else ""
        violations.append(
            Violation(
                file=file,
                line=finding.line,
                column=_column(lines, finding),
                end_line=finding.end_line,
                code=finding.code,
                message=finding.message,
                hint=rules.HINTS[finding.code] + short,
            )
        )
    return Report(files=1, violations=tuple(violations), suppressed=tuple(suppressed))


def _reasons(text: str) -> Mapping[int, str]:
    """Return the reason of each `# sync-ok:` comment by its line."""
    if "sync-ok" not in text:
        return {}
    reasons = dict[int, str]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and (comment := _COMMENT.match(token.string)) is not None:
            reasons[token.start[0]] = "".join(filter(str.isprintable, comment[1])).strip()
    return reasons


def _decode(data: bytes) -> str:
    """Return the text of a module in the encoding that it declares, with `\\n` at the end of every line."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.TextIOWrapper(io.BytesIO(data), encoding).read()


def _column(lines: Sequence[str], finding: analysis.Found) -> int:
    """Return the column in characters, from 1; the parser counts bytes."""
    line = lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""
    return len(line.encode("utf-8", "replace")[: finding.column].decode("utf-8", "replace")) + 1


def _unreadable(file: str, message: str, line: int = 1) -> Report:
    return Report(files=1, unreadable=(Unreadable(file=file, line=line, message=message),))


def join(reports: Sequence[Report]) -> Report:
    """Return one report of several."""
    return Report(
        files=sum(report.files for report in reports),
        violations=tuple(violation for report in reports for violation in report.violations),
        suppressed=tuple(suppressed for report in reports for suppressed in report.suppressed),
        unreadable=tuple(unreadable for report in reports for unreadable in report.unreadable),
    )
