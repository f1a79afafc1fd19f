"""Read one block by itself, as a `Draft` whose references to other blocks are still names.

A draft holds a `Node` without bindings, `after` and bounces; `blocks_loader` adds those when all blocks are read. A
block with `uses` is a draft without known ports until `inlining.adopt_used_workflow` has given it those of the other
file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast, get_args

from openskelo import errors
from openskelo.agent_settings import AgentsConfig
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.providers import config
from openskelo.structs import field, frozen, replace
from openskelo.values.cel import expression
from openskelo.values.schema import compatibility, composition
from openskelo.workflows.blocks import (
    approvals,
    expression_scope,
    gates,
    handlers,
    limits,
    model_settings,
    ports,
)
from openskelo.workflows.text import cursor

ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
_COMMON = frozenset(
    {"id", "name", "description", "mode", "inputs", "outputs", "pre_gates", "post_gates", "gate_composition"}
    | {"on_gate_fail", "when", "foreach", "uses", "retry", "timeout_ms", "effect", "repeatable", "cache"}
    | {"estimate", "after", "approval", "metadata", "deterministic", "prompt"}
)
KEYS = _COMMON | model_settings.KEYS

#: Keys that have no meaning in a mode; a block that has one probably has the wrong mode. Other modes take `_COMMON`.
_NOT_IN: Mapping[str, frozenset[str]] = {
    "ai": frozenset({"deterministic"}),
    "agent": (model_settings.KEYS - {"agent", "block_dir", "contract_repair_attempts"})
    | {"deterministic", "cache", "foreach"},
    "deterministic": model_settings.KEYS | {"prompt"},
    "approval": model_settings.KEYS
    | {"deterministic", "pre_gates", "post_gates", "gate_composition", "on_gate_fail", "retry", "timeout_ms"}
    | {"foreach", "effect", "cache", "repeatable"},
    "dag": model_settings.KEYS
    | {"deterministic", "prompt", "approval", "foreach", "retry", "timeout_ms", "effect", "cache", "repeatable"}
    | {"estimate", "mode"},
}
#: How messages name blocks whose mode follows from a key.
_WITH = {"dag": "a block with `uses`", "agent": "a block with `agent`"}
#: The codes for `foreach` in a mode that has no items.
_FOREACH_REFUSED = {"dag": "FOREACH_USES", "agent": "FOREACH_AGENT"}
#: What an author may write as `mode`.
MODES = tuple(mode for mode in definition.WORK_KINDS if mode not in _WITH)
_ITEM_NAMES = "a letter, then letters, digits, _; not inputs, outputs, run or a reserved word of CEL such as in or int"
_GATE_KEYS = frozenset({"pre_gates", "post_gates", "gate_composition"})
_LONGEST_MS = 7 * 86_400_000


@frozen
class Context:
    """The context of reading a block: the folders of its project, and the defaults of its file."""

    folders: handlers.Folders | None
    commands: bool
    retry: definition.Retry
    #: The limit that the file gives all its blocks.
    timeout_ms: int | None
    #: The limit of handlers without one from their file.
    handler_timeout_ms: int = limits.HANDLER_TIMEOUT_MS
    #: The experts and providers that a block may name; None without a project, when the caller may pass any.
    models: config.Config | None = None
    #: The coding agents that a block may name; None without a project, when the caller may pass any.
    agents: AgentsConfig | None = None


#: The output of a foreach with `on_fail: keep` that lists its failed items.
FAILED_ITEMS = definition.Port(
    name="errors",
    schema={
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"index": {"type": "integer"}, "code": {"type": "string"}, "message": {"type": "string"}},
            "required": ["index", "code", "message"],
            "additionalProperties": False,
        },
    },
    description="the failed items",
)


@frozen
class Draft:
    """A block whose references to other blocks are still names."""

    place: cursor.Cursor
    #: Without bindings, `after` and bounces yet.
    node: definition.Node
    #: Its input ports by name, because each edge looks one up.
    inputs: Mapping[str, definition.Port]
    #: Its output ports by name.
    outputs: Mapping[str, definition.Port]
    links: Mapping[str, ports.Link]
    #: The ports of each side that declare no type.
    untyped: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    approval_draft: approvals.ApprovalDraft | None = None
    #: True if its effect, or one in the file it uses, must not be repeated.
    once: bool = False
    #: True if the file it uses has Problems, so that its ports are not known.
    is_unreadable: bool = False
    #: Outputs of a used file that are missing only when the block inside that sets them is skipped; a block that needs
    #: one of them is then skipped too.
    skipping: frozenset[str] = frozenset()
    #: Outputs of a used file that are lists with null for each failed item of a foreach.
    with_failed_items: frozenset[str] = frozenset()

    def at(self, key: str) -> cursor.Cursor | None:
        """Return the cursor of one of the block's keys, or None if it is absent."""
        value = self.place.value
        if isinstance(value, Mapping) and key in value:
            return self.place.at(key, value[key])
        return None


