"""Values are frozen dataclasses in everything but the time they take."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import cast

import pytest

from openskelo.frozen import frozen, maker, teller


@frozen
class Place:
    """A value with every kind of field."""

    name: str
    size: int = 1
    tags: list[str] = field(default_factory=list[str])
    note: str = field(default="-", compare=False, repr=False)
    made: str = field(default="here", init=False)


@frozen
class Nothing:
    """A value without fields."""


def test_a_value_has_its_fields_and_defaults() -> None:
    place = Place(name="a")
    assert [(one.name, getattr(place, one.name)) for one in fields(place)] == [
        ("name", "a"),
        ("size", 1),
        ("tags", []),
        ("note", "-"),
        ("made", "here"),
    ]
    assert Place(name="a").tags is not place.tags


@pytest.mark.parametrize("name", ["size", "other"])
def test_a_value_cannot_be_changed(name: str) -> None:
    place = Place(name="a")
    with pytest.raises(FrozenInstanceError):
        setattr(place, name, 2)
    with pytest.raises(FrozenInstanceError):
        delattr(place, name)
    assert place == Place(name="a")


def test_values_are_equal_by_what_is_compared() -> None:
    assert Place(name="a", note="x") == Place(name="a", note="y")
    assert Place(name="a") != Place(name="b")
    assert Nothing() == Nothing()
    assert Nothing() != Place(name="a")
    assert Place(name="a", note="x") != "a"


def test_equal_values_have_one_hash() -> None:
    @frozen
    class Point:
        x: int
        y: int = 0

    assert {Point(x=1), Point(x=1, y=0), Point(x=2)} == {Point(x=1), Point(x=2)}
    assert len({Nothing(), Nothing()}) == 1


def test_a_value_shows_what_it_holds() -> None:
    assert repr(Place(name="a", note="x")) == "Place(name='a', size=1, tags=[], made='here')"
    assert repr(Nothing()) == "Nothing()"


def test_fields_are_given_by_name_only() -> None:
    make = cast("Callable[..., Place]", Place)
    with pytest.raises(TypeError, match=r"Place\.__init__\(\) takes 1 positional argument"):
        make("a")
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'name'"):
        make()


def test_a_changed_copy_takes_the_rest_over() -> None:
    assert replace(Place(name="a", size=3), name="b") == Place(name="b", size=3)


def test_a_copy_is_equal_and_its_own() -> None:
    place = Place(name="a", tags=["x"])
    copied = copy.deepcopy(place)
    assert copied == place
    assert copied.tags is not place.tags
    assert copy.copy(place).tags is place.tags


@dataclass(slots=True)
class Open:
    """What can be changed, by place and by name."""

    first: int
    second: list[int] = field(default_factory=list[int])
    third: str = field(default="c", kw_only=True)


def test_a_maker_makes_what_the_class_makes() -> None:
    make_place, make_open, make_nothing = maker(Place), maker(Open), maker(Nothing)
    assert make_place(name="a", size=2, note="n") == Place(name="a", size=2, note="n")
    assert make_place(name="a").tags is not make_place(name="a").tags
    assert make_open(1, third="d") == Open(1, third="d")
    assert make_open(1, [2]) == Open(1, [2])
    assert make_nothing() == Nothing()


def test_what_a_maker_makes_is_as_frozen_as_its_class() -> None:
    place = maker(Place)(name="a")
    assert type(place) is Place
    with pytest.raises(FrozenInstanceError):
        setattr(place, "size", 2)  # noqa: B010  the type checker knows that it cannot be
    opened = maker(Open)(1)
    opened.first = 2
    assert opened == Open(2)


@pytest.mark.parametrize("arguments", [{}, {"name": "a", "other": 1}, {"name": "a", "made": "there"}])
def test_a_maker_takes_what_the_class_takes(arguments: dict[str, object]) -> None:
    make = cast("Callable[..., Place]", maker(Place))
    with pytest.raises(TypeError):
        make(**arguments)


@frozen
class Told:
    """A value of which part may be missing."""

    at: int
    node_key: str
    item: int | None = None
    why: str | None = None


def test_a_teller_leaves_out_what_is_none_and_what_has_no_name() -> None:
    tell = teller(Told, {"node_key": "nodeKey", "item": "item", "why": "why"})
    assert tell(Told(at=1, node_key="a")) == {"nodeKey": "a"}
    assert tell(Told(at=1, node_key="a", item=0, why="")) == {"nodeKey": "a", "item": 0, "why": ""}
