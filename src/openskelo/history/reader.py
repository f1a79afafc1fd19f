"""Read, prove and compare the runs of a store. Nothing here drives a run, and only signing writes a file.

`HistoryReader` is what readers share: `skelo show`, `verify`, `replay`, `diff`, the server's routes, and the engine,
which is a reader that also drives. Each method is a few lines over a module of this package. Those modules are imported
when a method is called, so that a command which lists runs does not load what replaying needs.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from openskelo import clock, errors
from openskelo.kernel import definition, ids
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.project import Project
from openskelo.stores import api, factory

if TYPE_CHECKING:
    from openskelo.history.comparison_result import Comparison
    from openskelo.history.export import Exported
    from openskelo.history.listing import ListedRunDocument
    from openskelo.history.replay import Report
    from openskelo.history.run_document import ApprovalDocument, RunDocument
    from openskelo.history.run_estimate import PastRuns
    from openskelo.kernel.run import Run
    from openskelo.record.chain import Verification

#: The status of a run in listings.
Status = Literal["queued", "running", "paused", "completed", "failed"]


@contextlib.asynccontextmanager
async def reading(project: Project) -> AsyncGenerator[HistoryReader]:
    """Open a reader of the project's data dir, also of one that this process cannot write.

    Raises NotFound when nothing was ever run there.
    """
    factory.require_store(project)
    store = factory.open_store(project, read_only=True)
    try:
        yield HistoryReader(project, store)
    finally:
        await store.close()


class HistoryReader:
    """Reads the runs of a store. Raises NotFound for an unknown run, Corrupt for a damaged one."""

    def __init__(self, project: Project, store: api.Store) -> None:
        self.project = project
        self.store = store

    async def runs(self, *, limit: int = 100, offset: int = 0, status: Status | None = None) -> list[ListedRunDocument]:
        """Return the runs, newest first, each as `skelo runs --json` lists it."""
        from openskelo.history import listing  # noqa: PLC0415

        if limit < 0 or offset < 0:
            raise errors.InvalidInput("limit and offset must not be negative", code="USAGE")
        statuses = get_args(Status)
        if status is not None and status not in statuses:
            raise errors.InvalidInput(
                f"{str(status)[:60]!r} is not a run's status", code="USAGE", hint=f"one of {', '.join(statuses)}"
            )
        rows = await self.store.list_runs(limit=limit, offset=offset, status=status)
        return [listing.run_document(row) for row in rows]

    async def find_run(self, text: str) -> api.RunRow:
        """Return the run that `text` names: by its id, its first characters, or the word "last".

        Raise NotFound, or InvalidInput if several match.
        """
        from openskelo.history import listing  # noqa: PLC0415

        return await listing.find_run(self.store, text)

    async def find_approval(self, text: str) -> api.ApprovalRow:
        """Return the open approval that `text` names: by its id, its first characters, or the word "last".

        Raise NotFound, or InvalidInput if several match. "last" matches every open approval.
        """
        from openskelo.history import listing  # noqa: PLC0415

        return await listing.find_approval(self.store, text)

    async def short_ids(self, document: RunDocument) -> Mapping[str, str]:
        """Return what to type for the run of a document, and for its open approvals."""
        from openskelo.history import listing  # noqa: PLC0415

        approval_ids = [approval["id"] for approval in document["approvals"]]
        return await listing.short_ids(self.store, {document["runId"]: approval_ids})

    async def load_value(self, stored: Stored) -> Json:
        """Return a value of the log, from its blob if the log holds only its hash."""
        from openskelo.executors import stored_values  # noqa: PLC0415

        return await stored_values.load(self.store, stored)

    async def show(self, run_id: str) -> RunDocument:
        """Return the run's document, made from its log."""
        from openskelo.history import run_document  # noqa: PLC0415

        run = await self.load_run(run_id)
        return await run_document.show(self.store, run, run.updated_at)

    async def load_run(self, run_id: str) -> Run:
        """Return the run's state at the end of its log."""
        from openskelo.history import loading  # noqa: PLC0415

        return (await loading.load(self.store, run_id)).run

    async def last_seq(self, run_id: str) -> int:
        """Return the seq of the run's last event, 0 for a run without events."""
        seq = 0
        async for lines in self.store.read_events(run_id):
            seq += len(lines)
        return seq

    async def read_blob(self, name: str) -> bytes:
        """Return the bytes of a stored value or artifact. Raise NotFound, or Corrupt if their hash differs."""
        return await self.store.read_blob(name)

    async def approvals(self, run_id: str | None = None) -> list[ApprovalDocument]:
        """Return the open approvals of all runs or of one, the oldest first."""
        if run_id is not None:
            await api.get_run(self.store, run_id)
        return [await self._approval_document(row) for row in await self.store.list_approvals(run_id)]

    async def _approval_document(self, row: api.ApprovalRow) -> ApprovalDocument:
        """Return an approval with what its row leaves out: the inputs of interrupted work, items, large details."""
        from openskelo.history import run_document  # noqa: PLC0415

        document = await run_document.question(self.store, row.document)
        has_items = "count" in cast("JsonObject", document.get("work") or {})
        if document.get("kind") != "uncertain" and not has_items:
            return document
        from openskelo.executors.inputs import approval_context  # noqa: PLC0415

        run = await self.load_run(row.run_id)
        approval = run.approvals.get(row.approval_id)
        work = None if approval is None else await approval_context.load(self.store, run, approval)
        if work is not None:
            document["work"] = work
        return document

    async def receipts(self, run_id: str) -> JsonObject:
        """Return the receipts of a run's attempts in their order, and the `digest` of its work as a whole.

        The digest leaves out times, attempt numbers and the chain: it is equal for two runs of the same deterministic
        work.
        """
        from openskelo.record import receipts  # noqa: PLC0415

        await api.get_run(self.store, run_id)
        entries: list[JsonObject] = []
        try:
            async for lines in self.store.read_events(run_id):
                entries += receipts.collect(lines)
            digest = receipts.digest(entries)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise errors.Corrupt(
                f"the receipts of run {run_id} cannot be read: {error}",
                hint=f"`skelo verify {ids.short(run_id)}` says more",
            ) from error
        return {"runId": run_id, "digest": digest, "receipts": entries}

    async def verify(self, run_id: str, *, public_key: str | None = None) -> Verification:
        """Verify that a run's record is whole and unaltered: lines, blobs, and in a data dir its file and signature.

        With a `public_key` (`ed25519:…` or PEM) the record must be signed by it, up to its head (InvalidInput).
        """
        from openskelo.history import verify  # noqa: PLC0415

        return await verify.verify_run(self.store, run_id, data_dir=self.store.data_dir, public_key=public_key)

    async def replay(self, run_id: str) -> Report:
        """Execute a run's `pure` deterministic steps again and compare hashes; nothing outside is touched."""
        from openskelo.executors.attempt import performer as attempt_performer  # noqa: PLC0415
        from openskelo.history import replay  # noqa: PLC0415

        performer = attempt_performer.Performer(project=self.project, blobs=replay.DiscardedBlobs())
        try:
            return await replay.replay(self.store, run_id, performer)
        finally:
            await performer.close()

    async def export(self, run_id: str, path: Path | str, *, sign: bool = False, overwrite: bool = False) -> Exported:
        """Write a run as one file that verifies anywhere (InvalidInput FILE_EXISTS unless `overwrite`).

        With `sign`, the run's head is signed by the data dir's key, which is created if it is missing. Without, an
        earlier signature goes along if it is still of the head.
        """
        from openskelo.history import export, signing  # noqa: PLC0415

        data_dir = self.store.data_dir or self.project.data_dir
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
        """Compare two runs, ended or not: their inputs, and node by node their results."""
        from openskelo.history import compare  # noqa: PLC0415

        return await compare.compare(self.store, run_a, run_b)

    async def explain(self, workflow: definition.Workflow, *, items: int = 10) -> JsonObject:
        """Return a workflow's parts and what a run of it would take, beside what past runs took; nothing is run.

        A foreach counts as `items` items.
        """
        from openskelo.history import loading, run_estimate  # noqa: PLC0415

        loading.check_workflow(workflow)
        past = await self.past_runs(workflow)
        return run_estimate.document(workflow, run_estimate.basis(workflow, self.project, past, items=items))

    async def past_runs(self, workflow: definition.Workflow) -> PastRuns | None:
        """Return averages of the newest finished runs of the workflow, node by node; None if there are none."""
        from openskelo.history import run_estimate  # noqa: PLC0415

        return await run_estimate.read_past_runs(self.store, workflow)
