"""Computes what the questions of one attempt take, in tokens and cost, from its prompt, its experts and their prices.

- `worst`: up to how much, with inputs as long as their schemas allow;
- `reservation`: what every attempt takes, with inputs of no length. It is reserved before the attempt starts; the
  values of the inputs count when the prompt is written (`executors.attempt.budget_claims`).

The length of an answer is a bound (`max_tokens`). All fallbacks of an expert count, because each may be asked in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from openskelo import gates
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.providers import config, experts, prices, protocol
from openskelo.structs import field, frozen, mutable, replace
from openskelo.values import canonical

#: What the executor adds to every prompt, and what an answer's schema adds to that. A test compares.
FRAME_LENGTH = 130
SCHEMA_FRAME_LENGTH = 70
#: The heading and the fences, or the marks, around one part of the prompt.
_PART_LENGTH = 40
#: The assumed length of what a review asks around the value that it judges.
_REVIEW_LENGTH = 600
#: The assumed length of one item of a list: the schema of the list's expression is not known.
_ITEM_LENGTH = 400
#: The assumed length of a value whose schema does not limit it.
_UNKNOWN_LENGTH = 4_000
#: The keys of a node's config that are not sent to the provider.
_NOT_PARAMETERS = frozenset({"prompt", "contract_repair_attempts", "max_tokens", "block_dir", "pinned"})


@frozen
class Question:
    """One question that an attempt asks a model: the candidates in order, and its length in characters."""

    candidates: tuple[protocol.Route, ...]
    length: int
    #: How much longer it may become by the values in it.
    data: int = 0
    #: The prompt after a refused answer contains that answer.
    repeats: bool = False


@frozen
class Use:
    """Tokens and nano-dollars."""

    tokens: int = 0
    cost_nanousd: int = 0
    #: Experts without a token limit.
    unbounded: tuple[str, ...] = ()
    #: Experts without a price.
    unpriced: tuple[str, ...] = ()


@mutable
class _Sum:
    tokens: int = 0
    cost: int = 0
    unbounded: dict[str, None] = field(default_factory=dict[str, None])
    unpriced: dict[str, None] = field(default_factory=dict[str, None])


def worst(node: definition.Node, workflow: definition.Workflow, models: config.Config) -> Use:
    """Return the most that one attempt of `node` may take; AttemptFailed if an expert of it is not configured."""
    question_count = questions(node, workflow, models)
    return _sum(
        [replace(question, length=question.length + question.data, data=0) for question in question_count],
        models,
        priced=True,
    )


def reservation(
    node: definition.Node, workflow: definition.Workflow, models: config.Config, *, priced: bool = True
) -> Use:
    """Return what a first attempt of `node` takes before the values of its inputs count.

    Without `priced` no prices are looked up. Raise AttemptFailed if an expert that it asks is not configured.
    """
    question_count = questions(node, workflow, models)
    return _sum([replace(question, repeats=False) for question in question_count], models, priced=priced)


def _sum(questions: list[Question], models: config.Config, *, priced: bool) -> Use:
    total = _Sum()
    for question in questions:
        _add_question(total, question, models, priced=priced)
    return Use(
        tokens=total.tokens,
        cost_nanousd=total.cost,
        unbounded=tuple(total.unbounded),
        unpriced=tuple(total.unpriced),
    )


def questions(node: definition.Node, workflow: definition.Workflow, models: config.Config) -> list[Question]:
    """Return the questions of one attempt: the node's own, and those of its llm_review gates."""
    questions: list[Question] = []
    if node.work.calls_model:
        max_tokens = node.config.get("max_tokens")
        request = protocol.Request(
            node=node.key,
            messages=(),
            parameters={key: value for key, value in node.config.items() if key not in _NOT_PARAMETERS},
            max_tokens=max_tokens if isinstance(max_tokens, int) else None,
        )
        candidates = experts.plan(models, request)
        questions.append(
            Question(
                candidates=candidates,
                length=_prompt_length(node),
                data=_data_length(node, workflow),
                repeats=node.repairs > 0,
            )
        )
    for gate in (*node.pre_gates, *node.post_gates):
        if gates.asks_model(gate.type):
            parameters: JsonObject = {"expert": gate.params["expert"]} if "expert" in gate.params else {}
            request = protocol.Request(node=f"{node.key}:{gate.name}", messages=(), parameters=parameters)
            length = _REVIEW_LENGTH + len(canonical.dumps(gate.params))
            questions.append(Question(candidates=experts.plan(models, request), length=length, data=_UNKNOWN_LENGTH))
    return questions


