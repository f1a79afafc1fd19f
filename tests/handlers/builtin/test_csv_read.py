"""`builtin:csv-read`: rows, columns and count, and every way in which it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import load
from tests.executors import workshop


def read(root: Path, inputs: dict[str, Json], **config: Json) -> outcome.Outcome:
    node = definition.Node(
        key="read",
        mode="deterministic",
        handler="builtin:csv-read",
        inputs=(workshop.port("where", required=False),),
        outputs=(workshop.port("rows"), workshop.port("columns"), workshop.port("count")),
        config=config,
    )
    return workshop.outcome_of(workshop.project(root), workshop.task_of(node, inputs))


@pytest.mark.parametrize(
    ("content", "config", "rows", "columns"),
    [
        ("a,b\n1,2\n3,4\n", {}, [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}], ["a", "b"]),
        ("\ufeffa,b\r\n1,2\r\n", {}, [{"a": "1", "b": "2"}], ["a", "b"]),
        ('a\n"x, ""y""\nz"\n', {}, [{"a": 'x, "y"\nz'}], ["a"]),
        ("a;b\n1;2", {"delimiter": ";"}, [{"a": "1", "b": "2"}], ["a", "b"]),
        ("a\n\n1\n\n", {}, [{"a": "1"}], ["a"]),
        ("a,b\n", {}, [], ["a", "b"]),
        ("1,2\n3\n", {"header": False}, [["1", "2"], ["3"]], []),
        ("", {"header": False}, [], []),
        ("a\n1\n2\n", {"max_rows": 2, "max_bytes": 6}, [{"a": "1"}, {"a": "2"}], ["a"]),
    ],
)
def test_it_gives_rows_columns_and_count(
    tmp_path: Path, content: str, config: dict[str, Json], rows: list[Json], columns: list[Json]
) -> None:
    (tmp_path / "a.csv").write_text(content, newline="")
    expected = {"value": {"rows": rows, "columns": columns, "count": len(rows)}}
    assert read(tmp_path, {}, path="a.csv", **config).outputs == expected
    assert read(tmp_path, {"where": "a.csv"}, path_from="where", **config).outputs == expected


@pytest.mark.parametrize(
    ("content", "config", "code"),
    [
        (b"", {}, "DET_CSV_INVALID"),
        (b"a,a\n1,2\n", {}, "DET_CSV_INVALID"),
        (b"a,b\n1\n", {}, "DET_CSV_INVALID"),
        (b"a\n1,2\n", {}, "DET_CSV_INVALID"),
        (b'a\n"open\n', {}, "DET_CSV_INVALID"),
        (b"a\n\xff\n", {}, "DET_DECODE_FAILED"),
        (b"a\n1\n2\n", {"max_rows": 1}, "DET_TOO_LARGE"),
        (b"a\n1\n2\n", {"max_bytes": 5}, "DET_TOO_LARGE"),
        (b"a\n", {"delimiter": ",,"}, "DET_CONFIG_INVALID"),
        (b"a\n", {"delimiter": '"'}, "DET_CONFIG_INVALID"),
        (b"a\n", {"colour": "red"}, "DET_CONFIG_INVALID"),
    ],
)
def test_it_refuses_what_is_no_table_or_too_large(
    tmp_path: Path, content: bytes, config: dict[str, Json], code: str
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    found = read(tmp_path, {}, path="a.csv", **config)
    assert (found.outputs, workshop.code_of(found)) == (None, code)
    assert found.failure is not None
    assert not found.failure.retryable


@pytest.mark.parametrize(
    ("where", "code"),
    [("none.csv", "DET_READ_FAILED"), ("../a.csv", "DET_PATH_INVALID"), (".skelo/a.csv", "DET_PATH_INVALID")],
)
def test_a_path_from_data_stays_inside_the_project(tmp_path: Path, where: str, code: str) -> None:
    (tmp_path / ".skelo").mkdir()
    (tmp_path / ".skelo" / "a.csv").write_text("a\n")
    assert workshop.code_of(read(tmp_path, {"where": where}, path_from="where")) == code


def test_the_loader_knows_its_config_outputs_and_effect(tmp_path: Path) -> None:
    good: JsonObject = {
        "name": "table",
        "blocks": [
            {
                "id": "read",
                "mode": "deterministic",
                "deterministic": {"handler": "builtin:csv-read", "config": {"path": "a.csv"}},
                "outputs": {"rows": "object[]", "count": "integer"},
            }
        ],
    }
    workflow = load.from_document(good, root=tmp_path, file="w.yaml")
    assert workflow.nodes["read"].effect == "pure"
