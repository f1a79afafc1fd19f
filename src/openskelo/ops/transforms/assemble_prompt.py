"""`assemble_prompt`: builds a prompt of a task, instructions and values."""

from __future__ import annotations

from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import transforms
from openskelo.values import fences, template


def _apply(args: JsonObject, written: JsonObject) -> Json:
    """Return the task, the instructions, then each of `refs` under its own heading and between fences, as data."""
    parts = [template.as_text(args[name]) for name in ("task", "instructions") if args.get(name) not in (None, "")]
    names = transforms.items(written.get("refs"))
    for number, value in enumerate(transforms.items(args.get("refs"))):
        name = names[number] if number < len(names) else None
        heading = name if isinstance(name, str) and name != value else f"part {number + 1}"
        parts.append(f"## {heading}\n\n{fences.fenced(value)}")
    return "\n\n".join(part.strip("\n") for part in parts)


TRANSFORM = transforms.Transform(
    name="assemble_prompt",
    summary=(
        "the task (the plan's input `task` when absent), the instructions, then each ref "
        "under its name, between fences that its text cannot close"
    ),
    args=transforms.args_schema({"refs": {"type": "array"}, "task": {}, "instructions": {}}),
    apply=_apply,
    default_args={"task": "input:task"},
)
