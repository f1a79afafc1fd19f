"""What is known about the values that refs point at, before any run: enough to find a ref that cannot lead anywhere."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.frozen import frozen
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import plan_expression, refs
from openskelo.workflows import approvals
from openskelo.workflows.plan import build, reach, step

_VERDICT: JsonObject = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
_TEXT: JsonObject = {"type": "string"}
_RESULTS: Mapping[str, JsonObject] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "double": {"type": "number"},
    "string": _TEXT,
    "list": {"type": "array"},
    "map": {"type": "object"},
    "null": {"type": "null"},
}
#: What has members, or elements.
_WHOLE = ("object", "array")


@frozen
class Shapes:
    """The schemas that the value of each root may have: all that may write it, empty where nothing is known."""

    by_root: Mapping[str, tuple[JsonObject, ...]]

    def lost(self, ref: refs.Ref) -> str | None:
        """Why a ref can never lead anywhere; None when it may."""
        known = self.by_root.get(ref.root, ())
        whys = [_lost(one, ref) for one in known]
        return whys[0] if whys and all(why is not None for why in whys) else None

    def kinds(self, ref: refs.Ref) -> frozenset[str]:
        """The JSON types that a ref's value may have; empty where that is not known."""
        found = [_kind(_at(one, ref.path)) for one in self.by_root.get(ref.root, ())]
        return frozenset(kind for kind in found if kind) if all(found) else frozenset()


def of(drafts: Mapping[str, step.Draft], around: reach.Reach, given: Mapping[str, JsonObject]) -> Shapes:
    """The shapes of a plan's values; `given` are those of inputs, contexts and first values, by root."""
    found: dict[str, list[JsonObject]] = {root: [one] for root, one in given.items()}
    for draft in drafts.values():
        one = _saved(draft, around)
        target = drafts.get(draft.text("step_id") or "") if draft.op == "retry" else None
        if target is not None:
            one = _saved(target, around)
        if draft.save_as is not None:
            found.setdefault(f"var:{draft.save_as}", []).append(one)
        if "on_denied" in draft.args and draft.save_as is not None:
            found[f"var:{draft.save_as}"].append({"type": "object"})
    return Shapes(by_root={root: tuple(some) for root, some in found.items()})


def of_value(value: Json) -> JsonObject:
    """The type of a value as a schema; nothing for null, which stands for whatever a run brings."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int() | float():
            return {"type": "number"}
        case str():
            return _TEXT
        case Mapping():
            return {"type": "object"}
        case list():
            return {"type": "array"}
        case _:
            return {}


def _saved(draft: step.Draft, around: reach.Reach) -> JsonObject:
    match draft.op:
        case "verify":
            return _VERDICT
        case "route_expert":
            rules = draft.args.get("output_schema", _TEXT)
            return rules if isinstance(rules, Mapping) else {}
        case "tool_call":
            tool = reach.tool_of(draft, around)
            return (tool.returns if tool is not None else None) or {}
        case "transform" if (text := draft.text("expr")) is not None:
            return _RESULTS.get(plan_expression.compile(text).returns, {})
        case "ask_human":
            return approvals.form(draft.at("answer")) if "answer" in draft.args else build.ANSWER
        case _:
            return {}


def _at(rules: JsonObject, path: refs.Path) -> JsonObject:
    """The schema of what lies at a path; empty where nothing is known."""
    for part in path:
        below = rules.get("properties") if isinstance(part, str) else None
        inner = below.get(part) if isinstance(below, Mapping) and isinstance(part, str) else rules.get("items")
        if not isinstance(inner, Mapping) or (isinstance(part, int) and rules.get("type") != "array"):
            return {}
        rules = inner
    return rules


def _lost(rules: JsonObject, ref: refs.Ref) -> str | None:
    for index, part in enumerate(ref.path):
        here = refs.Ref(kind=ref.kind, name=ref.name, path=ref.path[:index])
        kind = _kind(rules)
        if kind and kind not in _WHOLE:
            return f"{here} is {_words(kind)}, which has no {part!r}"
        if kind == ("object" if isinstance(part, int) else "array"):
            return f"{here} is {_words(kind)}, which {part!r} cannot be taken of"
        properties = rules.get("properties")
        if isinstance(part, str) and isinstance(properties, Mapping) and part not in properties:
            if rules.get("additionalProperties") is not False:
                return None
            return f"{here} has only {', '.join(properties)}"
        rules = _at(rules, (part,))
    return None


def _kind(rules: JsonObject) -> str:
    found = rules.get("type")
    return found if isinstance(found, str) else ""


def _words(kind: str) -> str:
    return {"string": "a text", "object": "a map", "array": "a list", "boolean": "true or false"}.get(kind, f"a {kind}")
