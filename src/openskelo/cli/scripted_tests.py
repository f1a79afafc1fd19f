"""Scripted tests of `skelo test`: reads a script file, runs its cases in a copy of the project, and compares.

Each case is a real run with real handlers, gates and contracts, and with the script in place of models and people. The
script file looks like this:

tests:
  - name: publishes what was approved
    inputs: {topic: bees}
    answers: {draft: [{text: "…"}, {error: {code: MODEL_DOWN, message: "…"}}]}   # of ai blocks, in order
      # and of gates that ask a model: {"draft:gate": [{verdicts: [{criterion: 1, passed: true, reason: "…"}]}]}
    approvals: {review: {status: approved | denied | modified, set: {…}, reason: "…", by: ann}}   # or a list of them
    results: {s3: [{ok: true}]}                                                    # of tools and checkers, in order
    contexts: {"ctx:diff": "…"}                                                    # of a plan
    expect: {ending: ok, outputs: {…}, nodes: {draft: {outcome: succeeded, outputs: {…}}}}
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from openskelo import errors, gates, testing
from openskelo.cli import json_fields, output
from openskelo.engine import api as engine_api
from openskelo.history.run_document import RunDocument
from openskelo.kernel import commands, definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.project import Project
from openskelo.providers import scripted
from openskelo.stores import memory
from openskelo.structs import field, frozen
from openskelo.values import canonical, suggestions
from openskelo.workflows.text import cursor, source

ENDINGS = ("ok", "failed", "cancelled", "budget_exceeded", "denied", "escalated", "paused")
_NODE_FACTS = frozenset({"status", "outcome", "visits", "attempts", "outputs"})
_STATUSES: dict[str, commands.Answer] = {"approved": "approved", "denied": "denied", "modified": "modified"}


@frozen
class Case:
    """A scripted run and its expected result."""

    name: str
    ending: str
    inputs: JsonObject = field(default_factory=dict[str, Json])
    answers: Mapping[str, tuple[Json, ...]] = field(default_factory=dict[str, tuple[Json, ...]])
    results: Mapping[str, tuple[Json, ...]] = field(default_factory=dict[str, tuple[Json, ...]])
    contexts: JsonObject = field(default_factory=dict[str, Json])
    replies: Mapping[str, tuple[testing.Reply, ...]] = field(default_factory=dict[str, tuple[testing.Reply, ...]])
    #: The expected outputs; others are not compared.
    outputs: JsonObject = field(default_factory=dict[str, Json])
    #: The expected nodes; others are not compared.
    nodes: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])


def read(path: Path, workflow: definition.Workflow) -> tuple[Case, ...]:
    """Return the cases in a file. Raise InvalidWorkflow with every Problem."""
    text = source.read(path)
    report = text.report()
    root = cursor.Cursor(text.value, (), report).fields({"tests"})
    tests = root.need("tests") if root else None
    entries = (tests.items() or []) if tests else []
    if tests and not entries and not report.failed:
        tests.problem("EMPTY", "the script has no tests")
    cases = [_case(entry, workflow, number) for number, entry in enumerate(entries, 1)]
    wrong = tuple(problem for problem in report.problems() if problem.severity == "error")
    if wrong:
        raise errors.InvalidWorkflow(wrong)
    return tuple(case for case in cases if case is not None)


def _case(entry: cursor.Cursor, workflow: definition.Workflow, number: int) -> Case | None:
    fields = entry.fields({"name", "inputs", "answers", "approvals", "results", "contexts", "expect"})
    if fields is None:
        return None
    expected = fields.get("expect")
    expectations = None if expected is None else expected.fields({"ending", "outputs", "nodes"})
    if expected is not None and expectations is None:
        return None
    nodes = {} if expectations is None else _by_node(expectations, "nodes", workflow)
    return Case(
        name=fields.text("name", f"test {number}"),
        ending="ok" if expectations is None else expectations.choice("ending", ENDINGS, "ok"),
        inputs=_object(fields, "inputs"),
        answers={key: _list(place) for key, place in _by_node(fields, "answers", workflow, _reviews(workflow)).items()},
        results={
            key: _list(place)
            for key, place in _by_node(fields, "results", workflow).items()
            if _may_have_results(place, workflow)
        },
        contexts=_contexts(fields, workflow),
        replies={key: _replies(place) for key, place in _by_node(fields, "approvals", workflow).items()},
        outputs={} if expectations is None else _object(expectations, "outputs"),
        nodes={key: _facts(place) for key, place in nodes.items()},
    )


def _reviews(workflow: definition.Workflow) -> tuple[str, ...]:
    """Return the gates that ask a model, for which a script may answer, as `block:gate`."""
    return tuple(
        f"{node.key}:{gate.name}"
        for node in workflow.nodes.values()
        for gate in (*node.pre_gates, *node.post_gates)
        if gates.asks_model(gate.type)
    )


def _by_node(
    fields: cursor.Fields, name: str, workflow: definition.Workflow, others: tuple[str, ...] = ()
) -> dict[str, cursor.Cursor]:
    place = fields.get(name)
    inner = place.fields() if place else None
    cursors: dict[str, cursor.Cursor] = {}
    for entry in inner or ():
        key = str(entry.path[-1])
        if key in workflow.nodes or key in others:
            cursors[key] = entry
        else:
            hint = suggestions.did_you_mean(key, (*workflow.nodes, *others))
            entry.key_problem("UNKNOWN_BLOCK", f"the workflow has no block {key[:60]!r}", hint=hint)
    return cursors


def _may_have_results(place: cursor.Cursor, workflow: definition.Workflow) -> bool:
    """True if a script may have results for a node: for a tool_call or a verify; otherwise a Problem."""
    node = workflow.nodes[str(place.path[-1])]
    if node.step is not None and node.step.op in ("tool_call", "verify"):
        return True
    place.key_problem(
        "SCRIPT_INVALID", f"{node.key} calls neither a tool nor a checker", hint="only those have results here"
    )
    return False


def _contexts(fields: cursor.Fields, workflow: definition.Workflow) -> JsonObject:
    place = fields.get("contexts")
    context_names = () if workflow.plan is None else workflow.plan.contexts
    for entry in (place.fields() if place else None) or ():
        if (name := str(entry.path[-1])) not in context_names:
            hint = suggestions.did_you_mean(name, context_names)
            entry.key_problem("CONTEXT_UNKNOWN", f"the workflow uses no context {name[:60]!r}", hint=hint)
    return _object(fields, "contexts")


def _list(place: cursor.Cursor) -> tuple[Json, ...]:
    return tuple(entry.value for entry in place.items() or ())


def _replies(place: cursor.Cursor) -> tuple[testing.Reply, ...]:
    entries = [place] if isinstance(place.value, Mapping) else place.items() or []
    return tuple(reply for entry in entries if (reply := _reply(entry)) is not None)


def _reply(entry: cursor.Cursor) -> testing.Reply | None:
    fields = entry.fields({"status", "set", "reason", "by"})
    if fields is None:
        return None
    values = _object(fields, "set")
    status = fields.choice("status", tuple(_STATUSES), "modified" if values else "approved")
    return testing.Reply(
        status=_STATUSES[status],
        modified_args=values or None,
        reason=fields.text("reason") or None,
        by=fields.text("by") or "test",
    )


def _facts(place: cursor.Cursor) -> JsonObject:
    fields = place.fields(_NODE_FACTS)
    return fields.value if fields else {}


def _object(fields: cursor.Fields, name: str) -> JsonObject:
    place = fields.get(name)
    inner = place.fields() if place else None
    return inner.value if inner else {}


#: Folders that workflows do not need and that may be large.
_LEFT_OUT = frozenset({".skelo", ".venv", "venv", "node_modules", "__pycache__"})
#: The project's own history; a repository inside of the project is copied, because workflows may work on it.
_HISTORY = ".git"
_MAX_FILES = 5_000


@frozen
class Verdict:
    """The result of one case."""

    name: str
    #: Empty if everything is as expected.
    differences: tuple[str, ...]
    document: RunDocument | None


def copy_project(where: Project, target: Path) -> Project:
    """Copy the project to `target`, so that a test does not write into the real one; return the copy."""
    if any(True for _ in itertools.islice(_files(where.root), _MAX_FILES, None)):
        raise errors.InvalidInput(
            f"{where.root} has more than {_MAX_FILES} files, too many to copy for a test",
            code="PROJECT_TOO_LARGE",
            hint="put the workflow into a project of its own: a folder with a skelo.yaml",
        )
    root = target / "project"
    try:
        shutil.copytree(
            where.root,
            root,
            ignore=lambda folder, names: (
                _left_out(Path(folder) == where.root, names) | _special_files(Path(folder), names)
            ),
            symlinks=True,
        )
    except OSError as error:
        raise errors.InvalidInput(
            f"{where.root} cannot be copied for a test: {_why(error)}", code="FILE_UNREADABLE"
        ) from error
    return Project(
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


def _special_files(folder: Path, names: Iterable[str]) -> set[str]:
    """Return the names of pipes, sockets and devices, which cannot be copied."""
    modes = {name: (folder / name).lstat().st_mode for name in names}
    return {
        name for name, mode in modes.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    }


def _why(error: OSError) -> str:
    """Return the reason of an error; copytree collects several errors, of which the first counts."""
    if not isinstance(error, shutil.Error):
        return str(error)
    _, _, reason = error.args[0][0]
    return str(reason)


async def run_case(project: Project, workflow: definition.Workflow, case: Case) -> Verdict:
    """Run one case until it ends or asks something that the script does not answer, and compare the result."""
    model = scripted.from_document(case.answers)
    stand_ins = testing.stand_ins(case.results)
    async with engine_api.open_engine(
        project, store=memory.MemoryStore(), provider=model, handlers=stand_ins
    ) as engine:
        try:
            run_id = await engine.start(workflow, case.inputs, by="test", contexts=case.contexts)
            document = await testing.drive(engine, run_id, case.replies)
        except (errors.InvalidInput, errors.Refused) as error:  # the case itself is wrong; the other cases still run
            return Verdict(name=case.name, differences=(f"{error.code} {error.message}",), document=None)
    return Verdict(name=case.name, differences=tuple(differences(case, document)), document=document)


def differences(case: Case, document: RunDocument) -> list[str]:
    """Return everything that is not as the case expects, as sentences."""
    differences: list[str] = []
    ending = document["ending"] or "paused"
    if ending != case.ending:
        differences.append(f"ending is {ending}, not {case.ending}{_explain_ending(document)}")
    differences += _unequal("outputs", case.outputs, document["outputs"])
    for key, expected in case.nodes.items():
        actual = cast("JsonObject", document["nodes"].get(key) or {})
        facts = {name: value for name, value in expected.items() if name != "outputs"}
        differences += _unequal(key, facts, actual)
        differences += _unequal(
            f"{key}.outputs", json_fields.object_at(expected, "outputs"), json_fields.object_at(actual, "outputs")
        )
    return differences


def _explain_ending(document: RunDocument) -> str:
    """Return the error of a run, or the approvals for which the script has no answer."""
    error = document.get("error")
    if error is not None:
        return f" ({error['code']} {error['message']})"
    waiting = [approval["node"] for approval in document["approvals"]]
    if waiting:
        return f" (no answer is left for {', '.join(waiting)})"
    return ""


def _unequal(where: str, expected: JsonObject, actual: JsonObject) -> list[str]:
    return [
        f"{where}.{name} is {_shown(actual, name)}, not {output.compact(value, 200)}"
        for name, value in expected.items()
        if name not in actual or not _same(actual[name], value)
    ]


def _shown(actual: JsonObject, name: str) -> str:
    if name in actual:
        return output.compact(actual[name], 200)
    return "missing"


def _same(first: Json, second: Json) -> bool:
    """True if two values are equal as JSON: true is not 1, and the order of keys does not matter."""
    return canonical.dumps(first) == canonical.dumps(second)


def _moved(path: Path, root: Path, copy: Path) -> Path:
    """Return the folder in the copy that replaces `path`; a folder outside the project gets one in the copy, too."""
    if path.is_relative_to(root):
        return copy / path.relative_to(root)
    return copy / ".outside" / path.relative_to(path.anchor)
