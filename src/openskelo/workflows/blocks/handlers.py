"""Read and check the handler of a deterministic block: a built-in, a file of the project, or a registered function.

`read` reads the `deterministic` section by itself. Once the whole block is read, `check_builtin` checks a built-in
against the rest of its block: the inputs that its config names, the texts in it, and the outputs that it returns.
What a built-in takes and returns is in its definition (`openskelo.handlers.builtin`).
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import cast

from openskelo import files
from openskelo.extensions import Position
from openskelo.handlers import builtin, file_access
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.structs import frozen
from openskelo.values.schema import compatibility, validator
from openskelo.workflows.blocks import expression_scope
from openskelo.workflows.text import cursor, problems


@frozen
class Handler:
    """A checked `deterministic` section."""

    name: str
    config: JsonObject


@frozen
class Folders:
    """The folders of files that a workflow may name: inside the project's root, and code in none of its write roots.

    A file that data has written must not become code, so a write root and the data dir hold no handler, no workflow and
    no part of a prompt.
    """

    root: Path
    write_roots: tuple[Path, ...]
    data_dir: Path

    def reason_against_reading(self, real: Path) -> str | None:
        """Return why a workflow may not use the file or folder at a real path inside the root; None when it may."""
        if file_access.is_inside(real, self.write_roots):
            return "is in a folder that data may write to"
        if file_access.is_in_data_dir(real, self.root, self.data_dir):
            return "is in the data dir"
        if any(part.startswith(".") for part in real.relative_to(self.root).parts):
            return "is hidden, or in a hidden folder"
        return None


def read(section: cursor.Cursor, folders: Folders | None) -> Handler | None:
    """Return the section under `deterministic`; None after a Problem."""
    fields = section.fields({"handler", "config"})
    handler_field = None if fields is None else fields.need("handler")
    if fields is None or handler_field is None:
        return None
    name = handler_field.text(blank=False)
    settings = fields.get("config")
    config = None if settings is None or settings.value is None else settings.fields()
    if name is None:
        return None
    if name.startswith("builtin:"):
        if name not in builtin.HANDLERS:
            hint = problems.did_you_mean(name, builtin.HANDLERS, otherwise=f"built in: {', '.join(builtin.HANDLERS)}")
            handler_field.problem("HANDLER_UNKNOWN", f"there is no handler {name[:60]!r}", hint=hint)
            return None
        _check_config(settings or section, name, {} if config is None else config.value)
    elif not name.startswith("local:"):
        check_file(handler_field, name, folders)
    return Handler(name=name, config={} if config is None else config.value)


def default_effect(name: str, config: JsonObject) -> definition.Effect:
    """Return how careful the engine has to be with a handler after a crash, unless the author says otherwise."""
    handler = builtin.HANDLERS.get(name)
    if handler is None:
        return "idempotent"
    return handler.effect_of(config)


def has_default_timeout(name: str) -> bool:
    """True if a block with this handler is stopped after a time even when its author names none.

    A `local:` handler is a function of the program that drives the run: in a thread it could not be stopped, and that
    program knows how long it takes.
    """
    return not name.startswith("local:")


def uncacheable(name: str | None) -> str | None:
    """Return why the results of a handler cannot be cached; None when they can."""
    handler = None if name is None else builtin.HANDLERS.get(name)
    if handler is None:
        return None
    return handler.uncacheable or None


def _check_config(section: cursor.Cursor, name: str, config: JsonObject) -> None:
    schema = builtin.HANDLERS[name].config
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        cursor.Cursor(config, section.path, section.report).fields(properties.keys())
        config = {key: value for key, value in config.items() if key in properties}
    for alternatives in _needed_keys(schema):
        if not any(key in config for key in alternatives):
            key_list = " or ".join(f"`{key}`" for key in alternatives)
            section.problem("DET_CONFIG_INVALID", f"{name} needs {key_list}")
    values_only = {keyword: rule for keyword, rule in schema.items() if keyword not in ("required", "anyOf")}
    for violation in validator.compile(values_only).check(config):
        position = cursor.Cursor(config, section.path, section.report).below(violation.path)
        position.problem("DET_CONFIG_INVALID", f"{name}: {violation.message}")


def _needed_keys(schema: JsonObject) -> list[list[str]]:
    """Return what a config must have: at least one key of each list."""
    required, alternatives = schema.get("required"), schema.get("anyOf")
    key_groups = [[key] for key in required if isinstance(key, str)] if isinstance(required, list) else []
    if isinstance(alternatives, list):
        lists = [option["required"] for option in alternatives if isinstance(option, Mapping) and "required" in option]
        key_groups.append([key for keys in lists if isinstance(keys, list) for key in keys if isinstance(key, str)])
    return key_groups


def check_builtin(node: definition.Node, block: cursor.Cursor) -> None:
    """Report what only the config and the ports of a block together can tell; nothing for other handlers."""
    handler = builtin.of(node)
    if handler is None:
        return
    config = block.at("deterministic", None).at("config", node.config)
    _check_named_inputs(node, config)
    if handler.check is not None:
        handler.check(_block_check(node, config))
    outputs = handler.outputs_of(node)
    if outputs is not None:
        _check_outputs(node, block.at("outputs", None), outputs)


def _check_named_inputs(node: definition.Node, config: cursor.Cursor) -> None:
    """Report keys `*_from` that name no input. `path_from` has a fallback, which the handler's own check knows."""
    inputs = [port.name for port in node.inputs]
    for key, value in node.config.items():
        if key.endswith("_from") and key != "path_from" and isinstance(value, str) and value not in inputs:
            hint = problems.did_you_mean(value, inputs)
            config.at(key, value).problem("UNKNOWN_PORT", f"this block has no input {value[:60]!r}", hint=hint)


