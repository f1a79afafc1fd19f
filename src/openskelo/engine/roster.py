"""Which runs a process drives, and how those left it that it has driven."""

from __future__ import annotations

import copy
from collections.abc import Callable

from openskelo import errors
from openskelo.engine import actor as actors
from openskelo.kernel.run import Run

#: How many runs that have ended are kept in memory, for those who ask how they ended; small ones are more of them.
REMEMBERED = 16
REMEMBERED_SMALL = 512
REMEMBERED_NODES = 4096
#: The same of runs that had to be let go: after trouble with the store all that are under way are, at once.
LET_GO = 10_000


class Roster:
    """The actors by run. Its driver alone takes them on and strikes them off."""

    def __init__(self) -> None:
        self.actors: dict[str, actors.Actor] = {}
        #: Gives the run's actor while this process drives it.
        self.get: Callable[[str], actors.Actor | None] = self.actors.get  # a call less
        self.on_leave: Callable[[str, bool], None] | None = None  # hears of each that leaves, and whether it has ended
        self._ended: dict[str, Run] = {}
        self._ended_nodes = 0
        self._dropped: dict[str, errors.OpenSkeloError] = {}

    def all(self) -> tuple[actors.Actor, ...]:
        """Every run this process drives."""
        return tuple(self.actors.values())

    def last_state(self, run_id: str) -> Run | None:
        """The state of a run that this process drives, or drove to its end not long ago."""
        actor = self.actors.get(run_id)
        return self._ended.get(run_id) if actor is None else actor.run

    def failure(self, run_id: str) -> errors.OpenSkeloError | None:
        """Why this process no longer drives a run that it drove, if the store or a defect stopped it not long ago."""
        return copy.copy(self._dropped.get(run_id))  # each who asks raises one of their own

    def forget(self, run_id: str) -> None:
        """Remember nothing of a run that this process no longer drives."""
        ended = self._ended.pop(run_id, None)
        if ended is not None:
            self._ended_nodes -= len(ended.nodes)
        self._dropped.pop(run_id, None)

    # -- what the driver calls ----------------------------------------------------------------------------------------

    def take_on(self, actor: actors.Actor) -> None:
        """The run is driven here from now on."""
        self.actors[actor.run.id] = actor
        if self._dropped:
            self._dropped.pop(actor.run.id, None)

    def end(self, actor: actors.Actor) -> None:
        """The run has ended."""
        run = actor.run
        if self.actors.pop(run.id, None) is not None:
            self._ended[run.id] = run
            self._ended_nodes += len(run.nodes)
            if self.on_leave is not None:
                self.on_leave(run.id, True)
        count = len(self._ended)
        if count > REMEMBERED_SMALL or (self._ended_nodes > REMEMBERED_NODES and count > REMEMBERED):
            self.forget(next(iter(self._ended)))

    def put_aside(self, actor: actors.Actor) -> None:
        """The run can be taken on again whenever somebody wants it."""
        del self.actors[actor.run.id]
        if self.on_leave is not None:
            self.on_leave(actor.run.id, False)

    def drop(self, actor: actors.Actor, error: errors.OpenSkeloError) -> None:
        """The run cannot be driven on here; whoever asks is told why."""
        del self.actors[actor.run.id]
        self._dropped[actor.run.id] = copy.copy(error)  # without the frames that it came through, which hold the run
        if len(self._dropped) > LET_GO:
            del self._dropped[next(iter(self._dropped))]
        actor.give_up(error)
        if self.on_leave is not None:
            self.on_leave(actor.run.id, False)

    def drop_all(self, error: errors.OpenSkeloError) -> None:
        """The same of every run."""
        for actor in self.all():
            self.drop(actor, error)

    def close(self, error: errors.OpenSkeloError) -> None:
        """Nothing is driven any more, and that is nobody's fault."""
        for actor in self.actors.values():
            actor.give_up(error)
        self.actors.clear()
