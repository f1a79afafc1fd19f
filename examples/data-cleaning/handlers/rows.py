"""Rows of a CSV file: split, then cleaned one by one. Both functions look at why they are called again."""

from __future__ import annotations

import csv
import io
from typing import cast

from openskelo import Context


def parse(ctx: Context) -> dict[str, object]:
    """The rows, split at commas, or at semicolons when commas did not give the right columns."""
    delimiter = "," if ctx.feedback is None else ";"
    rows = list(csv.DictReader(io.StringIO(str(ctx.inputs["content"])), delimiter=delimiter))
    ctx.log("parsed", rows=len(rows), delimiter=delimiter)
    return {"rows": [{key: value for key, value in row.items() if isinstance(value, str)} for row in rows]}


def clean(ctx: Context) -> dict[str, object]:
    """One person. A date that was refused as it stands is read as day/month/year."""
    row = cast("dict[str, str]", ctx.inputs["row"])
    joined = row["joined"].strip()
    if ctx.feedback is not None and joined.count("/") == 2:
        day, month, year = joined.split("/")
        joined = f"{year}-{month}-{day}"
    return {"person": {"name": row["name"].strip(), "email": row["email"].strip().lower(), "joined": joined}}
