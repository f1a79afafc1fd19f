"""Whether values keep a node's contract: its ports, compiled once, and each way in which values break them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from openskelo import errors
from openskelo.executors import artifacts
from openskelo.handlers import place
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import composition, schema

_ARTIFACT = re.compile(r"artifact://[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Ports:
    """A node's inputs or outputs as one compiled contract.

    `word` is `input` or `output`. With `roots`, the path of a `file` port must lead into one of them. `free`: other
    values than those of the ports may be there, too.
    """

    __slots__ = (
        "_ports",
        "_roots",
        "_singly",
        "_special",
        "_whole",
        "_word",
        "artifacts",
        "defaults",
        "holds",
        "schema",
    )

    def __init__(
        self, ports: Sequence[definition.Port], word: str, roots: Sequence[Path] | None, *, free: bool = False
    ) -> None:
        self._ports = {port.name: port for port in ports}
        self._singly: dict[str, schema.Schema] = {}
        self._word = word
        self._roots = roots
        self._special = tuple(port for port in ports if port.kind != "json")
        self.artifacts = tuple(port.name for port in ports if port.kind == "artifact")
        self.schema = _object(ports)
        self.defaults = {port.name: port.default for port in ports if port.has_default}
        self._whole = schema.compile({} if free else self.schema)
        #: Whether values keep the contract; of those for which it says no, `problems` knows more.
        self.holds: Callable[[JsonObject], bool] = (
            anything if free else _look_closer if self._special else self._whole.holds
        )

    def problems(self, values: JsonObject, where: place.Place) -> tuple[str, ...]:
        """Every way in which `values` break the contract, in words that hold no value; empty when they keep it."""
        if found := self._whole.check(values):
            return self._explain(values) or tuple(violation.message for violation in found)
        if self._special:
            return tuple(
                said for port in self._special if port.name in values for said in self._refer(port, values, where)
            )
        return ()

    async def unkept(self, values: JsonObject, known: artifacts.Known, run_id: str | None = None) -> list[str]:
        """What is wrong with `values` (of a node of `run_id`) that keep the contract, but name artifacts nobody has."""
        named = [(name, values.get(name)) for name in self.artifacts]
        return [
            f"{self._word} {name!r}: there is no such artifact"
            for name, value in named
            if isinstance(value, str) and not (_ARTIFACT.fullmatch(value) and await known.has(value, run_id))
        ]

    def holds_of(self, name: str) -> Callable[[Json], bool]:
        """As `holds`, for the value of one port when all others are known to be right."""
        return self._alone(name).holds if self._ports[name].kind == "json" else _look_closer

    def problems_of(self, name: str, value: Json, where: place.Place) -> tuple[str, ...]:
        """As `problems`, for one port whose value is there and when all others are known to be right."""
        port = self._ports[name]
        if self._alone(name).holds(value):
            return tuple(self._refer(port, {name: value}, where)) if port.kind != "json" else ()
        return tuple(self._broken(name, value))

    def _explain(self, values: JsonObject) -> tuple[str, ...]:
        """What is wrong with values that break the contract, port by port."""
        said = [
            f"{self._word} {name!r} is required and missing"
            for name, port in self._ports.items()
            if port.required and name not in values
        ]
        said += [f"{self._word} {name!r} is not declared" for name in values if name not in self._ports]
        broken = (self._broken(name, value) for name, value in values.items() if name in self._ports)
        said += itertools.islice(itertools.chain.from_iterable(broken), schema.MAX_VIOLATIONS)
        return tuple(said)

    def _broken(self, name: str, value: Json) -> list[str]:
        return [self._say(name, violation) for violation in self._alone(name).check(value)]

    def _alone(self, name: str) -> schema.Schema:
        """The compiled schema of one port."""
        one = self._singly.get(name)
        if one is None:
            one = self._singly[name] = schema.compile(self._ports[name].schema)
        return one

    def _say(self, name: str, violation: schema.Violation) -> str:
        return f"{self._word} {name!r}{' at ' + violation.path if violation.path else ''}: {violation.message}"

    def _refer(self, port: definition.Port, values: JsonObject, where: place.Place) -> list[str]:
        """What is wrong with a value that refers to a file or an artifact."""
        value: Json = values[port.name]
        if not isinstance(value, str):
            return [] if value is None and not port.required else [f"{self._word} {port.name!r}: not a reference"]
        if port.kind == "artifact":
            return (
                [] if _ARTIFACT.fullmatch(value) else [f"{self._word} {port.name!r}: not of the form artifact://<uuid>"]
            )
        try:
            path = place.absolute(value, where) if self._roots is None else place.confined(value, self._roots, where)[0]
            exists = path.is_file()
        except errors.AttemptFailed as error:
            return [f"{self._word} {port.name!r}: {error.message}"]
        except OSError as error:
            return [f"{self._word} {port.name!r}: {error.strerror}"]
        return [] if exists else [f"{self._word} {port.name!r}: there is no such file"]


def anything(_value: Json) -> bool:
    """What holds of every value."""
    return True


def _look_closer(_value: Json) -> bool:
    """What is said of a value that refers to something: whether that is there, no schema knows."""
    return False


def _object(ports: Sequence[definition.Port]) -> JsonObject:
    required: list[Json] = [port.name for port in ports if port.required]
    return composition.composed(
        {port.name: port.schema for port in ports}, {"required": required, "additionalProperties": False}
    )
