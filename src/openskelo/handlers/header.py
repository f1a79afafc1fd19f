"""Which headers a request may bring along; the rest belongs to the transport, or cannot be sent."""

from __future__ import annotations

import re

#: Set by the transport; another value would make two readers of the same request disagree.
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~]*")
HINT = "headers are printable ASCII; Host and the like are set for you"


def can_be_set(name: str, value: str) -> bool:
    """Whether a request may have this header."""
    return name.lower() not in _OURS and _NAME.fullmatch(name) is not None and _VALUE.fullmatch(value) is not None
