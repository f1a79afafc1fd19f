"""One block, as far as it can be read by itself: everything but what ties it to other blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from openskelo import errors
from openskelo.frozen import field, frozen, replace
from openskelo.handlers import registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.providers import config
from openskelo.values import composition, expression, schema
from openskelo.workflows import approvals, asking, builtin, cursor, gates, handlers, limits, ports, scope

ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
MODES = ("ai", "deterministic", "approval")

_COMMON = frozenset(
    {"id", "name", "description", "mode", "inputs", "outputs", "pre_gates", "post_gates", "gate_composition"}
    | {"on_gate_fail", "when", "foreach", "uses", "retry", "timeout_ms", "effect", "repeatable", "cache"}
    | {"estimate", "after", "approval", "metadata", "strict_output", "deterministic", "prompt"}
)
KEYS = _COMMON | asking.KEYS

#: Keys that mean nothing in a mode; a block that has one was meant otherwise.
_NOT_IN: Mapping[str, frozenset[str]] = {
    "ai": frozenset({"deterministic"}),
    "deterministic": asking.KEYS | {"prompt"},
    "approval": asking.KEYS
    | {"deterministic", "pre_gates", "post_gates", "gate_composition", "on_gate_fail", "retry", "timeout_ms"}
    | {"foreach", "effect", "cache", "repeatable"},
    "dag": asking.KEYS
    | {"deterministic", "prompt", "approval", "foreach", "retry", "timeout_ms", "effect", "cache", "repeatable"}
    | {"estimate", "mode"},
}
#: Handlers whose result without their work is wrong: the file that it tells of is another one by then.
_NOT_CACHED = {
    "builtin:write-file": "a later run would write no file",
    "builtin:read-file": "a later run would not see what is in the file by then",
}
_ITEM_NAMES = "a letter, then letters, digits, _; not inputs, outputs, run or a word of CEL such as in or int"
_GATE_KEYS = frozenset({"pre_gates", "post_gates", "gate_composition"})
_LONGEST_MS = 7 * 86_400_000


@frozen
class Setting:
    """What a block is read in: the project, and the defaults of its file.

    `models` are the project's, where it names them itself: what a block asks for has to be among them. `registry` has
    its checkers and transforms; None where there is no project, and nobody knows what the caller will bring.
    """

    root: Path | None
    commands: bool
    retry: definition.Retry
    timeout_ms: int | None
    models: config.Config | None = None
    registry: registry.Registry | None = None


@frozen
class Draft:
    """A block whose ties are still names. `node` has no bindings, no `after`, no bounces yet.

    `untyped` are the ports of each side that give no type of their own. `once` says that its effect, or one inside of
    what it uses, must not be repeated; `unread` that what it uses has Problems of its own, so that nothing more can be
    said about its ports. `skipping` are the outputs that are missing only where the block inside that gives them was
    skipped: who needs one of them is skipped, too.
    """

    place: cursor.Cursor
    node: definition.Node
    links: Mapping[str, ports.Link]
    untyped: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    asked: approvals.Asked | None = None
    once: bool = False
    unread: bool = False
    skipping: frozenset[str] = frozenset()

    def at(self, key: str) -> cursor.Cursor | None:
        """The place under one of the block's keys."""
        value = self.place.value
        return self.place.at(key, value[key]) if isinstance(value, Mapping) and key in value else None


def identify(place: cursor.Cursor) -> str | None:
    """The id of a block, or None after a Problem."""
    fields = place.fields(KEYS)
    found = None if fields is None else fields.need("id")
    text = None if found is None else found.text(blank=False)
    if found is None or text is None:
        return None
    if not ID.match(text):
        hint = "a letter, then at most 63 letters, digits, - or _"
        found.problem("ID_INVALID", f"{text[:80]!r} cannot be a block's id", hint=hint)
        return None
    if text == "inputs":
        found.problem("ID_RESERVED", "`inputs` means the workflow's own inputs", hint="choose another id")
        return None
    return text


def read(key: str, place: cursor.Cursor, setting: Setting) -> Draft:
    """The block at `place`, which has the id `key`."""
    fields = cursor.Fields(place, cast("Mapping[str, Json]", place.value))
    mode = "dag" if "uses" in fields else fields.choice("mode", MODES, "ai")
    if mode == "dag" or fields.value.get("mode", mode) == mode:  # of a mode that is misspelt nothing more can be said
        _check_mode(fields, mode)
    taken = ports.read(fields.get("inputs"), "input")
    given = ports.read(fields.get("outputs"), "output")
    node = definition.Node(
        key=key,
        mode=cast("definition.Mode", mode),
        label=fields.text("name"),
        description=fields.text("description"),
        inputs=taken.ports,
        outputs=given.ports,
        metadata=fields.map("metadata"),
    )
    node = _schedule(node, fields, setting)
    node = _work(node, fields, setting)
    node = _amounts(node, fields)
    node, asked = _approval(node, fields)
    node = _gates(node, fields, setting)
    _warn_of_once(node, fields)
    asking.check_reviews(fields, setting.models)
    _strict(fields)
    return Draft(
        place=place,
        node=node,
        links=taken.links,
        untyped={"inputs": taken.untyped, "outputs": given.untyped},
        asked=asked,
        once=definition.is_once(node),
    )


