"""Keep the tail short: no file, function or parameter list of the product grows past the house's bounds.

What sets admired code apart is not its average but its longest parts. Past the aim a place is named; past the bound the
check fails: find the idea that is missing there and give it its own room.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "benchmarks", "scripts")
#: Of the dashboard only files are counted; what is made by a program is not.
WEB = "web/src"
MADE = frozenset({"web/src/api/schema.ts"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Something that is counted, what we aim for, and what we refuse."""

    what: str
    aim: int
    bound: int


FILE = Rule(what="lines in a file", aim=400, bound=500)
FUNCTION = Rule(what="lines in a function", aim=40, bound=60)
PARAMETERS = Rule(what="parameters", aim=6, bound=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One thing that was counted."""

    rule: Rule
    count: int
    where: str


def measure(text: str, name: str) -> Iterator[Size]:
    """Every size in one Python file."""
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


def main() -> int:
    """Name what is past its aim; give 1 when anything is past its bound."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    sizes = [size for path in files for size in measure(path.read_text("utf-8"), str(path.relative_to(ROOT)))]
    for path in sorted((ROOT / WEB).rglob("*.ts*")):
        name = path.relative_to(ROOT).as_posix()
        if name not in MADE:
            files.append(path)
            sizes.append(Size(rule=FILE, count=len(path.read_text("utf-8").splitlines()), where=name))
    for size in sorted(sizes, key=lambda size: -size.count / size.rule.aim):
        if size.count > size.rule.aim:
            verdict = "TOO MANY" if size.count > size.rule.bound else "many"
            print(
                f"{verdict}: {size.count} {size.rule.what} (aim {size.rule.aim}, bound {size.rule.bound}): {size.where}"
            )
    refused = sum(size.count > size.rule.bound for size in sizes)
    print(f"sizes: {len(files)} files, {refused} past a bound")
    return 1 if refused or not files else 0


if __name__ == "__main__":
    sys.exit(main())