def identify(place: cursor.Cursor) -> str | None:
    """Return the id of a block, or None after a Problem."""
    fields = place.fields(KEYS)
    place_of_id = None if fields is None else fields.need("id")
    text = None if place_of_id is None else place_of_id.text(blank=False)
    if place_of_id is None or text is None:
        return None
    if not ID.match(text):
        hint = "a letter, then at most 63 letters, digits, - or _"
        place_of_id.problem("ID_INVALID", f"{text[:80]!r} cannot be a block's id", hint=hint)
        return None
    if text == "inputs":
        place_of_id.problem("ID_RESERVED", "`inputs` means the workflow's own inputs", hint="choose another id")
        return None
    return text


def read(key: str, place: cursor.Cursor, context: Context) -> Draft:
    """Return the draft of the block at `place`, whose id is `key`."""
    fields = cursor.Fields(place, cast("Mapping[str, Json]", place.value))
    mode = "dag" if "uses" in fields else fields.choice("mode", MODES, "ai")
    if mode == "ai" and "agent" in fields:
        mode = "agent"
    if (
        mode in ("dag", "agent") or fields.value.get("mode", mode) == mode
    ):  # with a mistyped mode the keys cannot be judged
        _check_mode(fields, mode)
    input_ports = ports.read(fields.get("inputs"), "input")
    output_ports = ports.read(fields.get("outputs"), "output")
    node = definition.Node(
        key=key,
        mode=cast("definition.Mode", mode),
        label=fields.text("name"),
        description=fields.text("description"),
        inputs=input_ports.ports,
        outputs=output_ports.ports,
        metadata=fields.map("metadata"),
    )
    node = _schedule(node, fields, context)
    node = _work(node, fields, context)
    node = _amounts(node, fields)
    node, approval_draft = _approval(node, fields)
    node = _gates(node, fields, context)
    _warn_of_once(node, fields)
    model_settings.check_reviews(fields, context.models)
    return Draft(
        place=place,
        node=node,
        inputs=ports.by_name(node.inputs),
        outputs=_outputs(node, place),
        links=input_ports.links,
        untyped={"inputs": input_ports.untyped, "outputs": output_ports.untyped},
        approval_draft=approval_draft,
        once=definition.is_once(node),
    )


def _check_mode(fields: cursor.Fields, mode: str) -> None:
    wrong = _NOT_IN.get(mode, model_settings.KEYS | {"deterministic", "prompt"})
    for key in fields.value:
        if key in wrong:
            spot = fields.cursor.at(key, fields.value[key])
            subject = _WITH.get(mode, f"a block of mode {mode}")
            code = _FOREACH_REFUSED.get(mode, "WRONG_MODE") if key == "foreach" else "WRONG_MODE"
            spot.key_problem(code, f"`{key}` has no meaning in {subject}", hint=_mode_hint(key, mode, fields))
    if mode == "deterministic" and "deterministic" not in fields:
        fields.missing("deterministic", hint="name the handler: deterministic: {handler: …}")
    if mode == "approval" and "approval" not in fields and "prompt" not in fields:
        fields.missing("approval", hint="say what the person has to decide: approval: {prompt: …}")


def _mode_hint(key: str, mode: str, fields: cursor.Fields) -> str | None:
    if key == "foreach" and mode == "dag":
        return "put foreach inside the other file"
    if key == "foreach" and mode == "agent":
        return "a node has one workspace and one conversation: write a block for each item, or one turn for all items"
    if key == "deterministic" and mode == "ai" and "mode" not in fields:
        return "write `mode: deterministic`"
    if key.endswith("gates") and mode == "approval":
        return "the form's schema checks the answer; gates belong to the block before or after"
    return None


