"""One scripted run for `skelo test`: a real run in a copy of the project, with the script as model and person."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from openskelo import errors, testing
from openskelo.cli import members, output, script
from openskelo.engine import local
from openskelo.executors import task
from openskelo.frozen import frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import scripted
from openskelo.stores import memory
from openskelo.values import canonical

#: Folders that no workflow needs and that may be large.
_LEFT_OUT = frozenset({".skelo", ".venv", "venv", "node_modules", "__pycache__"})
#: The project's own history; that of a repository inside of it is something that workflows work on.
_HISTORY = ".git"
_MOST_FILES = 5_000


@frozen
class Verdict:
    """What came of one case; `differences` is empty when all was as expected."""

    name: str
    differences: tuple[str, ...]
    document: JsonObject


def copy_project(where: task.Project, target: Path) -> task.Project:
    """A copy of the project under `target`, so that a test writes nothing into the real one."""
    if any(True for _ in itertools.islice(_files(where.root), _MOST_FILES, None)):
        raise errors.InvalidInput(
            f"{where.root} has more than {_MOST_FILES} files, too many to copy for a test",
            code="PROJECT_TOO_LARGE",
            hint="put the workflow into a project of its own: a folder with a skelo.yaml",
        )
    root = target / "project"
    try:
        shutil.copytree(
            where.root,
            root,
            ignore=lambda folder, names: _left_out(Path(folder) == where.root, names) | _odd(Path(folder), names),
            symlinks=True,
        )
    except OSError as error:
        raise errors.InvalidInput(
            f"{where.root} cannot be copied for a test: {_why(error)}", code="FILE_UNREADABLE"
        ) from error
    return task.Project(
        root=root,
        data_dir=target / "data",
        write_roots=tuple(_moved(path, where.root, root) for path in where.write_roots),
        read_roots=tuple(_moved(path, where.root, root) for path in where.read_roots),
        allow_commands=where.allow_commands,
        allow_private_addresses=where.allow_private_addresses,
        secrets=where.secrets,
        registry=where.registry,
    )


def _files(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        without = _left_out(Path(folder) == root, folders)
        folders[:] = [name for name in folders if name not in without]
        yield from files


def _left_out(top: bool, names: Iterable[str]) -> set[str]:
    return {name for name in names if name in _LEFT_OUT or (top and name == _HISTORY)}


def _odd(folder: Path, names: Iterable[str]) -> set[str]:
    """What cannot be copied and is none of a workflow's files: pipes, sockets, devices."""
    modes = {name: (folder / name).lstat().st_mode for name in names}
    return {
        name for name, mode in modes.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    }


def _why(error: OSError) -> str:
    """The reason in words; of a folder's copy, which goes on after a mistake, the first one."""
    if not isinstance(error, shutil.Error):
        return str(error)
    _, _, reason = error.args[0][0]
    return str(reason)


async def hold(project: task.Project, workflow: definition.Workflow, case: script.Case) -> Verdict:
    """Run one case to its end, or until it asks something that the script does not answer; what is refused is told."""
    model = scripted.from_document(case.answers)
    players = testing.stand_ins(case.results)
    async with await local.Engine.open(project, store=memory.MemoryLog(), provider=model, handlers=players) as engine:
        try:
            run_id = await engine.start(workflow, case.inputs, by="test", contexts=case.contexts)
            document = await testing.drive(engine, run_id, case.replies)
        except (errors.InvalidInput, errors.Refused) as error:  # what the case gives: the others are held all the same
            return Verdict(name=case.name, differences=(f"{error.code} {error.message}",), document={})
    return Verdict(name=case.name, differences=tuple(differences(case, document)), document=document)


def differences(case: script.Case, document: JsonObject) -> list[str]:
    """Everything that is not as the case expects, in words."""
    found: list[str] = []
    ending = document.get("ending") or "paused"
    if ending != case.ending:
        found.append(f"ending is {ending}, not {case.ending}{_end_of(document)}")
    found += _unequal("outputs", case.outputs, members.object_at(document, "outputs"))
    nodes = members.object_at(document, "nodes")
    for key, expected in case.nodes.items():
        actual = members.object_at(nodes, key)
        facts = {name: value for name, value in expected.items() if name != "outputs"}
        found += _unequal(key, facts, actual)
        found += _unequal(
            f"{key}.outputs", members.object_at(expected, "outputs"), members.object_at(actual, "outputs")
        )
    return found


def _end_of(document: JsonObject) -> str:
    """What a run came to its end by, or what it waits for: an answer that the script does not have."""
    error = members.object_at(document, "error")
    if error:
        return f" ({error['code']} {error['message']})"
    asked = [members.text_at(approval, "node") for approval in members.objects_at(document, "approvals")]
    return f" (no answer is left for {', '.join(asked)})" if asked else ""


def _unequal(where: str, expected: JsonObject, actual: JsonObject) -> list[str]:
    return [
        f"{where}.{name} is {_shown(actual, name)}, not {output.compact(value, 200)}"
        for name, value in expected.items()
        if name not in actual or not _same(actual[name], value)
    ]


def _shown(actual: JsonObject, name: str) -> str:
    return output.compact(actual[name], 200) if name in actual else "missing"


def _same(one: Json, other: Json) -> bool:
    """Equal as JSON: true is not 1, and the order of keys says nothing."""
    return canonical.dumps(one) == canonical.dumps(other)


def _moved(path: Path, root: Path, copy: Path) -> Path:
    """The folder in the copy that stands for `path`; one outside the project gets a place in the copy too."""
    if path.is_relative_to(root):
        return copy / path.relative_to(root)
    return copy / ".outside" / path.relative_to(path.anchor)