def _block_check(node: definition.Node, config: cursor.Cursor) -> builtin.BlockCheck:
    variables: dict[str, JsonObject | None] = {"inputs": expression_scope.of_ports(node.inputs)}
    if node.foreach is not None:
        variables[node.foreach.name] = None

    # The loader made these positions, so each of them is a Cursor.
    def check_template(position: Position) -> None:
        expression_scope.check_template(cast("cursor.Cursor", position), variables)

    def check_expression(position: Position) -> JsonObject | None:
        return expression_scope.check_expression(cast("cursor.Cursor", position), variables)

    return builtin.BlockCheck(
        node=node, config=config, check_template=check_template, check_expression=check_expression
    )


def _check_outputs(node: definition.Node, section: cursor.Cursor, outputs: builtin.Outputs) -> None:
    for port in node.outputs:
        position = section.at(port.name, None)
        if port.name not in outputs:
            hint = problems.did_you_mean(port.name, outputs, otherwise=f"it gives {', '.join(outputs) or 'nothing'}")
            position.key_problem("UNKNOWN_PORT", f"{node.handler} gives no {port.name[:60]!r}", hint=hint)
        elif (mismatch := compatibility.find_conflict(outputs[port.name], port.schema)) is not None:
            message = f"what {node.handler} gives does not fit {port.name!r}: {mismatch}"
            position.problem("TYPE_MISMATCH", message)


def check_file(named: cursor.Cursor, name: str, folders: Folders | None) -> None:
    """Report a handler that is no callable file of the project: `file.py:function`, or an executable."""
    path, _, function = name.partition(":")
    if function and not (path.endswith(".py") and function.isidentifier()):
        named.problem("HANDLER_INVALID", f"{name[:80]!r} is neither `file.py:name` nor a file")
        return
    if folders is None:
        named.problem("HANDLER_INVALID", "a handler file needs a project", hint="give `root`, or use local:NAME")
        return
    problem = outside(path, folders.root)
    if problem is not None:
        named.problem("HANDLER_OUTSIDE", f"{path[:80]!r} {problem}", hint="handlers are files inside the project")
        return
    real = folders.root / path
    if not real.is_file():
        hint = problems.similar_path(real, path)
        named.problem("HANDLER_NOT_FOUND", f"there is no file {path[:80]!r} in the project", hint=hint)
    elif file_access.is_inside(real.resolve(), folders.write_roots):
        write_root = file_access.code_in_write_root(path)
        named.problem(write_root.code, write_root.message, hint=write_root.hint)
    elif file_access.is_in_data_dir(real.resolve(), folders.root, folders.data_dir):
        named.problem("HANDLER_OUTSIDE", f"{path[:80]!r} is in the data dir", hint="handlers are files of the project")
    elif path.endswith(".py"):
        check_python_file(named, real, function or "handler")
    elif not os.access(real, os.X_OK):
        named.problem("HANDLER_NOT_EXECUTABLE", f"{path[:80]!r} is neither Python nor executable", hint="chmod +x it")