def _outputs(node: definition.Node, place: cursor.Cursor) -> Mapping[str, definition.Port]:
    """Return the block's output ports by name, with the list of failed items if its foreach keeps them."""
    outputs = ports.by_name(node.outputs)
    if not node.keeps_failed_items:
        return outputs
    if FAILED_ITEMS.name in outputs:
        own_port = place.at("outputs", None).at(FAILED_ITEMS.name, None)
        hint = "rename the output"
        own_port.key_problem("CONFLICT", "`errors` lists the failed items of a foreach with `on_fail: keep`", hint=hint)
    return {**outputs, FAILED_ITEMS.name: FAILED_ITEMS}


def _schedule(node: definition.Node, fields: cursor.Fields, context: Context) -> definition.Node:
    """Add `when`, `foreach`, `retry` and `timeout_ms`."""
    foreach = _foreach(fields.get("foreach"), node)
    visible_ports = tuple(port for port in node.inputs if foreach is None or port.name != foreach.name)
    condition = fields.get("when")
    if not node.work.is_subworkflow:  # the ports of a sub-workflow are not known yet
        check_condition(condition, visible_ports)
    works = node.work.is_performed
    return replace(
        node,
        foreach=foreach,
        when=condition.value if condition is not None and isinstance(condition.value, str) else None,
        retry=limits.retry(fields.get("retry"), context.retry) if works else node.retry,
        timeout_ms=_timeout(fields, context) if works else None,
        effect=node.work.default_effect,
    )


def check_condition(condition: cursor.Cursor | None, seen: tuple[definition.Port, ...]) -> None:
    """Check `when`: it must return a boolean, and sees the block's inputs."""
    if condition is not None:
        expression_scope.check_expression(
            condition, {"inputs": expression_scope.of_ports(seen), "run": expression_scope.RUN}, wants="bool"
        )


def _timeout(fields: cursor.Fields, context: Context) -> int | None:
    place = fields.get("timeout_ms")
    if place is None:
        return context.timeout_ms
    return place.integer(1, _LONGEST_MS)


def _foreach(section: cursor.Cursor | None, node: definition.Node) -> definition.Foreach | None:
    fields = None if section is None else section.fields({"items", "as", "concurrency", "on_fail"})
    if fields is None:
        return None
    items = fields.need("items")
    name = fields.text("as", "item")
    visible_ports = tuple(port for port in node.inputs if port.name != name)
    if not _may_name_an_item(name):
        spot = fields.get("as") or fields.cursor
        spot.problem("NAME_INVALID", f"{name[:60]!r} cannot name the item", hint=_ITEM_NAMES)
        name = "item"
    if items is not None:
        expression_scope.check_expression(
            items, {"inputs": expression_scope.of_ports(visible_ports), "run": expression_scope.RUN}, wants="list"
        )
        _check_item(items, name, node)
    text = items.value if items is not None and isinstance(items.value, str) else ""
    return definition.Foreach(
        items=text,
        name=name,
        concurrency=fields.integer("concurrency", 4, 1, 1024),
        on_fail=cast("definition.OnFail", fields.choice("on_fail", get_args(definition.OnFail), "stop")),
    )


