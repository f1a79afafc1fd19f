"""The folder of an ai block: role.md, rules.md, task.md and context/*.md, read at load and pinned as they are."""

from __future__ import annotations

from pathlib import Path

from openskelo import files
from openskelo.frozen import replace
from openskelo.kernel.json import Json
from openskelo.workflows import cursor, handlers, nearby, problems, scope, spots, suggest

#: The parts that may hold `{{ CEL }}`; what is in `context/` is shown as it is.
PARTS = ("role.md", "rules.md", "task.md")
_CONTEXT = "context"
_LARGEST_FILE = 128 * 1024
_LARGEST = 512 * 1024
_MOST_FILES = 100


def read(found: cursor.Cursor, root: Path | None, variables: scope.Variables) -> dict[str, Json]:
    """The content of the folder's files by their names in it; empty after a Problem."""
    text = found.text(blank=False)
    if text is None:
        return {}
    if root is None:
        found.problem("BLOCK_DIR_INVALID", "a block folder needs a project", hint="give `root`")
        return {}
    outside = handlers.outside(text, root)
    if outside is not None:
        found.problem("BLOCK_DIR_INVALID", f"{text[:80]!r} {outside}", hint="name a folder inside the project")
        return {}
    folder = root / text
    if not folder.is_dir():
        hint = nearby.meant(folder, text, kind=Path.is_dir)
        found.problem("BLOCK_DIR_NOT_FOUND", f"there is no folder {text[:80]!r} in the project", hint=hint)
        return {}
    parts = {name: _content(found, root, f"{text.rstrip('/')}/{name}") for name in _names(found, folder)}
    if not parts:
        hint = f"it may hold {', '.join(PARTS)} and {_CONTEXT}/*.md"
        found.problem("BLOCK_DIR_EMPTY", f"the folder {text[:80]!r} has no part of a prompt", hint=hint)
    if sum(map(len, parts.values())) > _LARGEST:
        found.problem("BLOCK_DIR_TOO_LARGE", f"the files of {text[:80]!r} have more than {_LARGEST} characters")
        return {}
    for name in PARTS:
        if name in parts:
            _check(found, str(folder / name), parts[name], variables)
    return {**parts}


def _names(found: cursor.Cursor, folder: Path) -> list[str]:
    """What there is to read, in order; a file that looks like a part and is none gets a warning."""
    try:
        here = sorted(entry.name for entry in folder.iterdir())
        context = sorted(path.name for path in (folder / _CONTEXT).glob("*.md"))
    except OSError as error:
        found.problem("BLOCK_DIR_INVALID", f"the folder cannot be read: {error.strerror}")
        return []
    for name in here:
        if name.endswith(".md") and name not in (*PARTS, "README.md"):
            hint = suggest.did_you_mean(name, PARTS, otherwise=f"parts are {', '.join(PARTS)} and {_CONTEXT}/*.md")
            found.warn("BLOCK_DIR_UNUSED", f"{name[:60]!r} is no part of a prompt and not read", hint=hint)
    if len(context) > _MOST_FILES:
        found.problem("BLOCK_DIR_TOO_LARGE", f"more than {_MOST_FILES} files in {_CONTEXT}/")
        return []
    return [*(name for name in PARTS if name in here), *(f"{_CONTEXT}/{name}" for name in context)]


def _content(found: cursor.Cursor, root: Path, path: str) -> str:
    outside = handlers.outside(path, root)
    if outside is not None:
        found.problem("BLOCK_DIR_INVALID", f"{path[:80]!r} {outside}")
        return ""
    try:
        with files.open_plain(root / path) as file:
            data = file.read(_LARGEST_FILE + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        found.problem("BLOCK_DIR_INVALID", f"{path[:80]!r} cannot be read: {error.strerror}")
        return ""
    except UnicodeDecodeError:
        found.problem("NOT_UTF8", f"{path[:80]!r} is not UTF-8", hint="save it as UTF-8")
        return ""
    if len(data) > _LARGEST_FILE:
        found.problem("BLOCK_DIR_TOO_LARGE", f"{path[:80]!r} is larger than {_LARGEST_FILE} bytes")
        return ""
    return text


def _check(found: cursor.Cursor, file: str, text: str, variables: scope.Variables) -> None:
    """What is wrong with a part is a Problem in that file."""
    report = problems.Report(file=file, root=spots.Spot(line=1, column=1, text_line=1))
    scope.check_template(cursor.Cursor(text, (), report), variables)
    found.report.include(report.problems())
    found.report.run_reads += [replace(one, path=found.path, position=None) for one in report.run_reads]