def check_program(place: cursor.Cursor, argv: Sequence[str], folders: Folders, folder: str = ".") -> None:
    """Report a program that data may have written, or that is started in a folder that data may write to."""
    where = Path(os.path.realpath(folders.root / folder))
    planted_in = file_access.find_planted(argv, where, folders.write_roots)
    if planted_in is None and file_access.is_inside(where, folders.write_roots):
        planted_in = folder
    if planted_in is not None:
        error = file_access.code_in_write_root(planted_in)
        place.problem(error.code, error.message, hint=error.hint)


def outside(path: str, root: Path) -> str | None:
    """Return why `path` leaves the project, by its parts or through a link; None when it stays inside."""
    parts = PurePosixPath(path)
    if "\0" in path or len(path) > 1024:
        return "is not a file name"
    if parts.is_absolute() or ".." in parts.parts or "\\" in path:
        return "leads outside of the project"
    try:
        real = (root / path).resolve()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(real)  # raises for a name that the file system does not accept
    except (OSError, RuntimeError):
        return "cannot be followed"
    if real.is_relative_to(root.resolve()):
        return None
    return "leads outside of the project through a link"


# -- Python files -----------------------------------------------------------------------------------------------------
#
# The Python file of a handler as far as its text tells: whether it parses, and which names it has. It is never run.


#: What a file is read for stands in its beginning or nowhere; a larger file is not checked here.
_LARGEST_BYTES = 1024 * 1024
#: Names that may come from anywhere: `from x import *`, and a module's own `__getattr__`.
_OPEN = frozenset({"*", "__getattr__"})


@frozen
class Names:
    """The names at the top level of a module."""

    bound: frozenset[str]
    #: Those defined with `def`.
    functions: tuple[str, ...]


@frozen
class Broken:
    """A Python syntax error; line and column count from 1."""

    line: int
    column: int
    message: str


def check_python_file(named: cursor.Cursor, path: Path, function: str) -> None:
    """Report a Problem if the file at `path` is no Python (at its own line), or cannot have `function`."""
    try:
        with files.open_plain(path) as file_handle:
            data = file_handle.read(_LARGEST_BYTES + 1)
    except OSError as error:
        named.problem("FILE_UNREADABLE", f"{path.name} cannot be read: {error.strerror}")
        return
    if len(data) > _LARGEST_BYTES:
        return
    match read_names(data):
        case Broken() as failure:
            named.report.include((_problem(path, failure),))
        case Names() as names if function not in names.bound and names.bound.isdisjoint(_OPEN):
            function_list = f"it has {', '.join(names.functions[:12])}" if names.functions else "it has no function"
            hint = problems.did_you_mean(function, names.functions, otherwise=function_list)
            message = f"{path.name} has no function {function[:60]!r}"
            named.problem("HANDLER_FUNCTION_UNKNOWN", message, hint=hint)
        case Names():
            pass


@functools.lru_cache(maxsize=16)
def read_names(data: bytes) -> Names | Broken:
    """Return the names in a Python text, or what is wrong with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a matter between the author and Python
            tree = ast.parse(data)
            compile(tree, "", "exec", dont_inherit=True)  # finds what a grammar cannot, such as a lost `return`
    except SyntaxError as error:
        return Broken(line=error.lineno or 1, column=max(error.offset or 1, 1), message=error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        return Broken(line=1, column=1, message=str(error) or "it nests too deep")
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Names(bound=frozenset(_bound(tree)), functions=tuple(dict.fromkeys(functions)))


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield every name that a module binds at its top level, under any condition."""
    todo: list[ast.AST] = [tree]
    while todo:
        for child in ast.iter_child_nodes(todo.pop()):
            match child:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    yield child.name
                case ast.alias():
                    yield child.asname or child.name.partition(".")[0]
                case ast.Name(ctx=ast.Store()):
                    yield child.id
                case _:
                    todo.append(child)


def _problem(path: Path, broken: Broken) -> problems.Problem:
    return problems.Problem(
        file=str(path),
        line=broken.line,
        column=broken.column,
        code="HANDLER_SYNTAX",
        message=f"this handler is no Python: {broken.message}",
    )
