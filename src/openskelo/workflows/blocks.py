"""A blocks file to a Workflow: reads the blocks, wires them, orders them, and reports everything wrong on the way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from openskelo import errors
from openskelo.frozen import frozen, replace
from openskelo.handlers import registry
from openskelo.kernel import codec, definition
from openskelo.providers import config
from openskelo.values import canonical
from openskelo.workflows import (
    block,
    cursor,
    edges,
    graph,
    inline,
    limits,
    routes,
    run_inputs,
    run_outputs,
    skipping,
    suggest,
)

KEYS = frozenset(
    {"name", "description", "version", "blocks", "edges", "inputs", "outputs", "defaults", "budgets", "metadata"}
    | {"entrypoints", "terminals", "$schema"}
)
_MOST_BLOCKS = 100_000


class Use(Protocol):
    """Loads the workflow that a block uses; None after a Problem (reported there, or at `place`)."""

    def __call__(self, place: cursor.Cursor) -> inline.Inner | None: ...


@frozen
class Setting:
    """What a file is read in: the project, the name it has without one of its own, and how to load others."""

    root: Path | None
    commands: bool
    name: str | None
    use: Use
    models: config.Config | None = None
    registry: registry.Registry | None = None


@frozen
class _Loaded:
    drafts: Mapping[str, block.Draft]
    inner: Mapping[str, inline.Inner]


def read(place: cursor.Cursor, setting: Setting) -> inline.Inner | None:
    """The workflow in the document at `place`; None when anything was an error."""
    fields = place.fields(KEYS)
    if fields is None:
        return None
    about = _about(fields, setting)
    common = limits.defaults(fields.get("defaults"))
    loaded = _blocks(fields, common, setting)
    inputs = run_inputs.Inputs(fields.get("inputs"))
    bindings = edges.wire(loaded.drafts, fields.get("edges"), inputs)
    drafts = _tied(loaded.drafts, bindings)
    sources = {key: routes.sources_of(draft.node) for key, draft in drafts.items()}
    _check_cycle(drafts, sources)
    last = [key for key, following in graph.successors(sources).items() if not following]
    section = fields.get("outputs")
    outputs = run_outputs.of_last(drafts, last) if section is None else run_outputs.read(section, drafts, inputs)
    taken = inputs.ports(place.report)
    nodes = routes.read(drafts, routes.Reach.of(sources))
    if place.report.failed:
        return None
    if sum(len(used.workflow.nodes) for used in loaded.inner.values()) + len(nodes) > _MOST_BLOCKS:
        place.problem("TOO_MANY_BLOCKS", f"with what it uses this has more than {_MOST_BLOCKS} blocks")
        return None
    nodes = routes.fill(inline.expand(nodes, loaded.inner), place)
    workflow = replace(
        about,
        nodes=nodes,
        inputs=taken,
        outputs=outputs.bindings,
        limits=limits.budgets(fields.get("budgets")),
        parallel=common.parallel,
    )
    if place.report.failed:
        return None
    try:
        whole = sealed(workflow)
    except errors.InvalidInput as error:  # schemas combined from deep ones may be too deep together
        place.problem(error.code, f"the workflow cannot be written as JSON: {error.message}", hint=error.hint)
        return None
    return _offered(whole, outputs, drafts)


def _offered(whole: definition.Workflow, outputs: run_outputs.Outputs, drafts: edges.Drafts) -> inline.Inner:
    """The workflow as another may use it; an output whose block may be skipped may be missing."""
    maybe = skipping.skippable(whole.nodes)
    skipping.warn_of_defaults(drafts, whole.nodes, maybe)

    def is_left_to_skipping(port: definition.Port) -> bool:
        source = outputs.bindings[port.name]
        return port.required or (source.node in drafts and source.port in drafts[source.node].skipping)

    left_out = {name for name, binding in whole.outputs.items() if inline.origin(whole.nodes, binding) in maybe}
    given = tuple(
        replace(port, required=False) if port.name in left_out else inline.certain(port) for port in outputs.ports
    )
    clean = frozenset(port.name for port in outputs.ports if port.name in left_out and is_left_to_skipping(port))
    return inline.Inner(workflow=whole, outputs=given, skipping=clean)


def sealed(workflow: definition.Workflow) -> definition.Workflow:
    """The workflow with its hash."""
    return codec.sealed(workflow, canonical.digest)


def _about(fields: cursor.Fields, setting: Setting) -> definition.Workflow:
    found = fields.get("name")
    if found is None and setting.name is None:
        fields.missing("name")
    name = (setting.name or "") if found is None else found.text(blank=False) or ""
    if found is not None and len(name) > 200:
        found.problem("NAME_INVALID", "`name` is longer than 200 characters")
    version = fields.get("version")
    if version is not None and not isinstance(version.value, str | int | float):
        version.wrong_type("a text or a number")
    metadata = fields.get("metadata")
    if metadata is not None:
        metadata.fields()
    for key in ("entrypoints", "terminals"):
        old = fields.get(key)
        if old is not None:
            old.key_problem("RETIRED_KEY", f"`{key}` is found from the edges", hint="leave it out")
    return definition.Workflow(name=name, hash="", nodes={}, description=fields.text("description"))


def _blocks(fields: cursor.Fields, common: limits.Defaults, setting: Setting) -> _Loaded:
    found = fields.need("blocks")
    entries = [] if found is None else found.items() or []
    if found is not None and found.value == []:
        found.problem("EMPTY", "`blocks` is empty", hint="a workflow has at least one block")
    if len(entries) > _MOST_BLOCKS and found is not None:
        found.problem("TOO_MANY_BLOCKS", f"more than {_MOST_BLOCKS} blocks")
        entries = []
    around = block.Setting(
        root=setting.root,
        commands=setting.commands,
        retry=common.retry,
        timeout_ms=common.timeout_ms,
        models=setting.models,
        registry=setting.registry,
    )
    drafts: dict[str, block.Draft] = {}
    inner: dict[str, inline.Inner] = {}
    for entry in entries:
        key = block.identify(entry)
        if key is None:
            continue
        if key in drafts:
            first = drafts[key].place.path[-1]
            entry.at("id", key).problem("DUPLICATE_ID", f"two blocks are called {key!r} (also blocks[{first}])")
            continue
        draft = block.read(key, entry, around)
        if (used := draft.at("uses")) is not None:
            sub = setting.use(used)
            draft = inline.adopt(draft, sub, commands=setting.commands)
            if sub is not None:
                inner[key] = sub
        drafts[key] = draft
    return _Loaded(drafts=drafts, inner=inner)


def _tied(drafts: Mapping[str, block.Draft], bindings: edges.Bindings) -> dict[str, block.Draft]:
    """The blocks with their bindings and `after`."""
    return {
        key: replace(draft, node=replace(draft.node, bindings=bindings[key], after=_after(draft, drafts)))
        for key, draft in drafts.items()
    }


def _after(draft: block.Draft, drafts: Mapping[str, block.Draft]) -> tuple[str, ...]:
    found = draft.at("after")
    if found is None:
        return ()
    entries = [found] if isinstance(found.value, str) else found.items() or []
    names: list[str] = []
    for entry in entries:
        name = entry.text(blank=False)
        if name is None:
            continue
        if name in drafts:
            names.append(name)
        else:
            hint = suggest.near(name, drafts)
            entry.problem("UNKNOWN_BLOCK", f"there is no block {name[:80]!r}", hint=hint)
    return tuple(dict.fromkeys(names))


def _check_cycle(drafts: Mapping[str, block.Draft], sources: graph.Sources) -> None:
    found: tuple[str, ...] = graph.cycle(sources)
    if len(found) > 0:
        shown = found if len(found) <= 12 else (*found[:6], "…", *found[-5:])
        round_trip = " → ".join((*shown, found[0]))
        hint = "to go back when a gate fails, use on_gate_fail"
        drafts[found[0]].place.problem("CYCLE", f"these blocks wait for each other: {round_trip}", hint=hint)