def _check_mode(fields: cursor.Fields, mode: str) -> None:
    wrong = _NOT_IN[mode]
    for key in fields.value:
        if key in wrong:
            spot = fields.cursor.at(key, fields.value[key])
            what = "a block with `uses`" if mode == "dag" else f"a block of mode {mode}"
            code = "FOREACH_USES" if (mode, key) == ("dag", "foreach") else "WRONG_MODE"
            spot.key_problem(code, f"`{key}` means nothing in {what}", hint=_mode_hint(key, mode, fields))
    if mode == "deterministic" and "deterministic" not in fields:
        fields.missing("deterministic", hint="name the handler: deterministic: {handler: …}")
    if mode == "approval" and "approval" not in fields and "prompt" not in fields:
        fields.missing("approval", hint="say what the person is to decide: approval: {prompt: …}")


def _mode_hint(key: str, mode: str, fields: cursor.Fields) -> str | None:
    if key == "foreach" and mode == "dag":
        return "put foreach inside of the other file"
    if key == "deterministic" and mode == "ai" and "mode" not in fields:
        return "write `mode: deterministic`"
    if key.endswith("gates") and mode == "approval":
        return "the form's schema checks the answer; gates belong to the block before or after"
    return None


def _schedule(node: definition.Node, fields: cursor.Fields, setting: Setting) -> definition.Node:
    """When, foreach, retry, timeout."""
    foreach = _foreach(fields.get("foreach"), node)
    seen = tuple(port for port in node.inputs if foreach is None or port.name != foreach.name)
    condition = fields.get("when")
    if node.mode != "dag":  # the ports of a sub-workflow are not known yet
        check_condition(condition, seen)
    works = node.mode in ("ai", "deterministic")
    return replace(
        node,
        foreach=foreach,
        when=condition.value if condition is not None and isinstance(condition.value, str) else None,
        retry=limits.retry(fields.get("retry"), setting.retry) if works else node.retry,
        timeout_ms=_timeout(fields, setting) if works else None,
        effect="idempotent" if node.mode == "approval" else "pure",
    )


def check_condition(condition: cursor.Cursor | None, seen: tuple[definition.Port, ...]) -> None:
    """`when` has to be true or false, and sees the block's inputs."""
    if condition is not None:
        scope.check_expression(condition, {"inputs": scope.of_ports(seen), "run": scope.RUN}, wants="bool")


def _timeout(fields: cursor.Fields, setting: Setting) -> int | None:
    found = fields.get("timeout_ms")
    return setting.timeout_ms if found is None else found.integer(1, _LONGEST_MS)


def _foreach(found: cursor.Cursor | None, node: definition.Node) -> definition.Foreach | None:
    fields = None if found is None else found.fields({"items", "as", "concurrency"})
    if fields is None:
        return None
    items = fields.need("items")
    name = fields.text("as", "item")
    seen = tuple(port for port in node.inputs if port.name != name)
    if not _may_name_an_item(name):
        spot = fields.get("as") or fields.cursor
        spot.problem("NAME_INVALID", f"{name[:60]!r} cannot name the item", hint=_ITEM_NAMES)
        name = "item"
    if items is not None:
        scope.check_expression(items, {"inputs": scope.of_ports(seen), "run": scope.RUN}, wants="list")
        _check_item(items, name, node)
    text = items.value if items is not None and isinstance(items.value, str) else ""
    return definition.Foreach(items=text, name=name, concurrency=fields.integer("concurrency", 4, 1, 1024))


