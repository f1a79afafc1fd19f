"""Where a run of a plan may go: from step to step, and round in circles."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.frozen import frozen
from openskelo.kernel import definition


@frozen
class Flow:
    """The steps of a plan and the ways between them; a retry's target is tried inside of the retry."""

    steps: Mapping[str, definition.Step]
    entry: str

    def exits(self, key: str) -> tuple[str, ...]:
        """The steps that may be entered when this one has landed, each once."""
        step = self.steps[key]
        if step.op == "emit":
            return ()
        found = [step.then, step.otherwise] if step.op == "branch" else [step.next, step.on_denied]
        if step.op == "retry" and step.target is not None:
            found.append(self.steps[step.target].on_denied)
        return tuple(dict.fromkeys(one for one in found if one is not None))

    def may_end(self, key: str) -> bool:
        """Whether the run may be over after this step, without anything having failed."""
        step = self.steps[key]
        return (step.then is None or step.otherwise is None) if step.op == "branch" else step.next is None

    def reachable(self) -> frozenset[str]:
        """The steps that may be entered by themselves."""
        found, queue = {self.entry}, [self.entry]
        for key in queue:  # grows while it is walked
            more = [one for one in self.exits(key) if one not in found]
            found.update(more)
            queue += more
        return frozenset(found)

    def tried(self) -> frozenset[str]:
        """The steps that a reachable retry tries."""
        targets = (self.steps[key].target for key in self.reachable() if self.steps[key].op == "retry")
        return frozenset(key for key in targets if key is not None)


def of(workflow: definition.Workflow) -> Flow:
    """The flow of a plan."""
    if workflow.plan is None:
        raise LookupError(f"{workflow.name} is no plan")
    steps = {key: node.step for key, node in workflow.nodes.items() if node.step is not None}
    return Flow(steps=steps, entry=workflow.plan.entry)


def components(flow: Flow, without: frozenset[str] = frozenset()) -> list[tuple[str, ...]]:
    """The reachable steps in groups that can reach each other, every group after those it leads to.

    `without` are steps that nothing passes through. Done without recursion: plans may be long.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    held: set[str] = set()
    found: list[tuple[str, ...]] = []
    for root in sorted(flow.reachable() - without):
        if root in index:
            continue
        work = [(root, iter(flow.exits(root)))]
        index[root] = low[root] = len(index)
        stack.append(root)
        held.add(root)
        while work:
            key, ways = work[-1]
            target = next((one for one in ways if one not in without), None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[key])
                if low[key] == index[key]:
                    found.append(_taken(stack, key))
                    held.difference_update(found[-1])
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                held.add(target)
                work.append((target, iter(flow.exits(target))))
            elif target in held:
                low[key] = min(low[key], index[target])
    return found


def _taken(stack: list[str], key: str) -> tuple[str, ...]:
    """Everything on the stack down to `key`, which leaves it."""
    group: list[str] = []
    while not group or group[-1] != key:
        group.append(stack.pop())
    return tuple(reversed(group))


def is_loop(flow: Flow, group: tuple[str, ...]) -> bool:
    """Whether a group of steps can be gone round."""
    return len(group) > 1 or any(key in flow.exits(key) for key in group)


def unbounded(flow: Flow) -> list[tuple[str, ...]]:
    """The loops on which no step says how often it may be entered."""
    bounded = frozenset(key for key, step in flow.steps.items() if step.max_visits is not None)
    return [group for group in components(flow, bounded) if is_loop(flow, group)]
