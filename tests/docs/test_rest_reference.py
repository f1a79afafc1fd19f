"""The page of the REST interface lists every request of the OpenAPI document, with its statuses, and no other."""

from __future__ import annotations

import json
import re

from tests.docs import page
from tests.repo import tracked

_ROW = re.compile(r"^\| `(?P<request>[A-Z]+ /\S+)` \| (?P<role>\w+) \| (?P<statuses>[\d, ]+) \|", re.MULTILINE)
#: Those that every request may have, which the page says once.
_EVERYWHERE = {"400", "401", "403", "422", "429", "500", "503"}


def test_page_lists_every_request_with_its_statuses() -> None:
    document = json.loads((tracked.ROOT / "tests" / "server" / "openapi.json").read_text("utf-8"))
    wanted = {
        f"{method.upper()} {path}": set(operation["responses"]) - _EVERYWHERE
        for path, found in document["paths"].items()
        for method, operation in found.items()
    }
    listed = {row["request"]: set(row["statuses"].split(", ")) for row in _ROW.finditer(page.text("rest.md"))}
    assert listed == wanted
    assert len(listed) > 25
