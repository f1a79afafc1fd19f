"""What the facts of a live graph do to it: letters come in, turns begin and end, nodes and edges come and go."""

from __future__ import annotations

from typing import assert_never, cast

from openskelo.kernel import codec, definition, events, graph_events, inbox, places
from openskelo.kernel.json import JsonObject, Stored
from openskelo.kernel.run import NodeState, Run


def apply(run: Run, event: graph_events.GraphEvent) -> None:
    """Make a fact of a live graph part of it."""
    live = cast("inbox.Live", run.live)
    match event:
        case graph_events.NodeAdded():
            live.inboxes[event.node] = inbox.Inbox()
            live.touching[event.node] = {}
            run.nodes[event.node] = NodeState(key=event.node, waiting=0)
            _define(run, event)
        case graph_events.NodeChanged():
            _define(run, event)
        case graph_events.NodeRemoved():
            _forget(run, live, event.node)
        case graph_events.EdgeAdded():
            live.channels[event.edge] = inbox.Channel(
                id=event.edge,
                source=event.source,
                target=event.target,
                bidirectional=event.bidirectional,
                type=event.type,
                label=event.label,
            )
            live.touching[event.source][event.edge] = live.touching[event.target][event.edge] = None
        case graph_events.EdgeRemoved():
            channel = live.channels.pop(event.edge)
            del live.touching[channel.source][event.edge]
            del live.touching[channel.target][event.edge]
        case graph_events.MessageReceived():
            letter = inbox.Letter(id=event.message_id, at=event.at, content=event.content, role=event.role, by=event.by)
            _receive(run, live, event.node, letter, interrupt=event.interrupt)
        case graph_events.HandoffSent():
            said = live.inboxes[event.node].said or {"value": {}}
            letter = inbox.Letter(id=event.handoff_id, at=event.at, content=said, source=event.node, edge=event.edge)
            _receive(run, live, event.to, letter)
        case _:
            assert_never(event)


def _define(run: Run, event: graph_events.NodeAdded | graph_events.NodeChanged) -> None:
    node = codec.decode_node(event.definition)
    cast("dict[str, definition.Node]", run.workflow.nodes)[event.node] = node
    if places.needs_resolution(run, node):
        run.resolves |= {event.node}
    else:
        run.resolves -= {event.node}


def _forget(run: Run, live: inbox.Live, key: str) -> None:
    node = run.nodes.pop(key)
    del cast("dict[str, definition.Node]", run.workflow.nodes)[key]
    del live.inboxes[key], live.touching[key]
    live.gone.add(key)
    run.resolves -= {key}
    run.ready.pop(key, None)
    run.resolving.pop(key, None)
    _stop_waiting(run, node)


def _stop_waiting(run: Run, node: NodeState) -> None:
    """The node's next attempt, if it waits for its time, will not come."""
    if node.slots and node.slots[0].state == "waiting":
        run.backing_off -= 1
        run.timers = sorted(timer for timer in run.timers if timer[1] != node.key)  # a sorted list is a heap


def _receive(run: Run, live: inbox.Live, key: str, letter: inbox.Letter, *, interrupt: bool = False) -> None:
    node, box = run.nodes[key], live.inboxes[key]
    box.letters.append(letter)
    unheard = node.status == "resolving" or (node.status == "ready" and not node.slots[0].attempt)
    if unheard and not node.granted:
        box.taken = len(box.letters)  # the turn has not begun, and nobody was asked about it: it reads this, too
    elif interrupt and node.status == "active" and node.slots[0].state in ("waiting", "ready"):
        _stop_waiting(run, node)
        cut(run, node, letter.at)
    else:
        _wake(run, live, node, letter.at)


def _wake(run: Run, live: inbox.Live, node: NodeState, at: int) -> None:
    """Begin a turn if the node is idle and something waits for it."""
    box = live.inboxes[node.key]
    if not box.letters or node.status not in ("waiting", "done"):
        return
    node.outcome = node.outputs = node.inputs = node.error = None
    node.running = node.done_slots = 0
    node.granted = node.edited = False
    box.taken = len(box.letters)
    places.enter(run, node, at)


def _close(run: Run, node: NodeState, box: inbox.Inbox, said: Stored | None) -> None:
    """The turn is over, and what it was about is read."""
    box.session.append(inbox.Exchange(letters=box.turn(), outputs=said))
    for _ in range(box.taken):
        box.letters.popleft()
    box.taken = 0
    node.status = "done"
    run.ready.pop(node.key, None)
    run.resolving.pop(node.key, None)


def succeeded(run: Run, node: NodeState, event: events.AttemptSucceeded) -> None:
    """The turn is done; the next one begins if something has come meanwhile, unless this one is held."""
    live = cast("inbox.Live", run.live)
    box = live.inboxes[node.key]
    box.repeated = repeated(box, event)
    _close(run, node, box, event.outputs)
    box.said = event.outputs
    node.outcome = "succeeded"
    node.outputs = event.outputs
    if box.held is None:
        _wake(run, live, node, event.at)
    else:
        node.status = "asking"


def failed(run: Run, node: NodeState, error: JsonObject, at: int) -> None:
    """The turn came to nothing, or is not to be handed on; the node waits for something new."""
    live = cast("inbox.Live", run.live)
    box = live.inboxes[node.key]
    if box.held is None:
        _close(run, node, box, None)
    node.status, box.held = "done", None
    node.outcome = "failed"
    node.error = error
    _wake(run, live, node, at)


def cut(run: Run, node: NodeState, at: int) -> None:
    """The turn was interrupted: the next one reads what it was about, and what has come since."""
    live = cast("inbox.Live", run.live)
    live.inboxes[node.key].taken = 0
    node.status = "done"
    node.outcome = "cancelled"
    run.resolving.pop(node.key, None)
    run.ready.pop(node.key, None)
    _wake(run, live, node, at)


def held(run: Run, event: events.RunStalled) -> None:
    """The turn that lands next is not handed on before a person has said so. Other stalls hold nothing."""
    edges = event.evidence.get("edges")
    if run.live is not None and edges is not None:
        run.live.inboxes[event.node].held = tuple(cast("list[str]", edges))


def let_go(run: Run, node: NodeState, at: int) -> bool:
    """A person has said that the node shall go on; whether it was a turn that was held."""
    box = None if run.live is None else run.live.inboxes[node.key]
    if run.live is None or box is None or box.held is None:
        return False
    box.held, box.repeated = None, ("", 0)
    node.status = "done"
    _wake(run, run.live, node, at)
    return True


def repeated(box: inbox.Inbox, landed: events.AttemptSucceeded) -> tuple[str, int]:
    """What the turn comes to, and how often in a row the node has come to it without a person asking."""
    came_to = cast("str", landed.receipt["output_hash"])
    if box.is_asked():
        return "", 0
    before, count = box.repeated
    return came_to, count + 1 if before == came_to else 1
