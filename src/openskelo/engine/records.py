"""What can be read, proved and compared of the runs in a store; nothing here drives or changes one."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from openskelo import errors
from openskelo.engine import clock, words
from openskelo.executors import task
from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.stores import log

if TYPE_CHECKING:
    from openskelo.contract.chain import Verification
    from openskelo.engine.comparison import Comparison
    from openskelo.engine.export import Exported
    from openskelo.engine.replay import Report

#: The status of a run as listings have it.
Status = Literal["queued", "running", "paused", "completed", "failed"]


@contextlib.asynccontextmanager
async def reading(project: task.Project) -> AsyncGenerator[Records]:
    """The records of a project's data dir, to look at: also of one that cannot be written, and nobody drives anything.

    NotFound when nothing was ever run there.
    """
    from openskelo.stores import datadir  # noqa: PLC0415  a caller with its own store needs no SQLite

    if not datadir.exists(project.data_dir):
        raise errors.NotFound(f"no runs are kept in {project.data_dir}", code="RUN_NOT_FOUND")
    store = datadir.look(project.data_dir)
    try:
        yield Records(project, store)
    finally:
        await store.close()


class Records:
    """The records of a project's runs. NotFound is raised for a run that is not there, Corrupt for a damaged one."""

    def __init__(self, project: task.Project, store: log.Log) -> None:
        self.project = project
        self.store = store

    async def runs(self, *, limit: int = 100, offset: int = 0, status: Status | None = None) -> list[JsonObject]:
        """The runs, newest first, each as `skelo runs --json` lists it."""
        from openskelo.engine import listing  # noqa: PLC0415  a caller that only drives lists nothing

        if limit < 0 or offset < 0:
            raise errors.InvalidInput("limit and offset are not negative", code="USAGE")
        if status is not None:
            words.check(status, get_args(Status), "a run's status")
        rows = await self.store.rows(limit=limit, offset=offset, status=status)
        return [listing.run_document(row) for row in rows]

    async def show(self, run_id: str) -> JsonObject:
        """The run's document, from its log."""
        from openskelo.engine import document, loading  # noqa: PLC0415  as above

        run = (await loading.load(self.store, run_id)).run
        return await document.show(self.store, run, run.updated_at)

    async def approvals(self, run_id: str | None = None) -> list[JsonObject]:
        """What waits for a person, in all runs or in one, the longest asked first."""
        if run_id is not None:
            await self._check(run_id)
        return [await self._approval(row) for row in await self.store.approvals(run_id)]

    async def _approval(self, row: log.ApprovalRow) -> JsonObject:
        """An open approval; what cut work was given, items, and large details are not in its line of the listing."""
        if row.document.get("kind") == "ask_human":
            from openskelo.engine import document  # noqa: PLC0415  only plans ask like this

            return await document.question(self.store, row.document)
        of_items = "count" in cast("JsonObject", row.document.get("work") or {})
        if row.document.get("kind") != "uncertain" and not of_items:
            return row.document
        from openskelo.engine import loading, stakes  # noqa: PLC0415  few effects are uncertain

        run = (await loading.load(self.store, row.run_id)).run
        asked = run.approvals.get(row.approval_id)
        work = None if asked is None else await stakes.whole(self.store, run, asked)
        return row.document if work is None else {**row.document, "work": work}

    async def receipts(self, run_id: str) -> JsonObject:
        """The receipts of a run's attempts in their order, and the `digest` of its work as a whole.

        The digest leaves out times, attempt numbers and the chain: it is equal for two runs of the same deterministic
        work.
        """
        from openskelo.contract import receipts  # noqa: PLC0415  as above

        await self._check(run_id)
        found: list[JsonObject] = []
        try:
            async for lines in self.store.read(run_id):
                found += receipts.collect(lines)
            digest = receipts.digest(found)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise errors.Corrupt(
                f"the receipts of run {run_id} cannot be read: {error}", hint=f"`skelo verify {run_id}` says more"
            ) from error
        return {"runId": run_id, "digest": digest, "receipts": found}

    async def verify(self, run_id: str, *, public_key: str | None = None) -> Verification:
        """Whether a run's record is whole and unaltered: its lines and blobs, in a data dir its file and signature.

        With a `public_key` (`ed25519:…` or PEM) the record must be signed by it, up to its head (InvalidInput).
        """
        from openskelo.engine import verify  # noqa: PLC0415  as above

        return await verify.verify_run(self.store, run_id, data_dir=self._data_dir(), public_key=public_key)

    async def replay(self, run_id: str) -> Report:
        """Do a run's `pure` deterministic steps again and compare hashes; nothing outside is touched."""
        from openskelo.engine import replay  # noqa: PLC0415  as above
        from openskelo.executors import attempt  # noqa: PLC0415  as above

        performer = attempt.Performer(project=self.project, blobs=replay.Nowhere())
        try:
            return await replay.replay(self.store, run_id, performer)
        finally:
            await performer.close()

    async def export(self, run_id: str, path: Path | str, *, sign: bool = False, overwrite: bool = False) -> Exported:
        """Write a run as one file that verifies anywhere (InvalidInput FILE_EXISTS unless `overwrite`).

        With `sign` its head is signed by the data dir's key, which is made if there is none. Without, a signature that
        was made earlier goes along if it is of the head still.
        """
        from openskelo.engine import export, signing  # noqa: PLC0415  as above

        data_dir = self._data_dir() or self.project.data_dir
        up_to: int | None = None
        if sign:
            signature = await signing.sign(self.store, run_id, data_dir, at=clock.wall_ms())
            up_to = cast("int", signature["seq"])  # a run that goes on meanwhile is written as it was signed
        else:
            signature = signing.find(data_dir, run_id)
        return await export.export(
            self.store, run_id, Path(path), signature=signature, up_to=up_to, overwrite=overwrite
        )

    async def diff(self, run_a: str, run_b: str) -> Comparison:
        """Compare two runs, ended or not: what they were given, and node by node what came of it."""
        from openskelo.engine import compare  # noqa: PLC0415  as above

        return await compare.compare(self.store, run_a, run_b)

    async def explain(self, workflow: definition.Workflow, *, items: int = 10) -> JsonObject:
        """A workflow taken apart and what a run of it would take, beside what past runs took; nothing is run.

        A foreach is counted as so many `items`.
        """
        from openskelo.engine import outlook, past, pinning  # noqa: PLC0415  as above

        pinning.check(workflow)
        before = await past.read(self.store, workflow.name)
        return outlook.document(workflow, outlook.basis(workflow, self.project, before, items=items))

    async def _check(self, run_id: str) -> None:
        if await self.store.row(run_id) is None:
            raise errors.NotFound(f"there is no run {run_id}", code="RUN_NOT_FOUND", hint="`skelo runs` lists them")

    def _data_dir(self) -> Path | None:
        """The folder with the files that go with the log; a store of another kind has none."""
        from openskelo.stores import sqlite  # noqa: PLC0415  a caller with its own store needs no SQLite

        return self.store.data_dir if isinstance(self.store, sqlite.SqliteLog) else None
