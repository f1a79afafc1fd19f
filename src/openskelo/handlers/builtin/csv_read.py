"""`builtin:csv-read`: the rows of one CSV file, within limits on bytes and rows.

Codes: DET_CONFIG_INVALID, DET_PATH_INVALID, DET_READ_FAILED, DET_TOO_LARGE, DET_DECODE_FAILED, DET_CSV_INVALID.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from openskelo import errors
from openskelo.handlers import builtin, context, file_access, file_path
from openskelo.kernel.json import Json, JsonObject

_MAX_BYTES = 4 * 1024 * 1024
_MAX_ROWS = 10_000


async def run(ctx: context.Context, access: file_access.Access) -> JsonObject:
    """Return `rows`, `columns` and `count`: rows are objects by column, or lists of texts without a header."""
    builtin.check_config(HANDLER, ctx.config)
    _, data = file_path.read_bytes(ctx, access, builtin.number(ctx.config, "max_bytes", _MAX_BYTES))
    text = _decode(data, builtin.text(ctx.config, "encoding") or "utf-8")
    lines = _parse(text, builtin.text(ctx.config, "delimiter") or ",")
    columns: list[str] = []
    if ctx.config.get("header", True) is True:
        columns = _header(lines)
    max_rows = builtin.number(ctx.config, "max_rows", _MAX_ROWS)
    rows: list[Json] = []
    for number, cells in lines:
        if len(rows) == max_rows:
            raise errors.AttemptFailed(
                f"the file has more than {max_rows} rows",
                code="DET_TOO_LARGE",
                hint="raise `max_rows`",
                retryable=False,
            )
        rows.append(_row(columns, cells, number) if columns else list[Json](cells))
    return {"rows": rows, "columns": list[Json](columns), "count": len(rows)}


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")  # the byte order mark that spreadsheets write
    except UnicodeDecodeError as error:
        raise errors.AttemptFailed(
            f"the file is not {encoding} (at byte {error.start})",
            code="DET_DECODE_FAILED",
            hint="set `encoding` to latin-1",
            retryable=False,
        ) from error


def _parse(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the number of its last line (AttemptFailed DET_CSV_INVALID)."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise _invalid(reader.line_num, str(error)) from error


def _header(lines: Iterator[tuple[int, list[str]]]) -> list[str]:
    number, columns = next(lines, (1, list[str]()))
    if not columns:
        raise _invalid(number, "the file is empty, and has no header")
    duplicate = next((name for name in columns if columns.count(name) > 1), None)
    if duplicate is not None:
        raise _invalid(number, f"two columns are called {duplicate[:60]!r}")
    return columns


def _row(columns: list[str], cells: list[str], number: int) -> JsonObject:
    if len(cells) != len(columns):
        raise _invalid(number, f"the row has {len(cells)} cells, and the header has {len(columns)}")
    return dict(zip(columns, cells, strict=True))


def _invalid(line: int, reason: str) -> errors.AttemptFailed:
    return errors.AttemptFailed(
        f"line {line}: {reason}",
        code="DET_CSV_INVALID",
        hint="check `delimiter` and `header`",
        retryable=False,
    )


def _check(block: builtin.BlockCheck) -> None:
    file_path.check(block, "path")


#: More of the reference, after the table of its keys.
_DOC = """\
One of `path` and `path_from` is needed. Outputs: `rows` (objects by column; without a header lists of texts),
`columns` (empty without a header), `count`. Cells are texts. With a header, every row must have as many cells as the
header.
Codes: `DET_CONFIG_INVALID`, `DET_PATH_INVALID`, `DET_READ_FAILED`, `DET_TOO_LARGE`, `DET_DECODE_FAILED`,
`DET_CSV_INVALID`.
"""

HANDLER = builtin.Handler(
    name="builtin:csv-read",
    summary="Reads the rows of one CSV file, within limits on bytes and rows.",
    config=builtin.config_schema(
        {
            "path": builtin.key(
                "which file; written by the author, with the fields of the template of `builtin:write-file`",
                builtin.TEXT,
            ),
            "path_from": builtin.key(
                "which file; a path from data stays inside the project, `read_roots` and `write_roots`", builtin.TEXT
            ),
            "delimiter": builtin.key("what separates cells", {"type": "string", "pattern": r'^[^"\r\n]$'}, default=","),
            "header": builtin.key("the first row names the columns", builtin.FLAG, default=True),
            "encoding": builtin.key("how bytes become text", {"enum": ["utf-8", "ascii", "latin-1"]}, default="utf-8"),
            "max_bytes": builtin.key("the largest file", builtin.COUNT, default=_MAX_BYTES),
            "confined": builtin.key(
                (
                    "`path`, too, stays inside the project, `read_roots` and `write_roots`; always so in "
                    "a document that is sent to a server"
                ),
                builtin.FLAG,
                default=False,
            ),
            "max_rows": builtin.key("the most rows, the header not counted", builtin.COUNT, default=_MAX_ROWS),
        },
        anyOf=[{"required": ["path"]}, {"required": ["path_from"]}],
    ),
    run=run,
    outputs={
        "rows": {"type": "array", "items": {"type": ["object", "array"]}},
        "columns": {"type": "array", "items": {"type": "string"}},
        "count": {"type": "integer"},
    },
    effect="pure",
    check=_check,
    uncacheable="a later run would not see what is in the file by then",
    doc=_DOC,
)