def _may_name_an_item(name: str) -> bool:
    """Whether expressions can call the item so: no word of CEL itself, and nothing that they see already."""
    if not re.match(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z", name) or name in ("inputs", "outputs", "run"):
        return False
    try:
        return name == "item" or name in expression.compile(name, {name: None}).variables
    except errors.InvalidInput:
        return False


def _check_item(items: cursor.Cursor, name: str, node: definition.Node) -> None:
    """Where the items are those of an input, their type has to fit the port that each is put into."""
    known = ports.by_name(node.inputs)
    target = known.pop(name, None)
    side, _, port = str(items.value).strip().partition(".")
    source = known.get(port) if side == "inputs" else None
    element = None if source is None else source.schema.get("items")
    if target is None or source is None or not isinstance(element, Mapping) or not composition.plain(source.schema):
        return
    if (why := schema.fits(element, target.schema)) is not None:
        items.problem("TYPE_MISMATCH", f"an item of inputs.{port} does not fit {node.key}.{name}: {why}")


def _work(node: definition.Node, fields: cursor.Fields, setting: Setting) -> definition.Node:
    """The handler of a deterministic block, or what an ai block hands to its model."""
    if node.mode == "deterministic" and (section := fields.get("deterministic")) is not None:
        found = handlers.read(section, setting.root)
        if found is None:
            return node
        node = replace(
            node,
            handler=found.name,
            config=found.config,
            effect=handlers.default_effect(found.name, found.config),
        )
        builtin.check(node, fields.cursor, setting.registry)
    elif node.mode == "ai":
        found_config = asking.read(node, fields, setting.root, setting.models)
        node = replace(node, config=found_config, repairs=asking.repairs(fields))
    node = replace(
        node,
        effect=cast("definition.Effect", fields.choice("effect", ("pure", "idempotent", "once"), node.effect)),
        repeatable=fields.flag("repeatable", default=False),
    )
    return replace(node, cache=_cache(fields.get("cache"), node))


def _cache(found: cursor.Cursor | None, node: definition.Node) -> bool:
    if found is None or not found.flag():
        return False
    if node.effect == "once":
        hint = "a later run would leave it undone; write `effect: idempotent` if that is right"
        found.problem("CONFLICT", "an effect that happens once cannot be cached", hint=hint)
        return False
    useless = (
        "the items of a foreach are not cached" if node.foreach is not None else _NOT_CACHED.get(node.handler or "")
    )
    if useless is not None:
        found.problem("CONFLICT", useless, hint="leave `cache` out")
        return False
    return True


def _amounts(node: definition.Node, fields: cursor.Fields) -> definition.Node:
    estimate = limits.estimate(fields.get("estimate"), node.mode)
    most = node.config.get("max_tokens") if node.mode == "ai" else None
    if estimate is None and most is None:
        return node
    return replace(node, estimate=estimate, reserve=limits.reserve(estimate, most))


def _approval(node: definition.Node, fields: cursor.Fields) -> tuple[definition.Node, approvals.Asked | None]:
    prompt = fields.get("prompt") if node.mode == "approval" else None
    found = fields.get("approval")
    if node.mode == "dag" or (found is None and prompt is None):
        return node, None
    section = found or fields.cursor.at("prompt", None)
    if found is None:
        section = cursor.Cursor({}, section.path, section.report)
    variables: scope.Variables = {"inputs": scope.of_ports(node.inputs), "run": scope.RUN}
    asked = approvals.read(section, prompt, variables)
    if asked is None:
        return node, None
    node = replace(node, approval=asked.approval)
    if node.mode == "approval":
        return replace(node, outputs=approvals.outputs(node, fields.cursor)), asked
    approvals.check_checkpoint(node, fields.cursor)
    return node, asked


def _gates(node: definition.Node, fields: cursor.Fields, setting: Setting) -> definition.Node:
    if fields.value.keys().isdisjoint(_GATE_KEYS):
        return node
    composition = fields.get("gate_composition")
    both = None if composition is None else composition.fields({"pre", "post"})
    pre = "all" if both is None else both.choice("pre", ("all", "any"), "all")
    post = "all" if both is None else both.choice("post", ("all", "any"), "all")
    node = replace(
        node,
        pre_composition=cast("definition.Composition", pre),
        post_composition=cast("definition.Composition", post),
    )
    if node.mode == "dag":  # the ports of a sub-workflow are not known yet
        return node
    return gates.read_both(node, fields.get("pre_gates"), fields.get("post_gates"), commands=setting.commands)


def _warn_of_once(node: definition.Node, fields: cursor.Fields) -> None:
    """Say that a retry of the author's own does not try again what a gate refuses after the effect has happened."""
    found = fields.get("retry")
    if found is not None and node.retry.max_attempts > 1 and node.post_gates and definition.is_once(node):
        message = f"the effect of {node.key} happens once: a no of its post gates is not tried again"
        hint = "what fails before its effect is; write `repeatable: true` if it may happen again"
        found.warn("RETRY_OVER_ONCE", message, hint=hint)


def _strict(fields: cursor.Fields) -> None:
    found = fields.get("strict_output")
    if found is not None and found.flag() is False:
        hint = "declare a port of type json to accept anything"
        found.problem("STRICT_ALWAYS", "outputs that break their contract are never stored", hint=hint)
