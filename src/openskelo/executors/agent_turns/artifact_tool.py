"""The tool `read_artifact`, with which an agent reads what its run has kept: diffs, prompts, logs, context packs.

It reads only artifacts of its own run. Secrets were taken out of them before they were kept.
"""

from __future__ import annotations

from openskelo.agents.server import toolbox
from openskelo.executors import artifacts
from openskelo.kernel.json import Json, JsonObject

#: How many characters one call returns.
_PAGE = 64 * 1024
#: How many names are listed for an agent that asks for an artifact that is not there: the newest.
_MAX_NAMES = 100


def read_artifact_tool(index: artifacts.ArtifactIndex, run_id: str) -> toolbox.Tool:
    """Return the tool for the agents of one run."""

    async def read(arguments: JsonObject) -> Json:
        reference, offset = str(arguments["artifact"]), arguments.get("offset", 0)
        assert isinstance(offset, int)  # noqa: S101 -- the schema says so
        data = await index.read(run_id, reference)
        if data is None:
            names = (await index.names(run_id))[-_MAX_NAMES:]
            raise toolbox.ToolFailed(
                f"this run has no artifact {reference!r}; it has: {', '.join(names) or 'none yet'}"
            )
        text = data.decode("utf-8", "replace")
        page = text[offset : offset + _PAGE]
        rest = len(text) - offset - len(page)
        return page if rest <= 0 else f"{page}\n… {rest} characters follow: offset {offset + len(page)}"

    return toolbox.Tool(
        name="read_artifact",
        description=(
            "Read a file that this run has kept, such as the diff or the log of another node. Name it by its reference "
            "`artifact://ID`, or as `NODE:NAME`, such as `draft:diff.patch`. A wrong name lists what is there."
        ),
        schema={
            "type": "object",
            "properties": {
                "artifact": {"type": "string", "minLength": 1, "maxLength": 1000},
                "offset": {"type": "integer", "minimum": 0, "maximum": 2**31},
            },
            "required": ["artifact"],
            "additionalProperties": False,
        },
        call=read,
    )
