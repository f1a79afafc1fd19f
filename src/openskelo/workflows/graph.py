"""What follows what: order, cycles, and reach over the nodes of a workflow, without recursion."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

Sources = Mapping[str, Sequence[str]]


def successors(sources: Sources) -> dict[str, list[str]]:
    """For each node those that depend on it directly, in workflow order."""
    after: dict[str, list[str]] = {key: [] for key in sources}
    for key, before in sources.items():
        for source in dict.fromkeys(before):
            after[source].append(key)
    return after


def order(sources: Sources) -> tuple[str, ...]:
    """The nodes so that each comes after its sources, else in the order written; nodes on a cycle are left out."""
    waiting = {key: len(set(before)) for key, before in sources.items()}
    after = successors(sources)
    ready = deque(key for key, count in waiting.items() if count == 0)
    done: list[str] = []
    while ready:
        key = ready.popleft()
        done.append(key)
        for follower in after[key]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    return tuple(done)


def cycle(sources: Sources) -> tuple[str, ...]:
    """One cycle, in the direction of the data, from its first node as written; empty when there is none."""
    sorted_out = set(order(sources))
    left = [key for key in sources if key not in sorted_out]
    if not left:
        return ()
    # Every node left over has a source left over: walking backwards must come round.
    remaining = set(left)
    walked: dict[str, int] = {}
    trail: list[str] = []
    at = left[0]
    while at not in walked:
        walked[at] = len(trail)
        trail.append(at)
        at = next(source for source in sources[at] if source in remaining)
    found = trail[walked[at] :][::-1]
    position = {key: index for index, key in enumerate(sources)}
    first = min(range(len(found)), key=lambda index: position[found[index]])
    return (*found[first:], *found[:first])


def reach(starts: Iterable[str], neighbours: Mapping[str, Sequence[str]]) -> set[str]:
    """The starts and everything that can be reached from them."""
    seen = set(starts)
    todo = list(seen)
    while todo:
        for neighbour in neighbours[todo.pop()]:
            if neighbour not in seen:
                seen.add(neighbour)
                todo.append(neighbour)
    return seen
