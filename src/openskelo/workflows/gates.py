"""Gates: the checks before and after a block's work, each type with its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from openskelo import errors
from openskelo.frozen import frozen, replace
from openskelo.handlers import url as urls
from openskelo.kernel import definition
from openskelo.kernel.json import Json
from openskelo.values import pattern, schema
from openskelo.workflows import cursor, gate_aliases, ports, schema_words, scope, suggest

_LONGEST_MS = 86_400_000


@frozen
class Around:
    """What a block's gates may look at. `values` are the ports a gate may name."""

    values: frozenset[str]
    variables: scope.Variables
    before: bool
    commands: bool


_Reader = Callable[[cursor.Cursor, Around], Json]


def _port(found: cursor.Cursor, around: Around) -> Json:
    name = found.text(blank=False)
    if name is not None and name not in around.values:
        side = "input" if around.before else "port"
        early = "a gate before the work sees inputs only" if around.before else None
        hint = suggest.near(name, around.values, otherwise=early)
        found.problem("UNKNOWN_PORT", f"this block has no {side} {name[:60]!r}", hint=hint)
    return name


def _schema(found: cursor.Cursor, _around: Around) -> Json:
    fields = found.fields()
    if fields is None:
        return {}
    try:
        schema.compile(fields.value)
    except errors.InvalidInput as error:
        found.problem(error.code, error.message, hint=error.hint)
    schema_words.warn(found)
    return fields.value


def _expression(found: cursor.Cursor, around: Around) -> Json:
    scope.check_expression(found, around.variables, wants="bool")
    return found.value


def _pattern(found: cursor.Cursor, _around: Around) -> Json:
    text = found.text(blank=False)
    if text is not None:
        try:
            pattern.compile(text)
        except errors.InvalidInput as error:
            found.problem(error.code, error.message, hint=error.hint)
    return text


def _argv(found: cursor.Cursor, around: Around) -> Json:
    if not around.commands:
        hint = "write `allow: {commands: true}` into skelo.yaml"
        found.key_problem("COMMANDS_NOT_ALLOWED", "this project does not allow command gates", hint=hint)
    if isinstance(found.value, str):
        found.wrong_type("a list", hint="one entry for each argument; there is no shell")
        return []
    if found.value == []:
        found.problem("EMPTY", "`argv` is empty")
    return [_argument(entry, blank=index > 0) for index, entry in enumerate(found.items() or [])]


def _argument(entry: cursor.Cursor, *, blank: bool) -> str | None:
    text = entry.text(blank=blank)
    if text is not None and "\0" in text:
        entry.problem("TEXT_INVALID", f"{entry.name} holds a NUL character, which no program can be given")
    return text


def _texts(found: cursor.Cursor, _around: Around) -> Json:
    entries = found.items() or []
    if found.value == []:
        found.problem("EMPTY", f"{found.name} is empty")
    return [entry.text(blank=False) for entry in entries]


def _text(found: cursor.Cursor, _around: Around) -> Json:
    return found.text(blank=False)


def _flag(found: cursor.Cursor, _around: Around) -> Json:
    return found.flag()


def _url(found: cursor.Cursor, _around: Around) -> Json:
    url = found.text(blank=False)
    if url is not None and "{{" in url:
        hint = "ask by a block with builtin:http-request, and judge its answer by an expr gate"
        found.problem("URL_INVALID", "`{{ … }}` is not filled in here: the address of a gate is fixed", hint=hint)
    elif url is not None and (why := urls.fault(url)) is not None:
        found.problem("URL_INVALID", f"the URL is not usable: {why}")
    return url


