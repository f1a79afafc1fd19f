"""What a turn of a live graph is given: its letters in the order they came and, for a model, the turns before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from openskelo.contract import envelope
from openskelo.executors import keeping
from openskelo.kernel import definition, inbox
from openskelo.kernel.json import Json, JsonObject
from openskelo.kernel.run import Run


async def materialise(blobs: keeping.Blobs, run: Run, node: definition.Node) -> dict[str, Json]:
    """The inputs of the node's turn; what a person has edited takes the place of what came."""
    live = cast("inbox.Live", run.live)
    box = live.inboxes[node.key]
    values = await _letters(blobs, run, live, box.turn())
    if node.mode == "ai":
        values["earlier"] = [await _exchange(blobs, run, live, one) for one in box.session]
    edited = run.nodes[node.key].inputs
    if edited is not None:
        values.update(cast("JsonObject", await keeping.load(blobs, edited)))
    return values


async def _exchange(blobs: keeping.Blobs, run: Run, live: inbox.Live, one: inbox.Exchange) -> JsonObject:
    return {**await _letters(blobs, run, live, one.letters), "outputs": await keeping.load(blobs, one.outputs)}


async def _letters(
    blobs: keeping.Blobs, run: Run, live: inbox.Live, letters: Iterable[inbox.Letter]
) -> dict[str, Json]:
    messages: list[Json] = []
    handoffs: list[Json] = []
    for position, letter in enumerate(letters):
        common: JsonObject = {"position": position, "id": letter.id, "at": envelope.timestamp(letter.at)}
        content = await keeping.load(blobs, letter.content)
        if not letter.source:
            messages.append({**common, "role": letter.role, "by": letter.by, "content": content})
            continue
        sender, channel = run.workflow.nodes.get(letter.source), live.channels.get(letter.edge)
        handoffs.append(
            {
                **common,
                "from": letter.source if sender is None else sender.label,
                "node": letter.source,
                "label": "" if channel is None else channel.label,
                "outputs": content,
            }
        )
    return {"messages": messages, "handoffs": handoffs}
