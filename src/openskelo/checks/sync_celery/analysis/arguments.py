"""The arguments of a call, and whether they set a time limit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from openskelo.checks.sync_celery import rules
from openskelo.checks.sync_celery.analysis import abstract_values as av


class Arguments(NamedTuple):
    """The arguments of a call; `keywords.open` is set if a `**NAME` may pass more than is known."""

    positional: tuple[av.Values, ...]
    keywords: av.Table

    def keyword(self, name: str) -> av.Values | None:
        """Return the values of a keyword argument; None if it is not there."""
        return dict(self.keywords.entries).get(name)

    def literal(self, place: int) -> object:
        """Return the literal at this place; None if there is none."""
        values = self.positional[place] if place < len(self.positional) else av.NOTHING
        only = next(iter(values)) if len(values) == 1 else None
        return only.value if isinstance(only, av.Constant) else None

    def text(self, place: int) -> str | None:
        """Return the literal text at this place; None if there is none."""
        literal = self.literal(place)
        return literal if isinstance(literal, str) else None

    def after(self, partial: av.Partial) -> Arguments:
        """Return the arguments of the function that a partial calls when it is called with these."""
        merged = av.table(
            [*partial.keywords.entries, *self.keywords.entries], open=partial.keywords.open or self.keywords.open
        )
        return Arguments((*partial.positional, *self.positional), merged)

    def partial(self) -> av.Values:
        """Return what `functools.partial` makes of these arguments."""
        if not self.positional:
            return av.UNKNOWN
        function, *rest = self.positional
        depth = 1 + max(map(av.depth_of, (*self.positional, *(values for _, values in self.keywords.entries))))
        if depth > av.MAX_DEPTH:
            return av.UNKNOWN
        return frozenset({av.Partial(function, tuple(rest), self.keywords, depth)})

    def split(self, place: int | None, name: str) -> tuple[av.Values, Arguments]:
        """Return the function that is passed at a place or by name, and the arguments it will get."""
        function = self.keyword(name) if name else None
        if function is None and place is not None and place < len(self.positional):
            function = self.positional[place]
        rest = [entry for entry in self.keywords.entries if entry[0] not in (name, "args", "kwargs", "kwds")]
        own = self.keyword("kwargs") or self.keyword("kwds") or av.NOTHING
        for value in own:
            rest += value.entries if isinstance(value, av.Table) else ()
        return function or av.NOTHING, Arguments((), av.table(rest, open=self.keywords.open))


class MissingLimit(NamedTuple):
    """The reason why a call has no time limit."""

    why: str
    #: An argument says so.
    switched_off: bool = False


def missing_limit(rule: rules.Limit, arguments: Arguments) -> MissingLimit | None:
    """Return why a call has no time limit; None if it has one."""
    if rule.never:
        return MissingLimit(f"has no time limit: {rule.never}")
    given = [values for name in rule.keywords if (values := arguments.keyword(name)) is not None]
    if rule.position is not None and rule.position < len(arguments.positional):
        given.append(arguments.positional[rule.position])
    if any(map(av.may_be_none, given)):
        return MissingLimit("may have no time limit: it is None here, or may be", switched_off=True)
    if rule.zero_is_none and any(av.constant(0) == values for values in given):
        return MissingLimit("has no time limit: 0 means none", switched_off=True)
    if given or rule.by_default or _in_text(rule, arguments):
        return None
    wanted = " or ".join(f"{name}=" for name in rule.keywords[:2])
    return MissingLimit(f"has no time limit ({wanted})")


def missing_part(rule: rules.Timeouts, arguments: Arguments) -> str | None:
    """Return why this set of time limits leaves something without one; None if it does not."""
    parts = [arguments.keyword(part) for part in rule.parts]
    whole = arguments.keyword(rule.whole) or (arguments.positional[0] if arguments.positional else None)
    if rule.whole == "timeout" and any(part is not None and av.may_be_none(part) for part in parts):
        return "leaves a part without a time limit"
    has_parts = all(part is not None and not av.may_be_none(part) for part in parts)
    has_whole = whole is not None and not av.may_be_none(whole)
    return None if has_parts or has_whole else "sets no time limit"


def _in_text(rule: rules.Limit, arguments: Arguments) -> bool:
    """True if a literal address or connection string sets the limit, as in `postgresql://db?connect_timeout=5`."""
    if rule.keywords == ("timeout",):
        return False
    texts = [value.value for values in _values(arguments) for value in values if isinstance(value, av.Constant)]
    names = "|".join(map(re.escape, rule.keywords))
    setting = re.compile(rf"(?<![\w])(?:{names})\s*=\s*'?0*[1-9]", re.IGNORECASE)
    return any(isinstance(text, str) and setting.search(text) for text in texts)


def _values(arguments: Arguments) -> Iterator[av.Values]:
    yield from arguments.positional[:1]
    for name in ("dsn", "conninfo", "url", "host", "uri"):
        yield arguments.keyword(name) or av.NOTHING


def sites(values: av.Values) -> set[tuple[int, int]]:
    """Return the sites of all objects among these values, also in lists."""
    found = set[tuple[int, int]]()
    for value in values:
        if isinstance(value, av.External | av.Object):
            found.add(value.site)
        elif isinstance(value, av.Items):
            found.update(site for element in value.elements for site in sites(element))
        elif isinstance(value, av.Table):
            found.update(site for _, entry in value.entries for site in sites(entry))
    return found
