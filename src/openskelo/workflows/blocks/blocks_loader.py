"""Read a blocks file: document -> `Workflow`, or Problems for everything that is wrong in it.

The phases of `read`, each of which needs the ones before:

    1. read     each block by itself becomes a `block.Draft`; a block with `uses` loads the other file first
    2. connect  edges and `from` become bindings; a required input without a source becomes an input of the run
    3. order    cycles are refused; the outputs of the run are named, or are those of the last blocks
    4. bounces  `on_gate_fail` and `on_deny` become routes to a block that comes before
    5. inline   blocks with `uses` are replaced by the nodes of the file they use
    6. seal     the workflow gets its hash; what a run may skip is known, so outputs that may be missing are marked

A Problem stops none of the first four phases, so that an author sees all of them at once. A `Draft` with Problems holds
defaults in place of what is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import Protocol

from openskelo import errors
from openskelo.agent_settings import AgentsConfig
from openskelo.handlers import builtin, secrets
from openskelo.kernel import definition, workflow_codec
from openskelo.providers import config
from openskelo.structs import field, frozen, replace
from openskelo.values import canonical
from openskelo.workflows.blocks import block, edges, handlers, inlining, limits, ports, topology
from openskelo.workflows.text import cursor, problems

KEYS = frozenset(
    {"name", "description", "version", "blocks", "edges", "inputs", "outputs", "defaults", "budgets", "metadata"}
) | {"$schema"}
MAX_BLOCKS = 100_000
_SECRET_START, _SECRET_END = "${secret:", "}"


class LoadUsed(Protocol):
    """Loads the workflow that a block uses; returns None after a Problem (reported there, or at `place`)."""

    def __call__(self, place: cursor.Cursor) -> inlining.Inner | None: ...


@frozen
class Context:
    """The context of reading a file: the project, and a loader of other files."""

    folders: handlers.Folders | None
    commands: bool
    #: For a file without `name`.
    name: str | None
    load_used: LoadUsed
    models: config.Config | None = None
    agents: AgentsConfig | None = None
    handler_timeout_ms: int = limits.HANDLER_TIMEOUT_MS


@frozen
class _Blocks:
    """The blocks of a file by id, and the workflows that blocks with `uses` use."""

    drafts: Mapping[str, block.Draft]
    inner: Mapping[str, inlining.Inner]


@frozen
class _Outputs:
    """The outputs of a whole workflow: where each comes from, and its port as a user of the workflow sees it."""

    bindings: Mapping[str, definition.Binding] = field(default_factory=dict[str, definition.Binding])
    ports: tuple[definition.Port, ...] = ()


def read(place: cursor.Cursor, context: Context) -> inlining.Inner | None:
    """Return the workflow in the document at `place`; None when anything in it is an error."""
    fields = place.fields(KEYS)
    if fields is None:
        return None
    header = _read_header(fields, context)
    defaults = limits.defaults(fields.get("defaults"))
    blocks = _read_blocks(fields, defaults, context)
    inputs = ports.Inputs(fields.get("inputs"))
    bindings = edges.wire(blocks.drafts, fields.get("edges"), inputs)
    drafts = _bind(blocks.drafts, bindings)
    sources = {key: topology.sources_of(draft.node) for key, draft in drafts.items()}
    _check_cycle(drafts, sources)
    outputs = _read_outputs(fields.get("outputs"), drafts, sources, inputs)
    input_ports = inputs.ports(place.report)
    nodes = edges.read_bounces(drafts, edges.Reach.of(sources))
    if place.report.failed:
        return None
    if sum(len(used_file.workflow.nodes) for used_file in blocks.inner.values()) + len(nodes) > MAX_BLOCKS:
        place.problem("TOO_MANY_BLOCKS", f"together with the files it uses this has more than {MAX_BLOCKS} blocks")
        return None
    nodes = edges.fill_bounces(inlining.expand(nodes, blocks.inner), place)
    workflow = replace(
        header,
        nodes=nodes,
        inputs=input_ports,
        outputs=outputs.bindings,
        limits=limits.budgets(fields.get("budgets")),
        parallel=defaults.parallel,
    )
    if place.report.failed:
        return None
    try:
        workflow = sealed(workflow)
    except errors.InvalidInput as error:  # schemas combined from deep ones may be too deep together
        place.problem(error.code, f"the workflow cannot be written as JSON: {error.message}", hint=error.hint)
        return None
    return _as_inner(workflow, outputs, drafts)


def sealed(workflow: definition.Workflow) -> definition.Workflow:
    """Return the workflow with its hash."""
    return workflow_codec.seal(workflow, canonical.digest)


def _read_header(fields: cursor.Fields, context: Context) -> definition.Workflow:
    place = fields.get("name")
    if place is None and context.name is None:
        fields.missing("name")
    name = (context.name or "") if place is None else place.text(blank=False) or ""
    if place is not None and len(name) > 200:
        place.problem("NAME_INVALID", "`name` is longer than 200 characters")
    version = fields.get("version")
    if version is not None and not isinstance(version.value, str | int | float):
        version.wrong_type("a text or a number")
    metadata = fields.get("metadata")
    if metadata is not None:
        metadata.fields()
    return definition.Workflow(name=name, hash="", nodes={}, description=fields.text("description"))


def _read_blocks(fields: cursor.Fields, defaults: limits.Defaults, context: Context) -> _Blocks:
    section = fields.need("blocks")
    entries = [] if section is None else section.items() or []
    if section is not None and section.value == []:
        section.problem("EMPTY", "`blocks` is empty", hint="a workflow has at least one block")
    if len(entries) > MAX_BLOCKS and section is not None:
        section.problem("TOO_MANY_BLOCKS", f"more than {MAX_BLOCKS} blocks")
        entries = []
    block_context = block.Context(
        folders=context.folders,
        commands=context.commands,
        retry=defaults.retry,
        timeout_ms=defaults.timeout_ms,
        handler_timeout_ms=context.handler_timeout_ms,
        models=context.models,
        agents=context.agents,
    )
    drafts: dict[str, block.Draft] = {}
    inner: dict[str, inlining.Inner] = {}
    for entry in entries:
        key = block.identify(entry)
        if key is None:
            continue
        if key in drafts:
            first = drafts[key].place.path[-1]
            entry.at("id", key).problem("DUPLICATE_ID", f"two blocks have the id {key!r} (also blocks[{first}])")
            continue
        draft = block.read(key, entry, block_context)
        if (uses := draft.at("uses")) is not None:
            used_file = context.load_used(uses)
            draft = inlining.adopt_used_workflow(draft, used_file, commands=context.commands, folders=context.folders)
            if used_file is not None:
                inner[key] = used_file
        drafts[key] = draft
    return _Blocks(drafts=drafts, inner=inner)


def _bind(drafts: Mapping[str, block.Draft], bindings: edges.Bindings) -> dict[str, block.Draft]:
    """Return the blocks with their bindings and their `after`."""
    return {
        key: replace(draft, node=replace(draft.node, bindings=bindings[key], after=_read_after(draft, drafts)))
        for key, draft in drafts.items()
    }


def _read_after(draft: block.Draft, drafts: Mapping[str, block.Draft]) -> tuple[str, ...]:
    section = draft.at("after")
    if section is None:
        return ()
    entries = [section] if isinstance(section.value, str) else section.items() or []
    names: list[str] = []
    for entry in entries:
        name = entry.text(blank=False)
        if name is None:
            continue
        if name in drafts:
            names.append(name)
        else:
            hint = problems.did_you_mean(name, drafts)
            entry.problem("UNKNOWN_BLOCK", f"there is no block {name[:80]!r}", hint=hint)
    return tuple(dict.fromkeys(names))


def _check_cycle(drafts: Mapping[str, block.Draft], sources: topology.Sources) -> None:
    cycle: tuple[str, ...] = topology.find_cycle(sources)
    if len(cycle) > 0:
        shown_keys = cycle if len(cycle) <= 12 else (*cycle[:6], "…", *cycle[-5:])
        path = " → ".join((*shown_keys, cycle[0]))
        hint = "to go back when a gate fails, use on_gate_fail"
        drafts[cycle[0]].place.problem("CYCLE", f"these blocks wait for each other: {path}", hint=hint)


def _read_outputs(
    section: cursor.Cursor | None, drafts: edges.Drafts, sources: topology.Sources, inputs: ports.Inputs
) -> _Outputs:
    """Return the outputs that the file names, else those of the blocks that no block follows."""
    if section is not None:
        return _named_outputs(section, drafts, inputs)
    last = [key for key, following in topology.successors(sources).items() if not following]
    return _outputs_of(drafts, last)


def _named_outputs(section: cursor.Cursor, drafts: edges.Drafts, inputs: ports.Inputs) -> _Outputs:
    """Read the `outputs` section: `name: block.port` or `name: {from: block.port, description}`."""
    bindings: dict[str, definition.Binding] = {}
    output_ports: list[definition.Port] = []
    fields = section.fields()
    for entry in () if fields is None else fields:
        name = str(entry.path[-1])
        if not ports.NAME.match(name):
            entry.key_problem("NAME_INVALID", f"{name[:80]!r} cannot be the name of an output")
            continue
        output = _read_output(entry, drafts, inputs)
        if output is not None:
            bindings[name], port = output
            output_ports.append(replace(port, name=name))
    return _Outputs(bindings=bindings, ports=tuple(output_ports))


def _read_output(
    entry: cursor.Cursor, drafts: edges.Drafts, inputs: ports.Inputs
) -> tuple[definition.Binding, definition.Port] | None:
    source: cursor.Cursor | None = entry
    if not isinstance(entry.value, str):
        fields = entry.fields({"from", "description"})
        if fields is None:
            return None
        source = fields.need("from")
        if source is None:
            return None
        fields.text("description")
    reference = edges.parse(source)
    if reference is None:
        return None
    port = edges.source_port(drafts, reference) if reference.node else inputs.use(reference.port)
    if port is None:
        if not reference.node:
            hint = problems.did_you_mean(reference.port, inputs.names())
            source.problem("UNKNOWN_INPUT", f"the workflow has no input {reference.port[:80]!r}", hint=hint)
        return None
    return definition.Binding(node=reference.node, port=reference.port), port


def _outputs_of(drafts: edges.Drafts, last: Iterable[str]) -> _Outputs:
    """Return the outputs of the last blocks under their own names; names that clash become BLOCK_PORT."""
    pairs = [(key, port) for key in last for port in _visible_outputs(drafts[key])]
    counts = Counter(port.name for _, port in pairs)
    bindings: dict[str, definition.Binding] = {}
    output_ports: list[definition.Port] = []
    for key, port in pairs:
        name = port.name if counts[port.name] == 1 else f"{key}_{port.name}"
        if name in bindings:
            continue  # `a_b` of one block against `b` of block `a`: the first keeps the name, the other has none
        bindings[name] = definition.Binding(node=key, port=port.name)
        output_ports.append(replace(port, name=name))
    return _Outputs(bindings=bindings, ports=tuple(output_ports))


def _visible_outputs(draft: block.Draft) -> tuple[definition.Port, ...]:
    if draft.node.foreach is None:
        return draft.node.outputs
    return tuple(edges.visible(draft, port) for port in draft.outputs.values())


def _as_inner(workflow: definition.Workflow, outputs: _Outputs, drafts: edges.Drafts) -> inlining.Inner:
    """Return the workflow as another file may use it; an output whose block may be skipped is optional."""
    skippable = topology.find_skippable(workflow.nodes)
    _warn_unused_defaults(drafts, workflow.nodes, skippable)
    optional = {
        name for name, binding in workflow.outputs.items() if inlining.origin(workflow.nodes, binding) in skippable
    }

    def is_only_missing_when_skipped(port: definition.Port) -> bool:
        source = outputs.bindings[port.name]
        return port.required or (source.node in drafts and source.port in drafts[source.node].skipping)

    output_ports = tuple(
        replace(port, required=False) if port.name in optional else inlining.certain(port) for port in outputs.ports
    )
    skipping = frozenset(
        port.name for port in outputs.ports if port.name in optional and is_only_missing_when_skipped(port)
    )
    with_failed_items = frozenset(
        name
        for name, source in outputs.bindings.items()
        if source.node and edges.has_failed_items(drafts[source.node], source.port)
    )
    return inlining.Inner(
        workflow=workflow, outputs=output_ports, skipping=skipping, with_failed_items=with_failed_items
    )


def _warn_unused_defaults(
    drafts: Mapping[str, block.Draft], nodes: Mapping[str, definition.Node], skippable: Set[str]
) -> None:
    """Warn about defaults that are never used, because the block is skipped together with its only source.

    With several sources, one of which may run, a default is the way to join them. Blocks with `uses` are left out: the
    defaults of their inputs belong to the file that they use.
    """
    for key, draft in drafts.items():
        before = () if draft.node.work.is_subworkflow else definition.origins(nodes[key])
        if len(before) != 1 or before[0] not in skippable:
            continue
        for port in draft.node.inputs:
            source = draft.node.bindings.get(port.name)
            if source is None or not source.node or not port.has_default:
                continue
            if _always_sets(drafts[source.node], source.port):
                message = f"when {source.node} is skipped, so is {key}: the default of {port.name!r} is not used"
                hint = f"let {key} also wait for a block that is not skipped (`after`), or remove the default"
                place = draft.place.at("inputs", None).at(port.name, None)
                place.warn("DEFAULT_UNUSED", message, hint=hint)


def _always_sets(draft: block.Draft, output: str) -> bool:
    """True if the block sets this output whenever it is not skipped."""
    port = draft.outputs.get(output)
    return output in draft.skipping or (port is not None and port.required)


def warn_undeclared_secrets(workflow: definition.Workflow, declared: Collection[str], top: cursor.Cursor) -> None:
    """Warn at every text in a config that names a secret the project does not declare.

    For a text in a used file the warning is at the block that uses it. It is not an error, because a program may pass
    the engine a project with more secrets than `skelo.yaml` declares.
    """
    for node in workflow.nodes.values():
        for keys, name in _secrets_in_config(node):
            if name not in declared:
                hint = problems.did_you_mean(name, declared, otherwise=f"add {name} to `secrets` in skelo.yaml")
                place = _place_in_config(top, node.key, keys)
                place.warn("SECRET_UNDECLARED", f"no secret {name!r} is declared", hint=hint)


def _secrets_in_config(node: definition.Node) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield each secret that a text of the config names, after the keys that lead to the text."""
    handler = builtin.of(node)
    for section in () if handler is None else handler.secret_texts:
        texts = node.config.get(section)
        for key, text in texts.items() if isinstance(texts, Mapping) else ():
            for reference in secrets.named(text) if isinstance(text, str) else ():
                if reference.startswith(_SECRET_START):
                    yield (section, key), reference.removeprefix(_SECRET_START).removesuffix(_SECRET_END)


def _place_in_config(top: cursor.Cursor, key: str, keys: tuple[str, str]) -> cursor.Cursor:
    """Return the place of a text in the config of its block, or of the block that uses the file it is in."""
    block_id, _, inner = key.partition("/")
    section = top.value.get("blocks") if isinstance(top.value, Mapping) else None
    entries = section if isinstance(section, list) else []
    ids = [entry.get("id") if isinstance(entry, Mapping) else None for entry in entries]
    in_block = () if inner else ("deterministic", "config", *keys)
    return cursor.Cursor(None, ("blocks", ids.index(block_id), *in_block), top.report)
