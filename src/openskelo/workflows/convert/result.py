"""What converting comes to: the document in the other form, or Problems that name what that form cannot say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from openskelo.frozen import field, frozen
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.workflows import problems, source, spots

_TOKEN = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"""
    r"""|(?P<comment>//[^\n]*)|(?P<dot>\.\s*[A-Za-z_]\w*)|(?P<name>[A-Za-z_]\w*)|(?P<other>.)""",
    re.DOTALL,
)


class Stuck(Exception):
    """Something that the other form cannot say; `where` is the step or the block."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where
        self.message = message


@frozen
class Converted:
    """The document in the other form, or why there is none."""

    document: JsonObject | None
    problems: tuple[problems.Problem, ...] = field(default=())


def refused(text: source.Source, below: str, found: Iterable[Stuck]) -> Converted:
    """What cannot be expressed, each where its step or block (an entry of `below`) stands in the text."""
    report = text.report()
    listed = text.value.get(below) if isinstance(text.value, Mapping) else None
    ids = [one.get("id") if isinstance(one, Mapping) else None for one in (listed if isinstance(listed, list) else ())]
    for stuck in found:
        path: spots.Path = (below, ids.index(stuck.where)) if stuck.where in ids else (below,)
        report.error(path, "NOT_CONVERTIBLE", f"{stuck.where}: {stuck.message}")
    return Converted(document=None, problems=report.problems())


def other_experts(was: definition.Workflow, now: definition.Workflow, text: source.Source) -> Converted:
    """Problems where others would be asked than before: among those to fall back on the mode of a plan chooses."""
    known = {_asked(node) for node in now.nodes.values()}
    below = "blocks" if was.plan is None else "steps"
    found = [
        Stuck(node.key, f"of those that {_asked(node)[0]!r} falls back on, a plan's mode may leave some out")
        for node in was.nodes.values()
        if node.mode == "ai" and _asked(node) not in known
    ]
    return refused(text, below, found)


def _asked(node: definition.Node) -> tuple[str, ...]:
    """Who is asked for a node, one after the other."""
    pinned = node.config.get("pinned") if node.mode == "ai" else None
    ways = pinned.get("experts") if isinstance(pinned, Mapping) else None
    names = [way.get("expert") for way in (ways if isinstance(ways, list) else ()) if isinstance(way, Mapping)]
    return tuple(map(str, names)) or (str(node.config.get("expert")),)


def renamed(text: str, name_of: Callable[[str, str | None], str | None]) -> str:
    """A CEL text in which each `root.name` is written as `name_of` says; None leaves it as it is.

    It is asked about every name that stands alone, too, with None for what follows.
    """
    written: list[str] = []
    tokens = list(_TOKEN.finditer(text))
    index = 0
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        found = dot = None
        if token.lastgroup == "name":
            dot = following[0].lstrip(".").strip() if following is not None and following.lastgroup == "dot" else None
            found = name_of(token[0], dot)
        written.append(token[0] if found is None else found)
        index += 1 if found is None or dot is None else 2
    return "".join(written)
