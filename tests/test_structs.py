"""Values cannot be changed, compare by what they hold, and are as their class says."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from typing import cast

import pytest

from openskelo.structs import as_dict, field, fields, frozen, mutable, replace


@frozen
class Place:
    """A value with every kind of field."""

    name: str
    size: int = 1
    tags: list[str] = field(default_factory=list[str])

    def twice(self) -> str:
        return self.name * 2


@frozen
class Nothing:
    """A value without fields."""


@mutable
class Open:
    """What can be changed, made by place or by name."""

    first: int
    second: list[int] = field(default_factory=list[int])


def test_a_value_has_its_fields_defaults_and_methods() -> None:
    place = Place(name="a")
    assert as_dict(place) == {"name": "a", "size": 1, "tags": []}
    assert place.twice() == "aa"
    assert Place(name="a").tags is not place.tags


def test_the_fields_of_a_class_are_known() -> None:
    assert [tuple(one) for one in fields(Place)] == [
        ("name", "str", True, None),
        ("size", "int", False, 1),
        ("tags", "list[str]", False, []),
    ]
    assert fields(Nothing) == ()


@pytest.mark.parametrize("name", ["size", "other"])
def test_a_value_cannot_be_changed(name: str) -> None:
    place = Place(name="a")
    with pytest.raises(AttributeError):
        setattr(place, name, 2)
    with pytest.raises(AttributeError):
        delattr(place, name)
    assert place == Place(name="a")


def test_what_is_mutable_can_be_changed() -> None:
    opened = Open(1, [2])
    opened.first = 3
    assert opened == Open(3, second=[2])
    assert Open(1).second is not Open(1).second
    with pytest.raises(AttributeError):
        setattr(opened, "third", 4)  # noqa: B010  no such field is declared


def test_what_is_mutable_and_leads_back_to_itself_is_collected() -> None:
    class Watched:
        """Something of which one can see when it is gone."""

    @mutable
    class Ring:
        parts: list[object] = field(default_factory=list[object])
        watched: Watched | None = None

    ring = Ring()
    ring.parts.append(ring)
    ring.watched = Watched()
    watching = weakref.ref(ring.watched)
    del ring
    gc.collect()
    assert watching() is None


def test_values_are_equal_by_what_they_hold() -> None:
    assert Place(name="a") != Place(name="b")
    assert Nothing() == Nothing()
    assert Nothing() != Place(name="a")
    assert Place(name="a") != "a"


def test_equal_values_have_one_hash() -> None:
    @frozen
    class Point:
        x: int
        y: int = 0

    assert {Point(x=1), Point(x=1, y=0), Point(x=2)} == {Point(x=1), Point(x=2)}
    assert len({Nothing(), Nothing()}) == 1


def test_a_value_shows_what_it_holds() -> None:
    assert repr(Place(name="a")) == "Place(name='a', size=1, tags=[])"
    assert repr(Nothing()) == "Nothing()"


@pytest.mark.parametrize("arguments", [{}, {"name": "a", "other": 1}])
def test_a_value_takes_what_its_class_says(arguments: dict[str, object]) -> None:
    make = cast("Callable[..., Place]", Place)
    with pytest.raises(TypeError):
        make(**arguments)


def test_the_fields_of_a_value_are_given_by_name_only() -> None:
    make = cast("Callable[..., Place]", Place)
    with pytest.raises(TypeError):
        make("a")


def test_a_changed_copy_takes_the_rest_over() -> None:
    assert replace(Place(name="a", size=3), name="b") == Place(name="b", size=3)


def test_a_copy_is_equal_and_its_own() -> None:
    place = Place(name="a", tags=["x"])
    copied = copy.deepcopy(place)
    assert copied == place
    assert copied.tags is not place.tags
    assert copy.copy(place).tags is place.tags
