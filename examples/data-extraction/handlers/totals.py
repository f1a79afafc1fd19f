"""Arithmetic is not the model's business."""

from __future__ import annotations

from typing import Any


def handler(ctx: Any) -> dict[str, Any]:
    invoice = ctx.inputs["invoice"]
    added = sum(line["cents"] for line in invoice["lines"])
    ctx.log(f"lines add up to {added}, the total says {invoice['total_cents']}")
    return {"invoice": invoice, "difference": invoice["total_cents"] - added}
