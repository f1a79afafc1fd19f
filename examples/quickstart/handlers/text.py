"""The deterministic code of the digest: plain functions from inputs to outputs."""

from __future__ import annotations

import time
from typing import cast

from openskelo import Context


def tidy(ctx: Context) -> dict[str, object]:
    """One clean sentence of a note. The pause stands for real work, so that there is time to interrupt it."""
    time.sleep(float(str(ctx.config.get("seconds", 0))))
    words = " ".join(str(ctx.inputs["note"]).split())
    return {"line": words[0].upper() + words[1:] + "."}


def assemble(ctx: Context) -> dict[str, object]:
    """The title and the lines as Markdown."""
    lines = cast("list[str]", ctx.inputs["lines"])
    return {"text": "\n".join([f"# {ctx.inputs['title']}", "", *(f"- {line}" for line in lines), ""])}