def _add_question(total: _Sum, question: Question, models: config.Config, *, priced: bool) -> None:
    """Add a question to the total. Every candidate counts: each may be asked, and a refused answer costs too."""
    for candidate in question.candidates:
        system = sum(len(message.text) for message in candidate.request.messages)
        tokens_out = candidate.request.max_tokens
        tokens_in = math.ceil((question.length + system) / protocol.CHARACTERS_PER_TOKEN)
        if question.repeats:
            tokens_in += tokens_out or 0
        name = candidate.expert or candidate.provider
        if tokens_out is None:
            total.unbounded[name] = None
        total.tokens += tokens_in + (tokens_out or 0)
        if priced:
            usage = protocol.Usage(tokens_in=tokens_in, tokens_out=tokens_out or 0)
            provider = config.answering_provider(models, candidate.provider)
            model = candidate.model or provider.model or ""
            cost = prices.cost(provider, model, usage)
            if cost is None:
                total.unpriced[f"{name} ({model or candidate.provider})"] = None
            total.cost += cost or 0


def _prompt_length(node: definition.Node) -> int:
    """Return the estimated length of a node's prompt in characters, without the values in it."""
    if node.step is not None:
        # The values of refs are not known before the run; they count once a run has used them.
        args = node.step.args
        prompt_args = [args[name] for name in ("prompt", "input") if name in args]
        length = FRAME_LENGTH + sum(len(canonical.dumps(value)) for value in prompt_args)
        if "output_schema" in args:
            length += SCHEMA_FRAME_LENGTH + len(canonical.dumps(args["output_schema"]))
        return length
    return _block_prompt_length(node)


def _block_prompt_length(node: definition.Node) -> int:
    """Return the estimated length of the parts that `executors.ai.prompt` writes for a block."""
    pins = node.config.get("pinned")
    files = pins.get("files") if isinstance(pins, Mapping) else None
    parts = [text for text in files.values() if isinstance(text, str)] if isinstance(files, Mapping) else []
    parts += [gate.error for gate in node.post_gates if gate.error]
    prompt = node.config.get("prompt")
    length = FRAME_LENGTH + SCHEMA_FRAME_LENGTH + len(node.label or node.key) + len(node.description) + 6
    length += len(prompt) if isinstance(prompt, str) else 0
    length += sum(len(part) + _PART_LENGTH for part in parts)
    length += sum(len(canonical.dumps(port.schema)) + len(port.name) + 6 for port in node.outputs)
    return length + sum(len(port.name) + _PART_LENGTH for port in node.inputs if port.required)


def _data_length(node: definition.Node, workflow: definition.Workflow) -> int:
    """Return the longest the input values of a block may be, in characters."""
    length = sum(_input_length(port, node, workflow) for port in node.inputs)
    length += sum(len(port.name) + _PART_LENGTH for port in node.inputs if not port.required)
    if node.foreach is None:
        return length
    return length + _ITEM_LENGTH


def _input_length(port: definition.Port, node: definition.Node, workflow: definition.Workflow) -> int:
    """Return how long an input may be: by its own schema, or by the schema of its source if that is shorter."""
    binding = node.bindings.get(port.name)
    if binding is None or binding.transform is not None:
        return _value_length(port.schema)
    source = workflow.nodes[binding.node] if binding.node else None
    if source is not None and source.foreach is not None:
        return _value_length(port.schema)
    source_ports = workflow.inputs if source is None else source.outputs
    lengths = [_value_length(other.schema) for other in source_ports if other.name == binding.port]
    return min(_value_length(port.schema), *lengths)


def _value_length(schema: JsonObject) -> int:
    """Return how long a value of a schema may be as JSON."""
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
            return most * (_value_length(items) + 2) + 2
        case {"type": "object", "properties": Mapping() as properties, "additionalProperties": False}:
            parts = ((name, part) for name, part in properties.items() if isinstance(part, Mapping))
            return 2 + sum(len(name) + 4 + _value_length(part) for name, part in parts)
        case _:
            return _UNKNOWN_LENGTH
