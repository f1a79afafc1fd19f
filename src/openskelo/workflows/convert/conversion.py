"""What both directions of a conversion share: its result, its failure, and how values are written as CEL.

A conversion either returns a document or raises `NotConvertible` for a step or block; the converters collect those, so
that the author sees all of them at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from typing import TypeAlias

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import field, frozen
from openskelo.values import plan_refs
from openskelo.values.cel import plan_expression
from openskelo.workflows.plan import control_flow
from openskelo.workflows.text import positions, problems, source

#: A name that CEL can select with a dot; other members need an index.
_SELECTABLE = re.compile(r"(?!(?:in|true|false|null)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")
#: The tokens of a CEL text, as far as renaming needs them.
_TOKEN = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"""
    r"""|(?P<comment>//[^\n]*)|(?P<dot>\.\s*[A-Za-z_]\w*)|(?P<name>[A-Za-z_]\w*)|(?P<other>.)""",
    re.DOTALL,
)


class NotConvertible(Exception):
    """Raised for something that the other form cannot express; `where` is the id of the step or block."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where
        self.message = message


@frozen
class Converted:
    """The document in the other form, or the Problems because of which there is none."""

    document: JsonObject | None
    problems: tuple[problems.Problem, ...] = field(default=())


def report_failures(text: source.Source, section: str, failures: Iterable[NotConvertible]) -> Converted:
    """Return a Problem for each failure, at its step or block in `section` of the text."""
    report = text.report()
    entries = text.value.get(section) if isinstance(text.value, Mapping) else None
    entries = entries if isinstance(entries, list) else []
    ids = [entry.get("id") if isinstance(entry, Mapping) else None for entry in entries]
    for failure in failures:
        path: positions.Path = (section, ids.index(failure.where)) if failure.where in ids else (section,)
        report.error(path, "NOT_CONVERTIBLE", f"{failure.where}: {failure.message}")
    return Converted(document=None, problems=report.problems())


def rename_in_cel(text: str, rename: Callable[[str, str | None], str | None]) -> str:
    """Return a CEL text in which `rename` has replaced each `root.name`; it returns None to keep the original.

    `rename` is also called for a root that stands alone, with None as the name.
    """
    written: list[str] = []
    tokens = list(_TOKEN.finditer(text))
    index = 0
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        new = name = None
        if token.lastgroup == "name":
            if following is not None and following.lastgroup == "dot":
                name = following[0].lstrip(".").strip()
            new = rename(token[0], name)
        written.append(token[0] if new is None else new)
        index += 1 if new is None or name is None else 2
    return "".join(written)


def deterministic(key: str, inputs: JsonObject, outputs: JsonObject, handler: str, config: JsonObject) -> JsonObject:
    """Return a block whose work is done by a handler."""
    return {
        "id": key,
        "mode": "deterministic",
        "inputs": inputs,
        "outputs": outputs,
        "deterministic": {"handler": handler, "config": config},
    }


def order_keys(when: str | None, after: list[str]) -> dict[str, Json]:
    """Return the keys of a block that say when it runs, and after which other blocks."""
    keys: dict[str, Json] = {}
    if when is not None:
        keys["when"] = when
    if after:
        keys["after"] = list[Json](after)
    return keys


def input_schema(port: definition.Port) -> JsonObject:
    """Return an input of the whole file, with its default."""
    return {**port.schema, "default": port.default} if port.has_default else port.schema


def budget(limits: definition.Limits) -> JsonObject:
    """Return the limits that mean the same in both forms. The number of steps does not: each form has its own steps."""
    budgets: dict[str, Json] = {}
    if limits.max_tokens is not None:
        budgets["max_tokens"] = limits.max_tokens
    if limits.max_wall_ms is not None:
        budgets["max_wall_ms"] = limits.max_wall_ms
    if limits.max_cost_nanousd is not None:
        budgets["max_cost_usd"] = limits.max_cost_nanousd / 1_000_000_000
    if limits.max_tool_nanousd is not None:
        budgets["max_tool_spend_usd"] = limits.max_tool_nanousd / 1_000_000_000
    return budgets


def literal(value: Json) -> Json:
    """Return a value of a plan without its `$literal` escape."""
    return value[plan_refs.LITERAL] if isinstance(value, Mapping) and plan_refs.LITERAL in value else value


def port(root: str) -> str:
    """Return the name of the input port for a variable, an input or a context of a plan."""
    kind, _, name = root.partition(":")
    return cel_name(name) if kind == "var" else f"{kind}_{cel_name(name)}"


def workflow_input(root: str, contexts: Collection[str]) -> str:
    """Return the workflow input for an input or a context: an input keeps its name unless a context has that name."""
    kind, _, name = root.partition(":")
    return name if kind == "input" and name not in map(port, contexts) else port(root)


def cel_name(name: str) -> str:
    """Return a name that CEL can select by."""
    return name.replace("-", "_")


def id_part(name: str) -> str:
    """Return a name that may be part of an id."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def constant(value: Json) -> str:
    """Return a value as a CEL literal."""
    return json.dumps(value, ensure_ascii=False)


