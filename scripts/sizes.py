"""Report the longest files, functions and parameter lists of the product.

These are places to look at, not limits: a file is as long as its idea. The report never fails a build.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "benchmarks", "scripts")
#: Of the dashboard only files are counted; generated files are not.
WEB = "web/src"
GENERATED = frozenset({"web/src/api/schema.ts"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Something that is counted, and the number to aim for."""

    what: str
    aim: int


FILE = Rule(what="lines in a file", aim=400)
FUNCTION = Rule(what="lines in a function", aim=40)
PARAMETERS = Rule(what="parameters", aim=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of one file, function or parameter list."""

    rule: Rule
    count: int
    where: str


def measure(text: str, name: str) -> Iterator[Size]:
    """Yield every size in one Python file."""
    yield Size(rule=FILE, count=len(text.splitlines()), where=name)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            where = f"{name}:{node.lineno} {node.name}"
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Size(rule=FUNCTION, count=lines, where=where)
            yield Size(rule=PARAMETERS, count=_parameters(node.args), where=where)


def _parameters(arguments: ast.arguments) -> int:
    positional = [*arguments.posonlyargs, *arguments.args]
    receiver = 1 if positional and positional[0].arg in {"self", "cls"} else 0
    return len(positional) + len(arguments.kwonlyargs) - receiver


def main() -> None:
    """Print every size above its aim, the largest first."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    sizes = [size for path in files for size in measure(path.read_text("utf-8"), str(path.relative_to(ROOT)))]
    for path in sorted((ROOT / WEB).rglob("*.ts*")):
        name = path.relative_to(ROOT).as_posix()
        if name not in GENERATED:
            files.append(path)
            sizes.append(Size(rule=FILE, count=len(path.read_text("utf-8").splitlines()), where=name))
    above = [size for size in sizes if size.count > size.rule.aim]
    for size in sorted(above, key=lambda size: -size.count / size.rule.aim):
        print(f"{size.count} {size.rule.what} (aim {size.rule.aim}): {size.where}")
    print(f"sizes: {len(files)} files, {len(above)} sizes above the aim")


if __name__ == "__main__":
    main()