def _method(found: cursor.Cursor, _around: Around) -> Json:
    return found.choice(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


def _equality(found: cursor.Cursor, _around: Around) -> Json:
    return found.choice(("equal", "not_equal"))


def _whole(low: int, high: int) -> _Reader:
    return lambda found, _around: found.integer(low, high)


def _amount(low: float, high: float) -> _Reader:
    return lambda found, _around: found.number(low, high)


@frozen
class Kind:
    """A gate type: its parameters, which of them must be there, and whether it only makes sense after the work."""

    needs: Mapping[str, _Reader]
    takes: Mapping[str, _Reader]
    one_of: tuple[str, ...] = ()
    after_only: bool = False


_SIZE: dict[str, _Reader] = {"min": _whole(0, 10_000_000), "max": _whole(0, 10_000_000)}
_WAIT: dict[str, _Reader] = {"timeout_ms": _whole(1, _LONGEST_MS)}

TYPES: Mapping[str, Kind] = {
    "json_schema": Kind(needs={"schema": _schema}, takes={"port": _port}),
    "expr": Kind(needs={"expression": _expression}, takes={}),
    "regex": Kind(needs={"port": _port, "pattern": _pattern}, takes={"negate": _flag}),
    "not_empty": Kind(needs={"port": _port}, takes={}),
    "length": Kind(needs={"port": _port}, takes=_SIZE, one_of=("min", "max")),
    "word_count": Kind(needs={"port": _port}, takes=_SIZE, one_of=("min", "max")),
    "diff": Kind(needs={"left": _port, "right": _port}, takes={"mode": _equality}),
    "command": Kind(needs={"argv": _argv}, takes={**_WAIT, "expect_exit": _whole(0, 255)}),
    "http": Kind(needs={"url": _url}, takes={**_WAIT, "method": _method, "expect_status": _whole(100, 599)}),
    "cost": Kind(needs={"max_usd": _amount(0, 1_000_000)}, takes={}, after_only=True),
    "latency": Kind(needs={"max_ms": _whole(0, _LONGEST_MS)}, takes={}, after_only=True),
    "llm_review": Kind(needs={"port": _port, "criteria": _texts}, takes={"expert": _text, "threshold": _amount(0, 1)}),
}
_OWN = frozenset({"name", "type", "error", "check"})


def read_both(
    node: definition.Node, pre: cursor.Cursor | None, post: cursor.Cursor | None, *, commands: bool
) -> definition.Node:
    """The node with its gates; their names are unique in the block, and default to the type."""
    first = _read(pre, before(node, commands=commands), {})
    # What leaves a sub-workflow does not see what went into it.
    seen = replace(node, inputs=()) if node.mode == "dag" else node
    second = _read(post, after(seen, commands=commands), first)
    return replace(node, pre_gates=tuple(first.values()), post_gates=tuple(second.values()))


def _read(
    found: cursor.Cursor | None, around: Around, taken: Mapping[str, definition.Gate]
) -> dict[str, definition.Gate]:
    gates: dict[str, definition.Gate] = {}
    for entry in [] if found is None else found.items() or []:
        gate = _gate(entry, around)
        if gate is None:
            continue
        if gate.name in gates or gate.name in taken:
            hint = "give it a `name` of its own"
            entry.problem("DUPLICATE_GATE", f"two gates of this block are called {gate.name!r}", hint=hint)
        gates[gate.name] = gate
    return gates


def _gate(entry: cursor.Cursor, around: Around) -> definition.Gate | None:
    outer = entry.fields()
    if outer is None:
        return None
    params = outer
    if (older := outer.get("check")) is not None:
        entry.fields({"name", "check", "error"})
        params = older.fields()
        if params is None:
            return None
    params = gate_aliases.modern(params)
    named = params.need("type")
    if named is None or (word := named.text(blank=False)) is None:
        return None
    kind = TYPES.get(word)
    if kind is None:
        hint = gate_aliases.RETIRED.get(word) or suggest.near(word, TYPES, otherwise=f"types: {', '.join(TYPES)}")
        named.problem("GATE_UNKNOWN", f"there is no gate type {word[:60]!r}", hint=hint)
        return None
    if kind.after_only and around.before:
        named.problem("GATE_TOO_EARLY", f"a {word} gate measures the work; it belongs to post_gates")
    return definition.Gate(
        name=outer.text("name") or word,
        type=word,
        params=_params(params, kind, around),
        error=outer.text("error"),
    )


def _params(fields: cursor.Fields, kind: Kind, around: Around) -> dict[str, Json]:
    known = {**kind.needs, **kind.takes}
    fields.cursor.fields(known.keys() | _OWN)
    params: dict[str, Json] = {}
    for key, reader in known.items():
        found = fields.get(key)
        if found is not None:
            params[key] = reader(found, around)
        elif key in kind.needs:
            fields.missing(key)
    if kind.one_of and not any(key in fields for key in kind.one_of):
        fields.missing(" or ".join(kind.one_of))
    low, high = params.get("min"), params.get("max")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        fields.cursor.problem("RANGE", f"`min` ({low}) is above `max` ({high})")
    return params


def before(node: definition.Node, *, commands: bool) -> Around:
    """What the gates before the work see: inputs, the run, and the item of a foreach."""
    variables = _variables(node)
    return Around(
        values=frozenset(port.name for port in node.inputs), variables=variables, before=True, commands=commands
    )


def after(node: definition.Node, *, commands: bool) -> Around:
    """What the gates after the work see: outputs too."""
    variables = {**_variables(node), "outputs": scope.of_ports(node.outputs)}
    values = frozenset(ports.by_name((*node.inputs, *node.outputs)))
    return Around(values=values, variables=variables, before=False, commands=commands)


def _variables(node: definition.Node) -> scope.Variables:
    variables: dict[str, Mapping[str, Json] | None] = {"inputs": scope.of_ports(node.inputs), "run": scope.RUN}
    if node.foreach is not None:
        variables[node.foreach.name] = None
    return variables
