"""`skelo check trace-map` and `skelo check artifacts`: what they print and how they exit."""

from __future__ import annotations

from tests.checks import artifacts, trace_map
from tests.cli.conftest import Skelo


def test_a_trace_map_that_holds_passes(skelo: Skelo) -> None:
    path = trace_map.shop(skelo.folder)
    found = skelo("check", "trace-map", "trace_map.json", "--json")
    assert (found.code, found.document) == (0, trace_map.check(path).document())


def test_what_is_not_traced_is_a_line_for_people(skelo: Skelo) -> None:
    trace_map.shop(skelo.folder)
    skelo.write("src/node.ts", trace_map.NODE + "\n")
    found = skelo("check", "trace-map", "trace_map.json")
    assert (found.code, found.out.splitlines(), found.err) == (
        1,
        [
            "src/node.ts: the source has another hash",
            "src/node.ts:2: /name: the span is not in a source that is as the map says",
            "src/node.ts:3: /a~1b/0: the span is not in a source that is as the map says",
            "/name: it is not traced",
            "/a~1b/0: it is not traced",
        ],
        "4 fields, 1 traced, 1 assumed, 2 untraced, 3 broken\n",
    )


def test_schema_and_sources_can_be_elsewhere(skelo: Skelo) -> None:
    (skelo.folder / "all").mkdir()
    trace_map.shop(skelo.folder / "all")
    (skelo.folder / "all/trace_map.json").rename(skelo.folder / "map.json")
    assert skelo("check", "trace-map", "map.json", "--schema", "all/schema.json", "--sources", "all").code == 0


def test_what_is_no_trace_map_is_invalid_input(skelo: Skelo) -> None:
    trace_map.shop(skelo.folder)
    skelo.write("broken.json", "{")
    for arguments, code in (
        (("gone.json",), "PATH_NOT_FOUND"),
        (("broken.json",), "TRACE_MAP_INVALID"),
        (("schema.json",), "TRACE_MAP_INVALID"),
        (("trace_map.json", "--schema", "gone"), "PATH_NOT_FOUND"),
        (("trace_map.json", "--sources", "gone"), "PATH_NOT_FOUND"),
    ):
        found = skelo("check", "trace-map", *arguments, "--json")
        assert (found.code, found.document["error"]["code"]) == (2, code)


def test_artifacts_are_checked(skelo: Skelo) -> None:
    (skelo.folder / "one").mkdir()
    artifacts.write(skelo.folder / "one", [artifacts.step()])
    found = skelo("check", "artifacts", "one", "--json")
    assert (found.code, found.document["ok"], found.document["artifacts"]) == (0, True, 8)
    skelo.write("one/diff.patch", "another\n")
    found = skelo("check", "artifacts", "one")
    assert (found.code, found.out, found.err) == (
        1,
        "diff.patch: it has another hash\n",
        "8 artifacts, 0 missing, 1 broken\n",
    )
    found = skelo("check", "artifacts", "gone", "--json")
    assert (found.code, found.document["error"]["code"]) == (2, "PATH_NOT_FOUND")
