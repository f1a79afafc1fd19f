"""What one attempt of a node may take at most: tokens and money, from its prompt, its experts and their prices.

The length of a prompt is an estimate, because inputs are only known in a run; what a model may answer is a bound.
"""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.frozen import field, frozen, mutable
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.providers import config, experts, prices, seam
from openskelo.values import canonical

#: What is around every prompt: instructions, fences, headings.
_AROUND = 600
#: How long a value may be whose schema does not say.
_UNKNOWN = 4_000
#: The keys of a node's config that are not for the provider.
_NOT_PARAMETERS = frozenset({"prompt", "contract_repair_attempts", "max_tokens", "block_dir", "pinned"})


@frozen
class Question:
    """One question that an attempt asks a model: whom, in order, and how long it is about.

    `repeats`: an answer that was refused may be part of it.
    """

    ways: tuple[seam.Planned, ...]
    letters: int
    repeats: bool = False


@frozen
class Worst:
    """Tokens and nano-dollars at most; `unbounded` and `unpriced` name experts of whom that cannot be said."""

    tokens: int = 0
    cost_nanousd: int = 0
    unbounded: tuple[str, ...] = ()
    unpriced: tuple[str, ...] = ()


@mutable
class _Sum:
    tokens: int = 0
    cost: int = 0
    unbounded: dict[str, None] = field(default_factory=dict[str, None])
    unpriced: dict[str, None] = field(default_factory=dict[str, None])


def worst(node: definition.Node, workflow: definition.Workflow, models: config.Config, *, priced: bool = True) -> Worst:
    """What one attempt of a workflow's `node` may take at most; without `priced` nobody's price is looked up.

    AttemptFailed when an expert that it asks is not there.
    """
    total = _Sum()
    for question in questions(node, workflow, models):
        _add(total, question, models, priced=priced)
    return Worst(
        tokens=total.tokens,
        cost_nanousd=total.cost,
        unbounded=tuple(total.unbounded),
        unpriced=tuple(total.unpriced),
    )


def questions(node: definition.Node, workflow: definition.Workflow, models: config.Config) -> list[Question]:
    """Every question of one attempt: the node's own, and those of gates that have a model review something."""
    found: list[Question] = []
    if node.mode == "ai":
        most = node.config.get("max_tokens")
        request = seam.Request(
            node=node.key,
            messages=(),
            parameters={key: value for key, value in node.config.items() if key not in _NOT_PARAMETERS},
            max_tokens=most if isinstance(most, int) else None,
        )
        ways = experts.plan(models, request)
        found.append(Question(ways=ways, letters=_prompt_letters(node, workflow), repeats=node.repairs > 0))
    for gate in (*node.pre_gates, *node.post_gates):
        if gate.type == "llm_review":
            named: JsonObject = {"expert": gate.params["expert"]} if "expert" in gate.params else {}
            request = seam.Request(node=f"{node.key}:{gate.name}", messages=(), parameters=named)
            letters = _AROUND + _UNKNOWN + len(canonical.dumps(gate.params))
            found.append(Question(ways=experts.plan(models, request), letters=letters))
    return found


def _add(total: _Sum, question: Question, models: config.Config, *, priced: bool) -> None:
    """Fallbacks may be asked one after the other, and each may answer in vain: all of them count."""
    for way in question.ways:
        system = sum(len(message.text) for message in way.request.messages)
        tokens_out = way.request.max_tokens
        tokens_in = -(-(question.letters + system) // seam.LETTERS_A_TOKEN)
        if question.repeats:
            tokens_in += tokens_out or 0
        called = way.expert or way.provider
        if tokens_out is None:
            total.unbounded[called] = None
        total.tokens += tokens_in + (tokens_out or 0)
        if priced:
            usage = seam.Usage(tokens_in=tokens_in, tokens_out=tokens_out or 0)
            payee = config.asked_in_the_end(models, way.provider)
            model = way.model or payee.model or ""
            cost = prices.cost(payee, model, usage)
            if cost is None:
                total.unpriced[f"{called} ({model or way.provider})"] = None
            total.cost += cost or 0


def _prompt_letters(node: definition.Node, workflow: definition.Workflow) -> int:
    if node.step is not None:
        # What refs will stand for is not known before the run, and counts when it has been used.
        written = {
            name: value for name, value in node.step.args.items() if name in ("prompt", "input", "output_schema")
        }
        return _AROUND + len(canonical.dumps(written))
    pinned = node.config.get("pinned")
    files = pinned.get("files") if isinstance(pinned, Mapping) else None
    own = [node.config.get("prompt"), *(files.values() if isinstance(files, Mapping) else ())]
    letters = _AROUND + len(node.description) + sum(len(text) for text in own if isinstance(text, str))
    letters += sum(len(canonical.dumps(port.schema)) + len(port.name) + 10 for port in node.outputs)
    letters += sum(len(gate.error) for gate in node.post_gates)
    letters += sum(_input_letters(port, node, workflow) for port in node.inputs)
    return letters


def _input_letters(port: definition.Port, node: definition.Node, workflow: definition.Workflow) -> int:
    """How long an input may be: by its own schema, or by that of where it comes from."""
    binding = node.bindings.get(port.name)
    if binding is None or binding.transform is not None:
        return _letters(port.schema)
    source = workflow.nodes[binding.node] if binding.node else None
    if source is not None and source.foreach is not None:
        return _letters(port.schema)
    given = workflow.inputs if source is None else source.outputs
    found = [_letters(one.schema) for one in given if one.name == binding.port]
    return min(_letters(port.schema), *found)


def _letters(schema: JsonObject) -> int:
    """How long a value of a schema may be as JSON."""
    match schema:
        case {"enum": list() as options} if options:
            return max(len(canonical.dumps(option)) for option in options)
        case {"const": constant}:
            return len(canonical.dumps(constant))
        case {"type": "boolean" | "integer" | "number" | "null"}:
            return 24
        case {"type": "string", "maxLength": int() as most}:
            return most + 2
        case {"type": "array", "maxItems": int() as most, "items": Mapping() as items}:
            return most * (_letters(items) + 2) + 2
        case {"type": "object", "properties": Mapping() as properties, "additionalProperties": False}:
            parts = ((name, part) for name, part in properties.items() if isinstance(part, Mapping))
            return 2 + sum(len(name) + 4 + _letters(part) for name, part in parts)
        case _:
            return _UNKNOWN