def member(part: str | int) -> str:
    """Return the CEL that selects a member or an element."""
    return f".{part}" if isinstance(part, str) and _SELECTABLE.match(part) else f"[{constant(part)}]"


def value(json_value: Json, write_ref: Callable[[plan_refs.Ref], str]) -> str:
    """Return a value with refs in it as CEL; `write_ref` returns the CEL of each ref."""
    match json_value:
        case str():
            ref = plan_refs.parse(json_value)
            return constant(json_value) if ref is None else write_ref(ref)
        case list():
            return f"[{', '.join(value(item, write_ref) for item in json_value)}]"
        case Mapping():
            if plan_refs.LITERAL in json_value:
                return constant(json_value[plan_refs.LITERAL])
            members = [f"{constant(name)}: {value(item, write_ref)}" for name, item in json_value.items()]
            return f"{{{', '.join(members)}}}"
        case _:
            return constant(json_value)


def answer(fields: list[str], optional: list[str]) -> str:
    """Return the CEL of an object of the inputs `fields`, without those of `optional` that are absent."""
    if not optional:
        return f"{{{', '.join(f'{constant(name)}: inputs{member(name)}' for name in fields)}}}"
    name, *others = optional
    without = [field_name for field_name in fields if field_name != name]
    return f"has(inputs.{name}) ? {answer(fields, others)} : {answer(without, others)}"


# -- conditions -------------------------------------------------------------------------------------------------------
#
# The conditions under which a run reaches each step of a plan without loops, in disjunctive normal form.


#: A condition and its outcome. The condition is `ref var:v1.ok`, `expr …`, or `saved s4`: the saved outcome of a
#: branch.
Literal: TypeAlias = tuple[str, bool]
#: Conditions that have to hold together.
Term: TypeAlias = frozenset[Literal]

_MAX_TERMS = 64


def path_conditions(flow: control_flow.Flow, order: Sequence[str], saved: Set[str]) -> dict[str, frozenset[Term]]:
    """Return the terms of each step in `order`, in which no jump leads back; the empty term is always true.

    The condition of a branch in `saved` may change later in the run, so terms refer to its saved outcome.
    """
    terms: dict[str, frozenset[Term]] = dict.fromkeys(order, frozenset())
    terms[flow.entry] = frozenset({frozenset()})
    for key in order:
        for target, literal in _jumps(flow, key, is_saved=key in saved):
            if target not in terms:
                continue
            added = {term | {literal} if literal else term for term in terms[key]}
            terms[target] = _simplify(terms[target] | added)
            if len(terms[target]) > _MAX_TERMS:
                raise NotConvertible(target, "too many paths lead here to be written as one condition")
    return terms


def _jumps(flow: control_flow.Flow, key: str, *, is_saved: bool) -> list[tuple[str, Literal | None]]:
    """Return the successors of a step, each with the branch outcome that leads there."""
    step = flow.steps[key]
    if step.op != "branch":
        return [(target, None) for target in flow.successors(key)]
    text, constant = condition(key, step)
    if constant is not None:
        target = step.then if constant else step.otherwise
        return [] if target is None else [(target, None)]
    text = f"saved {key}" if is_saved else text
    jumps = ((step.then, True), (step.otherwise, False))
    return [(target, (text, outcome)) for target, outcome in jumps if target is not None]


def condition(key: str, step: definition.Step) -> tuple[str, bool | None]:
    """Return the condition of a branch, and its outcome if that is constant."""
    cond = step.args.get("cond")
    value = None if not isinstance(cond, Mapping) else next(iter(cond.values()))
    if isinstance(value, bool):
        return "", value
    if not isinstance(cond, Mapping) or not isinstance(value, str):
        raise NotConvertible(key, "its condition is neither a ref nor an expression")
    return (f"expr {value}", None) if "expr" in cond else (f"ref {plan_refs.parse(value)}", None)


def reads(step: definition.Step) -> frozenset[str]:
    """Return the variables that the condition of a branch reads."""
    cond = step.args.get("cond")
    value = next(iter(cond.values())) if isinstance(cond, Mapping) else None
    if not isinstance(cond, Mapping) or not isinstance(value, str):
        return frozenset()
    if "expr" in cond:
        return frozenset(plan_expression.compile(value).names.get("var") or ())
    ref = plan_refs.parse(value)
    return frozenset({ref.name} if ref is not None and ref.kind == "var" else ())


def _simplify(terms: frozenset[Term]) -> frozenset[Term]:
    """Return equivalent terms without contradictions and without terms that another one implies."""
    possible = {term for term in terms if not any((text, not outcome) in term for text, outcome in term)}
    while (merged := _merge_two(possible)) is not None:
        possible = merged
    return frozenset(term for term in possible if not any(other < term for other in possible))


def _merge_two(terms: set[Term]) -> set[Term] | None:
    """Merge two terms that differ only in the outcome of one condition; return None if there are no such terms."""
    for term in terms:
        for text, outcome in term:
            rest = term - {(text, outcome)}
            opposite = rest | {(text, not outcome)}
            if opposite in terms:
                return {*(terms - {term, opposite}), rest}
    return None
