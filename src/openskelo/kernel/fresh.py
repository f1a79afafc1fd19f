"""New empty containers for fields, whatever they are to hold.

`list[str]` would say more in types, and takes fifteen times as long to make one as `list`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, cast

a_list: Callable[[], list[Any]] = list
a_dict: Callable[[], dict[Any, Any]] = dict
an_ordered_dict: Callable[[], OrderedDict[Any, Any]] = OrderedDict
a_set: Callable[[], set[Any]] = set
a_deque: Callable[[], deque[Any]] = deque
#: In the place of a list that nothing is put into before another takes its place: the same for all, and never changed.
NO_LIST: list[Any] = cast("list[Any]", ())
