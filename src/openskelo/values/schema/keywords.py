"""The keywords of JSON Schema by what they hold: data, schemas by name, references, drafts.

`validator` and `composition` walk through schemas. Both must agree on what is a schema in there and what is not: a
property may be named `const`, and the value of `const` may look like a reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

#: The draft of a schema that does not name one.
DRAFT = "https://json-schema.org/draft/2020-12/schema"
#: The drafts that the library has built in. Any other `$schema` would have to be fetched, so it is refused.
_KNOWN_DRAFTS = frozenset(
    f"json-schema.org/{draft}/schema"
    for draft in ("draft/2020-12", "draft/2019-09", "draft-07", "draft-06", "draft-04")
)
#: Keywords that hold data: anything in them that looks like a schema is data, too.
DATA = frozenset({"const", "enum", "default", "examples"})
#: Keywords that hold schemas by name: a name in there is not a keyword.
NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})


def is_known_draft(identifier: str) -> bool:
    """True if `$schema` may have this value: the address of a known draft, with an empty fragment or without."""
    scheme, _, address = identifier.removesuffix("#").partition("://")
    return scheme in ("http", "https") and address in _KNOWN_DRAFTS


def child_values(schema: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield what a schema holds that may be or contain schemas, each with the names that lead to it from the schema."""
    for keyword, content in schema.items():
        if keyword in NAMED_SCHEMAS and isinstance(content, Mapping):
            for name, child in cast("Mapping[str, object]", content).items():
                yield (keyword, name), child
        elif keyword not in DATA:
            yield (keyword,), content
