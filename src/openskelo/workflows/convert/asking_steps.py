"""Blocks that ask a model or a person, as steps: a prompt of the author's words and fenced data, or a question.

Where the author's words have `{{ … }}`, the step's have the name of the data in brackets, and the data stands below:
data stays data, whoever it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import composition, ordering, refs, template
from openskelo.workflows.convert import result, sources

_MODEL = ("temperature", "top_p", "seed", "system")
_BRACKETS = "A name in brackets stands for the data of that name below."
_CHECKED = "The answer will be checked for this:"


def expert(known: sources.Sources, node: definition.Node) -> tuple[list[Json], JsonObject]:
    """The steps that write the prompt, and the one that asks."""
    args: dict[str, Json] = {"expert_id": _expert(node)}
    steps, asked = _prompt(known, node)
    args |= asked
    for port in node.outputs:
        if port.has_default or port.kind != "json":
            raise result.Stuck(node.key, f"its output {port.name!r} has a default, or is a file")
    required: list[Json] = [port.name for port in node.outputs if port.required]
    args["output_schema"] = composition.composed(
        {port.name: port.schema for port in node.outputs}, {"required": required, "additionalProperties": False}
    )
    args["repairs"] = node.repairs
    if "max_tokens" in node.config:
        args["max_new_tokens"] = node.config["max_tokens"]
    args |= {key: node.config[key] for key in _MODEL if key in node.config}
    if (stop := node.config.get("stop")) is not None:
        args["stop"] = [stop] if isinstance(stop, str) else stop
    return steps, known.work(node, "route_expert", args)


def _expert(node: definition.Node) -> str:
    pinned = node.config.get("pinned")
    held: JsonObject = pinned if isinstance(pinned, Mapping) else {}
    if held.get("files"):
        raise result.Stuck(node.key, "its prompt is in the files of a folder (block_dir)")
    if own := [key for key in ("provider", "model", "model_params") if key in node.config]:
        raise result.Stuck(node.key, f"it has its own {own[0]!r}, and a step names an expert (declare one)")
    experts = held.get("experts")
    first = experts[0] if isinstance(experts, list) and experts else None
    name = node.config.get("expert") or (first.get("expert") if isinstance(first, Mapping) else None)
    if not isinstance(name, str):
        raise result.Stuck(node.key, "it names no expert")
    return name


def _prompt(known: sources.Sources, node: definition.Node) -> tuple[list[Json], JsonObject]:
    """The steps before, and the argument of the expert that says what is asked."""
    words = _Words(known, node)
    own = words.of(str(node.config.get("prompt") or ""))
    heading = f"# {node.label or node.key}"
    task = "\n\n".join(part for part in (heading, node.description.strip(), own.strip()) if part)
    if not words.shown and not words.mentions:
        given = [known.port(node, port.name) for port in node.inputs if _is_given(node, port)]
        words.shown += [words.named(found) for found in given]
    told = [_BRACKETS] if words.bracketed else []
    if errors := [gate.error for gate in node.post_gates if gate.error]:
        told.append("\n".join([_CHECKED, *(f"- {error}" for error in errors)]))
    if not words.shown:
        return words.steps, {"prompt": "\n\n".join([task, *told])}
    args: dict[str, Json] = {"fn": "assemble_prompt", "task": sources.kept(task)}
    if told:
        args["instructions"] = "\n\n".join(told)
    args["refs"] = list[Json](dict.fromkeys(words.shown))
    key = known.id(node, "prompt")
    saved = known.saved(key)
    return [*words.steps, sources.step(key, "transform", args, saved.name)], {"prompt_ref": str(saved)}


def _is_given(node: definition.Node, port: definition.Port) -> bool:
    return port.name in node.bindings or port.has_default


class _Words:
    """The words of a prompt, and the data that is shown below them."""

    def __init__(self, known: sources.Sources, node: definition.Node) -> None:
        self._known = known
        self._node = node
        self.steps: list[Json] = []
        self.shown: list[str] = []
        self.bracketed = False
        #: Whether the author's own words show inputs: the others are not shown then.
        self.mentions = False

    def of(self, text: str) -> str:
        """The words with the name of each value in the place of its expression."""
        return "".join(self._piece(piece) if is_expression else piece for piece, is_expression in sources.pieces(text))

    def _piece(self, text: str) -> str:
        self.mentions = True
        found = _path(self._known, self._node, text)
        if isinstance(found, sources.Constant):
            return template.as_text(found.value)
        if found is None:
            found = self._saved(self._known.rewritten(self._node, text))
        self.bracketed = True
        self.shown.append(str(found))
        return f"[{found}]"

    def named(self, found: sources.Found) -> str:
        """The ref of a value; one that the file itself says is saved first."""
        return str(self._saved(sources.cel(found)) if isinstance(found, sources.Constant) else found)

    def _saved(self, text: str) -> refs.Ref:
        key = self._known.id(self._node, "words")
        saved = self._known.saved(key)
        self.steps.append(sources.step(key, "transform", {"expr": text}, saved.name))
        return saved


def _path(known: sources.Sources, node: definition.Node, text: str) -> sources.Found | None:
    """The value of an expression that is nothing but `inputs.NAME` with members behind; None for any other."""
    way = refs.parse(text.replace("inputs.", "var:", 1)) if text.startswith("inputs.") else None
    if way is None:
        return None
    found = known.port(node, way.name)
    if isinstance(found, sources.Constant):
        return found if not way.path else None
    return refs.Ref(kind=found.kind, name=found.name, path=(*found.path, *way.path))


def question(known: sources.Sources, node: definition.Node) -> JsonObject:
    """The step of an approval; what it was shown are the details of the request."""
    asked = cast("definition.Approval", node.approval)
    if asked.on_deny != "end" or asked.on_timeout != "deny":
        raise result.Stuck(node.key, "a plan ends when a question is denied or nobody answers")
    shown: dict[str, Json] = {
        port.name: sources.argument(known.port(node, port.name)) for port in node.inputs if _is_given(node, port)
    }
    if twice := sorted(shown.keys() & cast("JsonObject", asked.form.get("properties") or {}).keys()):
        raise result.Stuck(node.key, f"its input {twice[0]!r} is also an answer, which a question does not suggest")
    request: dict[str, Json] = {"message": _message(node, asked.prompt)}
    args: dict[str, Json] = {
        "request": {**request, "details": shown} if shown else request,
        "answer": ordering.unmarked(asked.form) or {"type": "object", "additionalProperties": False},
    }
    if asked.timeout_ms is not None:
        args["timeout_ms"] = asked.timeout_ms
    if asked.approvers:
        args["approvers"] = list[Json](asked.approvers)
    return known.work(node, "ask_human", args)


def _message(node: definition.Node, text: str) -> str:
    """What is asked, with the name of a detail in brackets where the approval shows its value."""
    written: list[str] = []
    for piece, is_expression in sources.pieces(text):
        if is_expression and not (piece.startswith("inputs.") and refs.parse(piece.replace("inputs.", "var:", 1))):
            raise result.Stuck(node.key, f"its prompt computes `{piece}`, and a question's message is fixed")
        written.append(f"[{piece.removeprefix('inputs.')}]" if is_expression else piece)
    return "".join(written)
