"""The inputs of a whole workflow: those it declares, and those its ports ask for."""

from __future__ import annotations

from typing import cast

from openskelo.frozen import replace
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.values import composition, schema
from openskelo.workflows import cursor, ports, problems, suggest

_TOGETHER = "allOf"
#: More different demands on one input are a muddle; declaring the input ends it.
_MOST_PORTS = 50


class Inputs:
    """Grows while edges are read; afterwards `ports` are the workflow's inputs, declared ones first."""

    __slots__ = ("_declared", "_found", "_section", "_used")

    def __init__(self, section: cursor.Cursor | None) -> None:
        self._section = section
        declared = ports.read(section, "input")
        for link in declared.links.values():
            link.source.key_problem("UNKNOWN_KEY", "an input of the workflow has no `from`")
        self._found: dict[str, definition.Port] = ports.by_name(declared.ports)
        self._declared = None if section is None else frozenset(self._found)
        self._used: set[str] = set()

    def named(self, name: str, target: definition.Port, place: cursor.Cursor, *, typed: bool) -> definition.Port | None:
        """The input that a `from: inputs.NAME` means; without declared inputs it comes into being here."""
        self._used.add(name)
        if self._declared is not None and name in self._declared:
            return self._found[name]
        if self._declared is not None:
            hint = suggest.near(name, self._declared, otherwise="declare it under the file's `inputs`")
            place.problem("UNKNOWN_INPUT", f"the workflow has no input {name[:80]!r}", hint=hint)
            return None
        if not ports.NAME.match(name):
            place.problem("NAME_INVALID", f"{name[:80]!r} cannot name an input")
            return None
        wanted = replace(
            target,
            name=name,
            schema=target.schema if typed else {},
            kind=target.kind if typed else "json",
            required=target.required and not target.has_default,
            has_default=False,
            default=None,
        )
        return self._merge(wanted, place)

    def unbound(self, port: definition.Port, place: cursor.Cursor) -> definition.Port | None:
        """The input that feeds a port which nothing else feeds."""
        self._used.add(port.name)
        if self._declared is not None and port.name in self._declared:
            return self._fitting(self._found[port.name], port, place)
        if self._declared is not None and port.name not in self._found:
            hint = "write `from:` on the port, or declare the input"
            place.warn("INPUT_UNDECLARED", f"nothing feeds {port.name!r}, so it becomes an input", hint=hint)
        return self._merge(port, place)

    def ports(self, report: problems.Report) -> tuple[definition.Port, ...]:
        """All inputs, once all of the file is in the report; a declared one that nothing uses is worth a warning."""
        self._read(report)
        for name in self._declared or ():
            if name not in self._used and self._section is not None:
                self._section.at(name, None).warn("INPUT_UNUSED", f"no block uses the input {name!r}")
        return tuple(self._found.values())

    def use(self, name: str) -> definition.Port | None:
        """An existing input, for an output that hands it through."""
        self._used.add(name)
        return self._found.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(self._found)

    def _read(self, report: problems.Report) -> None:
        """What expressions read as `run.inputs.NAME` is used, and has to be there."""
        for one in report.run_reads:
            if one.name is None:
                self._used.update(self._found)
            elif one.name in self._found:
                self._used.add(one.name)
            else:
                hint = suggest.near(one.name, self._found, otherwise="declare it under the file's `inputs`")
                message = f"the workflow has no input {one.name[:80]!r}"
                report.error_within(one.path, "UNKNOWN_INPUT", message, one.position, hint=hint)

    def _fitting(self, found: definition.Port, port: definition.Port, place: cursor.Cursor) -> definition.Port | None:
        why = None if found.schema == port.schema else schema.fits(found.schema, port.schema)
        if why is not None:
            place.problem("TYPE_MISMATCH", f"inputs.{port.name} does not fit this port: {why}")
            return None
        return found

    def _merge(self, wanted: definition.Port, place: cursor.Cursor) -> definition.Port | None:
        known = self._found.get(wanted.name)
        if known is None:
            self._found[wanted.name] = wanted
            return wanted
        merged = _both(known, wanted)
        if merged is None:
            hint = "name the inputs apart with `from: inputs.NAME`, or declare the input"
            place.problem("INPUT_CONFLICT", f"two ports want different values as inputs.{wanted.name}", hint=hint)
            return None
        self._found[wanted.name] = merged
        return merged


def _both(known: definition.Port, wanted: definition.Port) -> definition.Port | None:
    """One input for two ports: a value has to fit both."""
    if "json" not in (known.kind, wanted.kind) and known.kind != wanted.kind:
        return None
    combined = _all_of(known.schema, wanted.schema)
    if combined is None:
        return None
    return replace(
        known,
        schema=combined,
        kind=known.kind if known.kind != "json" else wanted.kind,
        required=known.required or wanted.required,
        description=known.description or wanted.description,
    )


def _all_of(known: JsonObject, wanted: JsonObject) -> JsonObject | None:
    """The schema of values that fit both; None when there are none, or when too many ports have something to say."""
    if known == wanted or not wanted:
        return known
    if not known:
        return wanted
    so_far = known.get(_TOGETHER)
    # What has references is one part: they mean something in there only.
    joined = isinstance(so_far, list) and len(known) == 1 and composition.plain(known)
    parts = cast("list[JsonObject]", so_far) if joined else [known]
    if wanted in parts:
        return known
    if len(parts) == _MOST_PORTS or any(_apart(part, wanted) for part in parts):
        return None
    return composition.together([*parts, wanted])


def _apart(one: JsonObject, other: JsonObject) -> bool:
    """Whether no value can fit both schemas."""
    return schema.fits(one, other) is not None and schema.fits(other, one) is not None
