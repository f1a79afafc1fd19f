"""Performs one attempt from its inputs to a judged outcome: contract, gates before, the work, contract, gates after."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import orjson

from openskelo import errors
from openskelo.executors import (
    answer,
    artifacts,
    breach,
    calling,
    gate,
    intake,
    job,
    journal,
    keeping,
    look,
    ports,
    task,
    work,
)
from openskelo.frozen import field, frozen, replace
from openskelo.handlers import place, secret
from openskelo.kernel import definition, fresh, outcome
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.providers import seam
from openskelo.values import canonical

if TYPE_CHECKING:
    from openskelo.executors import mcp_servers, project_handler
    from openskelo.providers import router

#: What a node may give back at most.
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
#: How many nodes stay compiled; above it the oldest are compiled anew when they come again.
_MAX_PREPARED = 16_384
#: So long those of a workflow are compiled before its first run.
_AHEAD_SECONDS = 0.01
#: The name of an answer that a contract or a gate refused, and of one that nobody could judge.
_REFUSED, _UNJUDGED = "answer.refused.txt", "answer.unjudged.txt"
#: The contract of what keeps any.
_FREE = ports.Ports((), "value", None, free=True)


@frozen
class Attempted:
    """An outcome, and the small blobs (by name) that must be committed together with it."""

    outcome: outcome.Outcome
    blobs: Mapping[str, bytes] = field(default_factory=fresh.a_dict)


@frozen
class Left:
    """What an attempt that is stopped leaves behind, with the bytes (by name) to be committed together with it, and
    what it has `used` by then.
    """

    notes: tuple[outcome.ArtifactNote, ...]
    blobs: Mapping[str, bytes]
    used: outcome.Metrics = field(default_factory=outcome.Metrics)


@frozen
class _Prepared:
    """Everything about a node that does not change between attempts."""

    node: definition.Node
    inputs: ports.Ports
    outputs: ports.Ports
    work: job.Work


NOTHING_LEFT = Left(notes=(), blobs={})
#: What a port promises; its description promises nothing.
_declared = attrgetter("name", "schema", "kind", "required", "has_default", "default")


class Performer:
    """Turns tasks into outcomes. One per engine; `perform` may run many times at once."""

    def __init__(
        self,
        *,
        project: task.Project,
        blobs: keeping.Keeps,
        local_handlers: Mapping[str, calling.Handler] | None = None,
        provider: seam.Provider | None = None,
        on_text: Callable[[task.Task, str], None] | None = None,
    ) -> None:
        self._project = project
        self._blobs = blobs
        self._known = artifacts.Known(blobs) if isinstance(blobs, artifacts.Runs) else None
        self._project_handlers: project_handler.ProjectHandlers | None = None
        self._servers: mcp_servers.Servers | None = None
        self._given = provider
        self._router: router.Router | None = None
        self._means = work.Means(
            project=project,
            local={name: calling.local(handler) for name, handler in (local_handlers or {}).items()},
            provider=self.provider,
            on_text=on_text or (lambda _of, _text: None),
            project_handlers=self._handlers,
            servers=self._mcp,
        )
        self._prepared: dict[int, _Prepared] = {}
        self._contracts: dict[bytes, ports.Ports] = {}

    async def perform(self, one: job.Job) -> Attempted:
        """The judged outcome of one attempt; while it is under way, the job says how far it has come.

        Raises only StoreError, when the work was done and what it gave back cannot be kept: an outcome would be a guess
        then; `asyncio.CancelledError`, after which nothing is left running; and what ends a loop or a coroutine.
        """
        try:
            stored = await self._produce(one.task, one)
            kept = await self._kept(one) if one.lines or one.files or one.heard else NOTHING_LEFT
        except breach.Broken as broken:
            return await self._failed(one, broken.failure, broken)
        except errors.AttemptFailed as error:
            return await self._failed(one, breach.failure(error, error.retryable, error.retry_after_ms))
        except (errors.StoreError, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except errors.OpenSkeloError as error:
            return await self._failed(one, breach.failure(error, retryable=False))
        except BaseException as error:  # the promise of this method: one attempt never takes the engine down
            failed = calling.raised(error, one.lines)
            defect = outcome.Failure(code="INTERNAL", message=failed.message, happened="unknown")
            return await self._failed(one, defect)
        return self._came_to(one, stored, kept=kept)

    def prepare(self, nodes: Iterable[definition.Node]) -> None:
        """Compile nodes that will be performed, as far as nothing has to be loaded for it.

        All at once, each takes a third of what it takes between two syncs. Those for which it would take too long are
        compiled when they come.
        """
        until = time.perf_counter() + _AHEAD_SECONDS
        for node in nodes:
            if time.perf_counter() >= until:
                return
            if work.is_light(node) and id(node) not in self._prepared:
                with contextlib.suppress(errors.OpenSkeloError):  # which its attempt will say
                    self._prepare(node)

    async def close(self) -> None:
        """End every process and every connection that is kept for later attempts."""
        if self._project_handlers is not None:
            await self._project_handlers.close()
        if self._servers is not None:
            await self._servers.close()
        if self._router is not None:
            await self._router.close()

    def left(self, one: job.Job) -> Left:
        """What an attempt under way would leave if it were stopped now."""
        found = journal.artifacts(one, secret.values(self._project.secrets))
        kept = [(note, data) for note, data in found if len(data) <= keeping.SMALL_ARTIFACT_BYTES]
        blobs = {note.hash: data for note, data in kept}
        return Left(notes=tuple(note for note, _ in kept), blobs=blobs, used=one.spent.so_far())

    def masked(self, text: str) -> str:
        """`text` as it may be stored, without the project's secrets."""
        return journal.clean(text, secret.values(self._project.secrets))

    def provider(self) -> seam.Provider | None:
        """The models: those given, else those the project names, loaded when first asked for."""
        if self._given is not None or self._project.models is None:
            return self._given
        if self._router is None:
            from openskelo.providers import router  # noqa: PLC0415 -- only workflows with models need it

            self._router = router.Router(self._project.models, root=self._project.root)
        return self._router

    def code(self, node: definition.Node) -> str:
        """The digest of the project's code that the node's work is, empty for other work (AttemptFailed)."""
        handler = node.handler or ""
        if not handler or handler.startswith(("builtin:", "local:")):
            return ""
        return self._handlers().digest(handler)

    async def stands(self, run_id: str, node: definition.Node, outputs: JsonObject) -> bool:
        """Whether outputs of earlier work keep the node's contract now: what they name may be gone (AttemptFailed)."""
        contract = (self._prepared.get(id(node)) or self._prepare(node)).outputs
        return not (contract.problems(outputs, self._project) or await self._unkept(contract, outputs, run_id))

    def has_handler(self, name: str) -> bool:
        """Whether the program has brought a handler of this name (`local:NAME`)."""
        return name in self._means.local

    def _handlers(self) -> project_handler.ProjectHandlers:
        """Made when a node first needs them: most of what they import, and every process, is for them alone."""
        if self._project_handlers is None:
            from openskelo.executors import project_handler  # noqa: PLC0415 -- start-up is counted

            self._project_handlers = project_handler.ProjectHandlers(self._project)
        return self._project_handlers

    def _mcp(self) -> mcp_servers.Servers:
        if self._servers is None:
            from openskelo.executors import mcp_servers  # noqa: PLC0415 -- only plans need them

            self._servers = mcp_servers.Servers(self._project)
        return self._servers

    async def _produce(self, of: task.Task, one: job.Job) -> Stored:
        """The stored outputs of an attempt in which everything went well."""
        node, inputs, shared = of.node, of.inputs, of.shared
        try:
            intake.take(one)
        except errors.InvalidInput as error:
            raise breach.contract("INPUT_CONTRACT", [error.message], retryable=False) from error
        prepared = self._prepared.get(id(node)) or self._prepare(node)
        holds = prepared.inputs.holds(inputs) if shared is None else shared.holds is not None and shared.holds(of.item)
        if not holds:
            found = intake.problems(of, prepared.inputs, self._project)
            if problems := found or await self._unkept(prepared.inputs, inputs, of.run_id):
                raise breach.contract("INPUT_CONTRACT", problems, retryable=False)
        if node.pre_gates and of.done is None:
            await self._pass(node.pre_gates, node.pre_composition, self._look(one, inputs), one)
        started = time.perf_counter() - one.spent.waited if node.post_gates else 0.0
        returned = await prepared.work(one) if of.done is None else of.done
        outputs, data = self._admit_outputs(returned, prepared.outputs.defaults, one)
        if not prepared.outputs.holds(outputs):
            found = prepared.outputs.problems(outputs, self._project)
            if problems := found or await self._unkept(prepared.outputs, outputs, of.run_id):
                raise breach.contract("OUTPUT_CONTRACT", problems, retryable=True)
        if node.post_gates:
            wall_ms = int((time.perf_counter() - started - one.spent.waited) * 1000)
            try:
                await self._pass(node.post_gates, node.post_composition, self._look(one, inputs, outputs, wall_ms), one)
            except breach.Broken as broken:
                if broken.unjudged and gate.can_judge_later(node):
                    broken.outputs = await keeping.store(self._blobs, outputs, data)
                raise
        if len(data) <= keeping.INLINE_BYTES:  # as `store` would say; most are, and need no coroutine for it
            return {"value": outputs}
        return await keeping.store(self._blobs, outputs, data)

    async def _unkept(self, contract: ports.Ports, values: JsonObject, run_id: str) -> list[str]:
        """What is wrong with values that keep the contract, but name artifacts nobody has."""
        return [] if self._known is None else await contract.unkept(values, self._known, run_id)

    def _look(self, one: job.Job, inputs: JsonObject, outputs: JsonObject | None = None, wall_ms: int = 0) -> look.Look:
        return look.Look(
            job=one,
            project=self._project,
            provider=self.provider,
            inputs=inputs,
            outputs=outputs,
            wall_ms=wall_ms,
        )

    async def _pass(
        self,
        gates: tuple[definition.Gate, ...],
        composition: definition.Composition,
        around: look.Look,
        one: job.Job,
    ) -> None:
        """Keep every verdict; go on only when the gates let us."""
        judgement = await gate.judge(gates, composition, around)
        one.verdicts += tuple(journal.masked(judgement.verdicts, secret.values(self._project.secrets)))
        if judgement.failed is None:
            return
        failure = gate.failure(judgement, before=around.outputs is None)
        if judgement.outages:
            raise breach.Broken(failure, None, unjudged=True)
        refused: list[Json] = [verdict for verdict in one.verdicts if verdict["passed"] is False]
        raise breach.Broken(failure, {"code": failure.code, "verdicts": refused})

    def _prepare(self, node: definition.Node) -> _Prepared:
        own = node.handler == "builtin:write-file"  # an author may let it write outside the roots
        free = node.step is not None  # what a step is given and gives is held to the contract of its op
        any_outputs = free or (node.turn is not None and not node.outputs)
        outputs = _FREE if any_outputs else self._compile(node.outputs, "output", anywhere=own)
        prepared = _Prepared(
            node=node,
            inputs=_FREE if free else self._compile(node.inputs, "input"),
            outputs=outputs,
            work=work.resolve(node, self._means, outputs),
        )
        if len(self._prepared) >= _MAX_PREPARED:
            del self._prepared[next(iter(self._prepared))]
        self._prepared[id(node)] = prepared  # holds the node, so that its id stays its own
        return prepared

    def _compile(self, declared: Sequence[definition.Port], word: str, *, anywhere: bool = False) -> ports.Ports:
        """The contract of these ports; nodes that declare the same share one."""
        key = orjson.dumps((word, anywhere, *map(_declared, declared)))
        found = self._contracts.get(key)
        if found is None:
            found = ports.Ports(declared, word, None if anywhere else place.readable_roots(self._project))
            if len(self._contracts) < _MAX_PREPARED:
                self._contracts[key] = found
        return found

    def _admit_outputs(self, returned: object, defaults: JsonObject, one: job.Job) -> tuple[JsonObject, bytes]:
        """The outputs (a copy that nobody else holds) and their bytes, once they are JSON that may be kept."""
        given: Any = returned  # casting it would cost a call
        if type(returned) is not dict and not isinstance(returned, Mapping):
            raise calling.not_a_dict(returned)
        try:
            data = canonical.dumps(canonical.admit({**defaults, **given} if defaults else given))
        except errors.InvalidInput as error:
            raise canonical.failed(error, "the outputs are not JSON", code="HANDLER_RETURN") from error
        if len(data) > MAX_OUTPUT_BYTES:
            raise errors.AttemptFailed(
                f"the outputs take {len(data)} bytes, more than {MAX_OUTPUT_BYTES}",
                code="HANDLER_RETURN",
                retryable=False,
                happened="yes",
            )
        if self._project.secrets and secret.found_in(data, secret.values(self._project.secrets)):
            raise errors.AttemptFailed(
                "the outputs hold the value of a secret, and outputs are kept",
                code="SECRET_IN_OUTPUT",
                hint="use ctx.secret where the value is needed, and do not return it",
                retryable=False,
                happened="yes",
            )
        one.output_hash = canonical.digest_bytes(data)
        return orjson.loads(data), data

    async def _failed(self, one: job.Job, failure: outcome.Failure, broken: breach.Broken | None = None) -> Attempted:
        hidden = secret.values(self._project.secrets)
        code, message = journal.clean(failure.code, hidden), journal.clean(failure.message, hidden)
        happened = failure.happened if one.answer is None else "yes"
        repairable = breach.is_repairable(one, failure)
        failure = replace(failure, code=code, message=message, repairable=repairable, happened=happened)
        feedback = None if broken is None else broken.feedback
        told = journal.masked([cast("JsonObject", feedback or {"code": code, "message": message})], hidden)[0]
        unjudged = broken is not None and broken.unjudged
        if one.answer is not None:
            said = secret.mask(one.answer, hidden)
            name = _UNJUDGED if unjudged else _REFUSED
            one.files[name] = job.File(kind="transcript", name=name, text=said)
            told = {**told, "answer": answer.bounded(said)} if failure.repairable else told
        outputs = None if broken is None else broken.outputs
        if unjudged and outputs is None:
            one.output_hash = None  # who compares outputs that were refused must not take it for one
        return self._came_to(one, outputs, failure, told, kept=await self._kept(one))

    async def _kept(self, one: job.Job) -> Left:
        """What the attempt leaves; a full disk must not turn a good attempt into a failed one."""
        blobs: dict[str, bytes] = {}
        notes: list[outcome.ArtifactNote] = []
        for note, data in journal.artifacts(one, secret.values(self._project.secrets)):
            if len(data) <= keeping.SMALL_ARTIFACT_BYTES:
                blobs[note.hash] = data
            else:
                try:
                    await self._blobs.put_blob(data)
                except errors.StoreError:
                    continue
            notes.append(note)
        return Left(notes=tuple(notes), blobs=blobs)

    def _came_to(
        self,
        one: job.Job,
        stored: Stored | None,
        failure: outcome.Failure | None = None,
        feedback: Json = None,
        *,
        kept: Left,
    ) -> Attempted:
        spent = one.spent
        return Attempted(
            outcome=outcome.Outcome(
                inputs_hash=one.inputs_hash,
                outputs=stored,
                output_hash=one.output_hash,
                failure=failure,
                verdicts=one.verdicts,
                metrics=outcome.Metrics(
                    tokens_in=spent.tokens_in,
                    tokens_out=spent.tokens_out,
                    wall_ms=int((time.perf_counter() - one.started - spent.waited) * 1000),
                    cost_nanousd=spent.cost_nanousd,
                    tool_nanousd=spent.tool_nanousd,
                ),
                artifacts=kept.notes,
                feedback=feedback,
                holds=one.holds,
                route=one.route,
            ),
            blobs=kept.blobs,
        )
