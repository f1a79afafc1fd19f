"""The control flow graph of a plan: which step may follow which, and which steps form loops.

A step has at most two successors: `next` and `on_denied`, or the two targets of a branch. A retry is one vertex of the
graph together with the step that it tries, because the tried step has no successors of its own while it is tried.
Every check of a plan, its estimate and its conversion to blocks walk this graph.
"""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.kernel import definition
from openskelo.structs import frozen


@frozen
class Flow:
    """The steps of a plan and the step at which a run starts."""

    steps: Mapping[str, definition.Step]
    entry: str

    def successors(self, key: str) -> tuple[str, ...]:
        """Return the steps that a run may enter after this one, without duplicates."""
        step = self.steps[key]
        if step.op == "emit":
            return ()
        targets = [step.then, step.otherwise] if step.op == "branch" else [step.next, step.on_denied]
        if step.op == "retry" and step.target is not None:
            targets.append(self.steps[step.target].on_denied)
        return tuple(dict.fromkeys(target for target in targets if target is not None))

    def may_end(self, key: str) -> bool:
        """True if the run may be over after this step without a failure."""
        step = self.steps[key]
        if step.op == "branch":
            return step.then is None or step.otherwise is None
        return step.next is None

    def reachable(self) -> frozenset[str]:
        """Return the steps that a run may enter; a step that is only tried by a retry is not among them."""
        reachable_keys = {self.entry}
        queue = [self.entry]
        for key in queue:  # the queue grows during the iteration
            new = [target for target in self.successors(key) if target not in reachable_keys]
            reachable_keys.update(new)
            queue += new
        return frozenset(reachable_keys)

    def retried(self) -> frozenset[str]:
        """Return the steps that a reachable retry tries."""
        targets = (self.steps[key].target for key in self.reachable() if self.steps[key].op == "retry")
        return frozenset(key for key in targets if key is not None)


def from_workflow(workflow: definition.Workflow) -> Flow:
    """Return the control flow graph of a plan. Raise LookupError if the workflow is not a plan."""
    if workflow.plan is None:
        raise LookupError(f"{workflow.name} is not a plan")
    steps = {key: node.step for key, node in workflow.nodes.items() if node.step is not None}
    return Flow(steps=steps, entry=workflow.plan.entry)


def components(flow: Flow, without: frozenset[str] = frozenset()) -> list[tuple[str, ...]]:
    """Return the strongly connected components of the reachable steps, successors before predecessors.

    Steps in `without` are removed from the graph first. This is Tarjan's algorithm with an explicit stack instead of
    recursion, because a plan may have 10,000 steps.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    groups: list[tuple[str, ...]] = []
    for root in sorted(flow.reachable() - without):
        if root in index:
            continue
        work = [(root, iter(flow.successors(root)))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            key, targets = work[-1]
            target = next((target for target in targets if target not in without), None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[key])
                if low[key] == index[key]:
                    group = _pop_through(stack, key)
                    groups.append(group)
                    on_stack.difference_update(group)
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                work.append((target, iter(flow.successors(target))))
            elif target in on_stack:
                low[key] = min(low[key], index[target])
    return groups


def _pop_through(stack: list[str], key: str) -> tuple[str, ...]:
    """Remove everything from the top of the stack down to `key`, and return it in stack order."""
    group: list[str] = []
    while not group or group[-1] != key:
        group.append(stack.pop())
    return tuple(reversed(group))


def is_loop(flow: Flow, group: tuple[str, ...]) -> bool:
    """True if a run can go round the steps of this component."""
    return len(group) > 1 or any(key in flow.successors(key) for key in group)


def loops(flow: Flow) -> list[tuple[str, ...]]:
    """Return the steps of every loop, one tuple per loop."""
    return [group for group in components(flow) if is_loop(flow, group)]


def unbounded_loops(flow: Flow) -> list[tuple[str, ...]]:
    """Return the loops in which no step limits how often it may be entered."""
    bounded_keys = frozenset(key for key, step in flow.steps.items() if step.max_visits is not None)
    return [group for group in components(flow, bounded_keys) if is_loop(flow, group)]
