"""Values are frozen dataclasses in everything but the time they take."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import cast

import pytest

from openskelo.frozen import frozen


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
