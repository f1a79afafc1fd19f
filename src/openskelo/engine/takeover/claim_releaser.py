"""Release the claims on runs that this process drives no more, also when the store fails at that moment."""

from __future__ import annotations

from collections.abc import Collection

from openskelo.stores import api


class ClaimReleaser:
    """Releases the claims on runs that are not driven here any more: at once, or as soon as the store can."""

    def __init__(self, store: api.Claims) -> None:
        self._store = store
        self._unreleased: dict[str, None] = {}  # runs whose claim is still to be released, oldest first

    async def release(self, run_id: str) -> None:
        """Release the claim on a run now; if the store fails, later."""
        self._unreleased.pop(run_id, None)
        try:
            await self._store.release_run(run_id)
        except Exception:
            self._unreleased[run_id] = None

    def release_later(self, run_id: str) -> None:
        """Release the claim on a run at the next poll: now the store would fail."""
        self._unreleased[run_id] = None

    def keep(self, run_id: str) -> None:
        """Do not release the claim on a run after all: it is about to be driven here."""
        self._unreleased.pop(run_id, None)

    async def release_remaining(self, driven: Collection[str]) -> None:
        """Release the claims that could not be released before, except on runs that are driven here again."""
        for run_id in tuple(self._unreleased):
            if run_id in driven:
                self.keep(run_id)
                continue
            await self.release(run_id)
            if run_id in self._unreleased:
                return  # the store still fails
