"""New empty containers for fields, whatever they are to hold.

`list[str]` would say more in types, and takes fifteen times as long to make one as `list`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

a_list: Callable[[], list[Any]] = list
a_dict: Callable[[], dict[Any, Any]] = dict
an_ordered_dict: Callable[[], OrderedDict[Any, Any]] = OrderedDict
a_set: Callable[[], set[Any]] = set
a_deque: Callable[[], deque[Any]] = deque