def _may_name_an_item(name: str) -> bool:
    """True if expressions can use `name` for the item: not a reserved word of CEL, and not another variable."""
    if not re.match(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z", name) or name in ("inputs", "outputs", "run"):
        return False
    try:
        return name == "item" or name in expression.compile(name, {name: None}).variables
    except errors.InvalidInput:
        return False


def _check_item(items: cursor.Cursor, name: str, node: definition.Node) -> None:
    """Report items of an input whose type conflicts with the port that each item is put into."""
    inputs_by_name = ports.by_name(node.inputs)
    target = inputs_by_name.pop(name, None)
    side, _, port = str(items.value).strip().partition(".")
    source = inputs_by_name.get(port) if side == "inputs" else None
    element = None if source is None else source.schema.get("items")
    if (
        target is None
        or source is None
        or not isinstance(element, Mapping)
        or not composition.is_self_contained(source.schema)
    ):
        return
    if (why := compatibility.find_conflict(element, target.schema)) is not None:
        items.problem("TYPE_MISMATCH", f"an item of inputs.{port} does not fit {node.key}.{name}: {why}")


def _work(node: definition.Node, fields: cursor.Fields, context: Context) -> definition.Node:
    """Add the handler of a deterministic block, or the model settings of an ai block, and the effect."""
    if node.mode == "deterministic" and (section := fields.get("deterministic")) is not None:
        handler = handlers.read(section, context.folders)
        if handler is None:
            return node
        node = replace(
            node,
            handler=handler.name,
            config=handler.config,
            effect=handlers.default_effect(handler.name, handler.config),
        )
        if node.timeout_ms is None and handlers.has_default_timeout(handler.name):
            node = replace(node, timeout_ms=context.handler_timeout_ms)
        handlers.check_builtin(node, fields.cursor)
    elif node.mode == "agent":
        node = replace(
            node,
            config=model_settings.read_agent(node, fields, context.folders, context.agents),
            repairs=model_settings.repairs(fields),
        )
    elif node.work.calls_model:
        found_config = model_settings.read(node, fields, context.folders, context.models)
        node = replace(node, config=found_config, repairs=model_settings.repairs(fields))
    node = replace(
        node,
        effect=cast("definition.Effect", fields.choice("effect", ("pure", "idempotent", "once"), node.effect)),
        repeatable=fields.flag("repeatable", default=False),
    )
    return replace(node, cache=_cache(fields.get("cache"), node))


def _cache(place: cursor.Cursor | None, node: definition.Node) -> bool:
    if place is None or not place.flag():
        return False
    if node.effect == "once":
        hint = "a later run would leave it undone; write `effect: idempotent` if that is right"
        place.problem("CONFLICT", "an effect that happens once cannot be cached", hint=hint)
        return False
    uncacheable = handlers.uncacheable(node.handler)
    if node.foreach is not None:
        uncacheable = "the items of a foreach are not cached"
    if uncacheable is not None:
        place.problem("CONFLICT", uncacheable, hint="leave `cache` out")
        return False
    return True


def _amounts(node: definition.Node, fields: cursor.Fields) -> definition.Node:
    estimate = limits.estimate(fields.get("estimate"), node.mode)
    most = node.config.get("max_tokens") if node.work.calls_model else None
    if estimate is None and most is None:
        return node
    return replace(node, estimate=estimate, reserve=limits.reserve(estimate, most))


def _approval(node: definition.Node, fields: cursor.Fields) -> tuple[definition.Node, approvals.ApprovalDraft | None]:
    prompt = fields.get("prompt") if node.work.asks_person else None
    approval = fields.get("approval")
    if node.work.is_subworkflow or (approval is None and prompt is None):
        return node, None
    section = approval or fields.cursor.at("prompt", None)
    if approval is None:
        section = cursor.Cursor({}, section.path, section.report)
    variables: expression_scope.Variables = {
        "inputs": expression_scope.of_ports(node.inputs),
        "run": expression_scope.RUN,
    }
    draft = approvals.read(section, prompt, variables)
    if draft is None:
        return node, None
    node = replace(node, approval=draft.approval)
    if node.work.asks_person:
        return replace(node, outputs=approvals.outputs(node, fields.cursor)), draft
    approvals.check_checkpoint(node, fields.cursor)
    return node, draft


def _gates(node: definition.Node, fields: cursor.Fields, context: Context) -> definition.Node:
    if fields.value.keys().isdisjoint(_GATE_KEYS):
        return node
    composition = fields.get("gate_composition")
    both = None if composition is None else composition.fields({"pre", "post"})
    before = "all" if both is None else both.choice("pre", ("all", "any"), "all")
    after = "all" if both is None else both.choice("post", ("all", "any"), "all")
    node = replace(
        node,
        pre_composition=cast("definition.Composition", before),
        post_composition=cast("definition.Composition", after),
    )
    if node.work.is_subworkflow:  # the ports of a sub-workflow are not known yet
        return node
    pre, post = fields.get("pre_gates"), fields.get("post_gates")
    return gates.read_both(node, pre, post, commands=context.commands, folders=context.folders)


def _warn_of_once(node: definition.Node, fields: cursor.Fields) -> None:
    """Warn that `retry` does not repeat an effect that happens once when a gate refuses its result."""
    place = fields.get("retry")
    if place is not None and node.retry.max_attempts > 1 and node.post_gates and definition.is_once(node):
        message = f"the effect of {node.key} happens once: it is not retried when a post gate fails"
        hint = "failures before the effect are retried; write `repeatable: true` if it may happen again"
        place.warn("RETRY_OVER_ONCE", message, hint=hint)
