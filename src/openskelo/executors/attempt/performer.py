"""Performs one attempt, from its request to a judged outcome.

The way of an attempt, in `_produce` (what each station refuses with, on the right):

    inputs are hashed and copied           INPUT_CONTRACT   they are not JSON
    inputs keep the contract               INPUT_CONTRACT
    gates before the work                  PRE_GATE_FAILED
    the work, by the node's executor       AttemptFailed, with the code of the handler, the provider, …
    outputs are JSON and hold no secret    HANDLER_RETURN, SECRET_IN_OUTPUT
    outputs keep the contract              OUTPUT_CONTRACT
    gates after the work                   POST_GATE_FAILED
    outputs are stored

A station refuses by raising; `perform` turns the exception into a failed outcome. So one attempt never takes the engine
down, and values that break the contract are never stored. The performer only reports: whether the work is tried again,
repaired, bounced or given up is for the kernel to decide, from the outcome.

Everything about a node that is the same for all of its attempts (compiled contracts, its work) is prepared once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import orjson

from openskelo import errors
from openskelo.executors import api, artifacts, gate_evaluation, kinds, stored_values
from openskelo.executors.ai import prompt
from openskelo.executors.attempt import descriptor_wait, port_contract, running_attempt
from openskelo.executors.handlers import invocation
from openskelo.handlers import builtin, file_access, secrets
from openskelo.kernel import definition, outcome
from openskelo.kernel.json import Json, JsonObject, Stored
from openskelo.project import Project
from openskelo.providers import protocol
from openskelo.stores import api as stores
from openskelo.structs import field, frozen, replace
from openskelo.values import canonical

if TYPE_CHECKING:
    from openskelo.agents import sessions as agent_sessions
    from openskelo.executors import mcp_servers
    from openskelo.executors.handlers import project_handler
    from openskelo.providers import router

#: The failures that an answer caused, which a model or an agent may correct.
_REPAIRABLE = frozenset({"OUTPUT_CONTRACT", "ANSWER_INVALID", "PROVIDER_TRUNCATED"})
#: How many bytes the outputs of a node may take.
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
#: How many nodes stay prepared; above it the oldest is dropped, and prepared again when it is next needed.
_MAX_PREPARED = 16_384
#: How many bytes of the text of a stopped attempt are in the event that says so.
_MAX_SAID_BYTES = 16 * 1024
#: The artifact of an answer that a contract or a gate refused, and of one that its gates could not judge.
_REFUSED_ANSWER, _UNJUDGED_ANSWER = "answer.refused.txt", "answer.unjudged.txt"
#: The contract that any values keep.
_FREE = port_contract.PortContract((), "value", None, free=True)


@frozen
class AttemptResult:
    """An outcome, and the small blobs (by name) that must be committed together with it."""

    outcome: outcome.Outcome
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@frozen
class PartialResult:
    """The remains of an attempt that is not over: artifacts, small blobs (by name) to commit with them, and usage."""

    notes: tuple[outcome.ArtifactNote, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    used: outcome.Metrics = field(default_factory=outcome.Metrics)


class Rejection(Exception):
    """A contract or a gate refuses the attempt; `feedback` is what the next attempt should know.

    With `unjudged`, the gates could not be asked; `outputs` are then kept for the next attempt to judge.
    """

    def __init__(self, failure: outcome.Failure, feedback: Json, *, unjudged: bool = False) -> None:
        super().__init__(failure.code)
        self.failure = failure
        self.feedback = feedback
        self.unjudged = unjudged
        self.outputs: Stored | None = None


@frozen
class _PreparedNode:
    """State that all attempts of a node share."""

    node: definition.Node
    inputs: port_contract.PortContract
    outputs: port_contract.PortContract
    work: api.Work
    #: What its settings name in the environment and among the project's secrets.
    references: tuple[str, ...]


class Performer:
    """Turns attempts into outcomes. One per engine; `perform` may run many times at once."""

    def __init__(
        self,
        *,
        project: Project,
        blobs: stores.BlobWriter,
        local_handlers: Mapping[str, invocation.Handler] | None = None,
        provider: protocol.Provider | None = None,
        on_text: Callable[[running_attempt.AttemptRequest, str], None] | None = None,
        on_status: Callable[[running_attempt.AttemptRequest, str], None] | None = None,
    ) -> None:
        self._project = project
        self._references = _references_of(project)
        self._blobs = blobs
        self._artifacts = artifacts.ArtifactIndex(blobs) if isinstance(blobs, artifacts.RunLogs) else None
        self._project_handlers: project_handler.ProjectHandlers | None = None
        self._mcp_servers: mcp_servers.ServerPool | None = None
        self._agents: agent_sessions.SessionPool | None = None
        self._own_provider = provider
        self._router: router.Router | None = None
        self._services = api.Services(
            project=project,
            local_handlers={
                name: invocation.local_handler(handler) for name, handler in (local_handlers or {}).items()
            },
            provider=self.provider,
            on_text=on_text or (lambda _request, _text: None),
            project_handlers=self._get_project_handlers,
            mcp_servers=self._get_mcp_servers,
            agents=self._get_agents,
            on_status=on_status or (lambda _request, _text: None),
            artifacts=self._artifacts,
        )
        self._prepared: dict[int, _PreparedNode] = {}
        self._contracts: dict[bytes, port_contract.PortContract] = {}
        self._descriptor_wait = descriptor_wait.DescriptorWait()

    async def perform(self, attempt: running_attempt.RunningAttempt) -> AttemptResult:
        """Return the judged outcome of one attempt; while it runs, `attempt` shows how far it has come.

        Raise only StoreError, if the work was done and its outputs cannot be kept, so that any outcome would be a
        guess; CancelledError, after which nothing is left running; and what ends a loop or a coroutine.
        """
        try:
            outputs = await self._produce(attempt)
            leftover = await self._store_artifacts(attempt)
        except Rejection as rejection:
            return await self._fail(attempt, rejection.failure, rejection)
        except errors.AttemptFailed as error:
            return await self._fail(attempt, _failure(error, error.retryable, error.retry_after_ms))
        except (errors.StoreError, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except errors.OpenSkeloError as error:
            return await self._fail(attempt, _failure(error, retryable=False))
        except BaseException as error:  # a defect: one attempt never takes the engine down
            failure = invocation.raised(error, attempt.lines)
            return await self._fail(
                attempt, outcome.Failure(code="INTERNAL", message=failure.message, happened="unknown")
            )
        return _result(attempt, outputs, leftover)

    async def _produce(self, attempt: running_attempt.RunningAttempt) -> Stored:
        """Return the stored outputs of an attempt that passes every station."""
        request = attempt.request
        node = request.node

        try:
            port_contract.take_inputs(attempt)
        except errors.InvalidInput as error:
            raise _contract_rejection("INPUT_CONTRACT", [error.message], retryable=False) from error
        prepared_node = self._prepared.get(id(node)) or self._prepare(node)
        if prepared_node.references:
            values = secrets.referenced_values(prepared_node.references, self._project.secrets)
            attempt.secret_values = secrets.spellings(values)
        problems = port_contract.find_problems(request, prepared_node.inputs, self._project)
        if prepared_node.inputs.artifact_ports and not problems:
            problems = await self._missing_artifacts(prepared_node.inputs, request.inputs, request.run_id)
        if problems:
            raise _contract_rejection("INPUT_CONTRACT", problems, retryable=False)

        if node.pre_gates and request.outputs_to_judge is None:
            await self._judge(node.pre_gates, node.pre_composition, self._gate_view(attempt))

        start_time = time.perf_counter() - attempt.usage.waited
        if request.outputs_to_judge is None:
            raw_outputs = await self._work(prepared_node, attempt)
        else:
            raw_outputs = request.outputs_to_judge

        outputs, data = self._admit_outputs(attempt, raw_outputs, prepared_node.outputs.defaults)
        attempt.output_hash = canonical.digest_bytes(data)
        problems = prepared_node.outputs.problems(outputs, self._project)
        if prepared_node.outputs.artifact_ports and not problems:
            problems = await self._missing_artifacts(prepared_node.outputs, outputs, request.run_id)
        if problems:
            raise _contract_rejection("OUTPUT_CONTRACT", problems, retryable=True)

        if node.post_gates:
            wall_ms = int((time.perf_counter() - start_time - attempt.usage.waited) * 1000)
            try:
                view = self._gate_view(attempt, outputs, wall_ms)
                await self._judge(node.post_gates, node.post_composition, view)
            except Rejection as rejection:
                if rejection.unjudged and gate_evaluation.can_judge_later(node):
                    rejection.outputs = await stored_values.store(self._blobs, outputs, data, attempt.output_hash)
                raise
        return await stored_values.store(self._blobs, outputs, data, attempt.output_hash)

    async def _work(self, prepared: _PreparedNode, attempt: running_attempt.RunningAttempt) -> object:
        """Return what the work returns. Without a descriptor it waits, if doing the work again does no harm.

        A handler that lacks one has begun, and may have had its effect.
        """

        def may_wait(error: BaseException) -> bool:
            if not errors.is_out_of_descriptors(error):
                return False
            if not definition.is_once(prepared.node):
                return True
            return isinstance(error, errors.AttemptFailed) and error.happened == "no" and error.code != "HANDLER_RAISED"

        is_retry = False

        async def work() -> object:
            nonlocal is_retry
            if is_retry:
                port_contract.take_inputs(attempt)  # the work may have changed its copy of them
            is_retry = True
            return await prepared.work(attempt)

        return await self._descriptor_wait.retry(attempt, work, may_wait)

    async def _missing_artifacts(
        self, contract: port_contract.PortContract, values: JsonObject, run_id: str
    ) -> tuple[str, ...]:
        """Return the problems of values that keep the contract but name artifacts which no run has kept."""
        if self._artifacts is None:
            return ()
        return tuple(await contract.missing_artifacts(values, self._artifacts, run_id))

    def _gate_view(
        self, attempt: running_attempt.RunningAttempt, outputs: JsonObject | None = None, wall_ms: int = 0
    ) -> gate_evaluation.GateView:
        return gate_evaluation.GateView(
            attempt=attempt,
            project=self._project,
            provider=self.provider,
            inputs=attempt.request.inputs,
            outputs=outputs,
            wall_ms=wall_ms,
        )

    async def _judge(
        self, gates: tuple[definition.Gate, ...], composition: definition.Composition, view: gate_evaluation.GateView
    ) -> None:
        """Add the verdicts of these gates to the attempt; raise Rejection if they do not let it pass."""
        attempt = view.attempt
        judgement = await self._evaluate_gates(gates, composition, view)
        attempt.verdicts += tuple(running_attempt.mask_all(judgement.verdicts, self._secret_values(attempt)))
        if judgement.failed is None:
            return
        failure = gate_evaluation.failure(judgement, before=view.outputs is None)
        if judgement.outages:
            raise Rejection(failure, None, unjudged=True)
        refusals: list[Json] = [verdict for verdict in attempt.verdicts if verdict["passed"] is False]
        raise Rejection(failure, {"code": failure.code, "verdicts": refusals})

    async def _evaluate_gates(
        self, gates: tuple[definition.Gate, ...], composition: definition.Composition, view: gate_evaluation.GateView
    ) -> gate_evaluation.Judgement:
        """Return the judgement of these gates; gates that lack a descriptor are asked again."""

        async def evaluate() -> gate_evaluation.Judgement:
            judgement = await gate_evaluation.judge(gates, composition, view)
            for outage in judgement.outages:
                if errors.is_out_of_descriptors(outage):
                    raise outage
            return judgement

        return await self._descriptor_wait.retry(view.attempt, evaluate, errors.is_out_of_descriptors)

    def _admit_outputs(
        self, attempt: running_attempt.RunningAttempt, returned: object, defaults: JsonObject
    ) -> tuple[JsonObject, bytes]:
        """Return the outputs, as a copy that the work cannot change any more, and their canonical bytes."""
        if not isinstance(returned, Mapping):
            raise invocation.not_a_dict(returned)
        outputs = cast("Mapping[str, object]", returned)
        try:
            checked_outputs = cast("JsonObject", canonical.admit({**defaults, **outputs}))
            data = canonical.dumps(checked_outputs)
        except errors.InvalidInput as error:
            raise canonical.attempt_failure(error, "the outputs are not JSON", code="HANDLER_RETURN") from error
        if len(data) > MAX_OUTPUT_BYTES:
            raise errors.AttemptFailed(
                f"the outputs take {len(data)} bytes, more than {MAX_OUTPUT_BYTES}",
                code="HANDLER_RETURN",
                retryable=False,
                happened="yes",
            )
        if secrets.contains_secret(data, self._secret_values(attempt)):
            raise errors.AttemptFailed(
                "the outputs hold the value of a secret, and outputs are kept",
                code="SECRET_IN_OUTPUT",
                hint="use the secret where it is needed, and do not return it or what holds it",
                retryable=False,
                happened="yes",
            )
        return port_contract.copy_values(checked_outputs, data), data

    async def _fail(
        self,
        attempt: running_attempt.RunningAttempt,
        failure: outcome.Failure,
        rejection: Rejection | None = None,
    ) -> AttemptResult:
        """Return the result of a failed attempt, with the feedback for its next attempt."""
        secret_values = self._secret_values(attempt)
        failure = replace(
            failure,
            code=running_attempt.clean(failure.code, secret_values),
            message=running_attempt.clean(failure.message, secret_values),
            repairable=_is_repairable(attempt, failure),
            happened=failure.happened if attempt.answer is None else "yes",
        )
        feedback: JsonObject = {"code": failure.code, "message": failure.message}
        is_unjudged, outputs = False, None
        if rejection is not None:
            feedback = cast("JsonObject", rejection.feedback or feedback)
            is_unjudged, outputs = rejection.unjudged, rejection.outputs
        feedback = running_attempt.mask_all([feedback], secret_values)[0]
        if attempt.answer is not None:
            masked_answer = secrets.mask(attempt.answer, secret_values)
            name = _UNJUDGED_ANSWER if is_unjudged else _REFUSED_ANSWER
            attempt.files[name] = running_attempt.File(kind="transcript", name=name, text=masked_answer)
            if failure.repairable:
                feedback = {**feedback, "answer": prompt.bounded(masked_answer)}
        if is_unjudged and outputs is None:
            attempt.output_hash = None  # stall detection compares refused outputs, and these were not refused
        return _result(attempt, outputs, await self._store_artifacts(attempt), failure, feedback)

    async def store_prompts(self, attempt: running_attempt.RunningAttempt) -> PartialResult:
        """Return the prompts that are not recorded yet, as recorded: the caller must commit them now (StoreError)."""
        prompts = running_attempt.collect_prompts(attempt, self._secret_values(attempt))
        leftover = await self._store(prompts, all_or_none=True)
        attempt.recorded.update({note.id: note.hash for note in leftover.notes})
        return leftover

    async def _store_artifacts(self, attempt: running_attempt.RunningAttempt) -> PartialResult:
        return await self._store(running_attempt.collect_artifacts(attempt, self._secret_values(attempt)))

    async def _store(
        self, artifacts: Sequence[tuple[outcome.ArtifactNote, bytes]], *, all_or_none: bool = False
    ) -> PartialResult:
        """Store the large artifacts and return all; one that a full disk does not take is left out.

        With `all_or_none` it is a StoreError.
        """
        blobs: dict[str, bytes] = {}
        notes: list[outcome.ArtifactNote] = []
        for note, data in artifacts:
            if len(data) <= stored_values.SMALL_ARTIFACT_BYTES:
                blobs[note.hash] = data
            else:
                try:
                    await self._blobs.put_blob(data, note.hash)
                except errors.StoreError:
                    if all_or_none:
                        raise
                    continue
            notes.append(note)
        return PartialResult(notes=tuple(notes), blobs=blobs)

    def _prepare(self, node: definition.Node) -> _PreparedNode:
        """Compile the contracts of `node` and find its work; raise AttemptFailed if it has none."""
        # The args of a plan's step are checked by its op; a turn without declared outputs may return anything.
        inputs = outputs = _FREE
        if node.step is None:
            inputs = self._compile(node.inputs, "input")
            if node.outputs or node.turn is None:
                handler = builtin.of(node)
                anywhere = handler is not None and handler.writes_anywhere
                outputs = self._compile(node.outputs, "output", anywhere=anywhere)
        work = kinds.executor_for(node).prepare(node, self._services, outputs)
        references = secrets.named(canonical.dumps(node.config).decode())
        prepared_node = _PreparedNode(node=node, inputs=inputs, outputs=outputs, work=work, references=references)
        if len(self._prepared) >= _MAX_PREPARED:
            del self._prepared[next(iter(self._prepared))]
        self._prepared[id(node)] = prepared_node  # holds the node, so that no other node gets its id
        return prepared_node

    def _compile(
        self, ports: Sequence[definition.Port], word: str, *, anywhere: bool = False
    ) -> port_contract.PortContract:
        """Return the contract of these ports; nodes that declare the same ports share one."""
        promises = [
            (port.name, port.schema, port.kind, port.required, port.has_default, port.default) for port in ports
        ]
        key = orjson.dumps((word, anywhere, promises))
        contract = self._contracts.get(key)
        if contract is None:
            roots = None if anywhere else file_access.readable_roots(self._project)
            contract = port_contract.PortContract(ports, word, roots)
            if len(self._contracts) < _MAX_PREPARED:
                self._contracts[key] = contract
        return contract

    def check_available(self, node: definition.Node) -> None:
        """Raise InvalidInput if something is missing here that the work of `node` needs."""
        kinds.executor_for(node).check_available(node, self._services)

    async def check_inputs(self, node: definition.Node, known: JsonObject) -> None:
        """Raise InvalidInput if the work of `node` cannot be done on inputs that are known before the run starts."""
        await kinds.executor_for(node).check_inputs(node, known, self._services)

    def check_present(self, node: definition.Node) -> None:
        """Raise AttemptFailed if a file or a secret that the work of `node` needs is missing here."""
        kinds.executor_for(node).check_present(node, self._services)

    def code_digest(self, node: definition.Node) -> str:
        """Return the digest of the project's code that does the work of `node`, empty if none does (AttemptFailed)."""
        return kinds.executor_for(node).code_digest(node, self._services)

    def needs_worker(self, node: definition.Node) -> bool:
        """True if the work of `node` is done in one of the worker processes, of which there are `worker_count`."""
        return kinds.executor_for(node).needs_worker(node, self._services)

    def worker_count(self) -> int:
        """Return how many worker processes there are at most."""
        return self._get_project_handlers().worker_count

    async def are_outputs_valid(self, run_id: str, node: definition.Node, outputs: JsonObject) -> bool:
        """True if outputs of earlier work keep the contract of `node` now: files that they name may be gone."""
        contract = (self._prepared.get(id(node)) or self._prepare(node)).outputs
        if contract.problems(outputs, self._project):
            return False
        return not await self._missing_artifacts(contract, outputs, run_id)

    async def store_partial_result(self, attempt: running_attempt.RunningAttempt) -> PartialResult:
        """Return what a running attempt leaves if it is stopped now: the caller must commit it with the stop."""
        if attempt.keep_partial is not None:
            await attempt.keep_partial()
        return replace(await self._store_artifacts(attempt), used=attempt.usage.total())

    def log_so_far(self, attempt: running_attempt.RunningAttempt) -> str:
        """Return what a running attempt has logged so far, without the project's secrets."""
        return running_attempt.log_so_far(attempt, self._secret_values(attempt))

    def said_so_far(self, attempt: running_attempt.RunningAttempt) -> str | None:
        """Return the text that the model or agent of a running attempt has sent so far, or None."""
        text = secrets.mask("".join(attempt.streamed), self._secret_values(attempt))
        if text:
            return prompt.bounded(text, _MAX_SAID_BYTES)
        return None

    def mask(self, text: str, attempt: running_attempt.RunningAttempt | None) -> str:
        """Return `text` as it may be stored, without the project's secrets and those of the attempt."""
        return running_attempt.clean(text, self._secret_values(attempt))

    def mask_json(self, value: JsonObject, attempt: running_attempt.RunningAttempt) -> JsonObject:
        """Return a JSON value as it may be stored, without the project's secrets and those of the attempt."""
        secret_values = self._secret_values(attempt)
        if secret_values:
            return cast("JsonObject", secrets.mask_json(value, secret_values))
        return value

    def provider(self) -> protocol.Provider | None:
        """Return the models: those passed to the engine, else those of the project, loaded when first asked for."""
        if self._own_provider is not None or self._project.models is None:
            return self._own_provider
        if self._router is None:
            from openskelo.providers import router  # noqa: PLC0415 -- only workflows with models need it

            self._router = router.Router(self._project.models, root=self._project.root)
        return self._router

    async def close(self) -> None:
        """End every process and every connection that is kept for later attempts."""
        if self._project_handlers is not None:
            await self._project_handlers.close()
        if self._mcp_servers is not None:
            await self._mcp_servers.close()
        if self._agents is not None:
            await self._agents.close()
        if self._router is not None:
            await self._router.close()

    def _secret_values(self, attempt: running_attempt.RunningAttempt | None) -> Sequence[str]:
        """Return the texts to mask in what an attempt leaves, the longest first."""
        of_project = secrets.values(self._project.secrets)
        if self._references:
            named_values = secrets.referenced_values(self._references, self._project.secrets)
            of_project = (*of_project, *secrets.spellings(named_values))
        of_attempt = () if attempt is None else attempt.secret_values
        if of_attempt or self._references:
            return sorted({*of_project, *of_attempt}, key=lambda text: (-len(text), text))
        return of_project

    def _get_project_handlers(self) -> project_handler.ProjectHandlers:
        if self._project_handlers is None:
            from openskelo.executors.handlers import project_handler  # noqa: PLC0415 -- heavy, and most runs need none

            self._project_handlers = project_handler.ProjectHandlers(self._project)
        return self._project_handlers

    def _get_mcp_servers(self) -> mcp_servers.ServerPool:
        if self._mcp_servers is None:
            from openskelo.executors import mcp_servers  # noqa: PLC0415 -- only plans need them

            self._mcp_servers = mcp_servers.ServerPool(self._project)
        return self._mcp_servers

    def _get_agents(self) -> agent_sessions.SessionPool:
        if self._agents is None:
            from openskelo.agents import sessions as agent_sessions  # noqa: PLC0415 -- few workflows have agents

            self._agents = agent_sessions.SessionPool(self._project)
        return self._agents


def _references_of(project: Project) -> tuple[str, ...]:
    """Return what the project's settings for other programs and servers name in the environment and among secrets."""
    registry = project.registry
    texts = [canonical.dumps(tool.config).decode() for tool in registry.tools.values()]
    texts += [text for server in registry.mcp.values() for text in server.headers.values()]
    texts += [text for hook in project.webhooks for text in (hook.url, hook.secret)]
    if project.models is not None:
        texts += [provider.api_key or "" for provider in project.models.providers.values()]
    return tuple(dict.fromkeys(reference for text in texts for reference in secrets.named(text)))


def _result(
    attempt: running_attempt.RunningAttempt,
    outputs: Stored | None,
    left: PartialResult,
    failure: outcome.Failure | None = None,
    feedback: Json = None,
) -> AttemptResult:
    usage = attempt.usage
    return AttemptResult(
        outcome=outcome.Outcome(
            inputs_hash=attempt.inputs_hash,
            outputs=outputs,
            output_hash=attempt.output_hash,
            failure=failure,
            verdicts=attempt.verdicts,
            metrics=outcome.Metrics(
                tokens_in=usage.tokens_in,
                tokens_out=usage.tokens_out,
                wall_ms=int((time.perf_counter() - attempt.started - usage.waited) * 1000),
                cost_nanousd=usage.cost_nanousd,
                tool_nanousd=usage.tool_nanousd,
            ),
            artifacts=left.notes,
            feedback=feedback,
            holds=attempt.holds,
            route=attempt.route,
            evidence=attempt.evidence,
            diff_hash=attempt.diff_hash,
        ),
        blobs=left.blobs,
    )


def _failure(error: errors.OpenSkeloError, retryable: bool, retry_after_ms: int | None = None) -> outcome.Failure:
    """Return the failure that an error is."""
    needs = None
    if isinstance(error, errors.OverBudget):
        needs = outcome.Needs(tokens=error.tokens, cost_nanousd=error.cost_nanousd)
    return outcome.Failure(
        code=error.code,
        message=f"{error.message} ({error.hint})" if error.hint else error.message,
        retryable=retryable,
        retry_after_ms=retry_after_ms,
        denied=isinstance(error, errors.Denied),
        escalated=isinstance(error, errors.Escalated),
        happened=error.happened if isinstance(error, errors.AttemptFailed) else "no",
        needs=needs,
        missing=isinstance(error, errors.Missing),
    )


def _contract_rejection(code: str, problems: Sequence[str], *, retryable: bool) -> Rejection:
    """Return the rejection of inputs or outputs that break the contract; if it is the outputs, the work was done."""
    failure = outcome.Failure(
        code=code,
        message="; ".join(problems),
        retryable=retryable,
        happened="yes" if code == "OUTPUT_CONTRACT" else "no",
    )
    return Rejection(failure, {"code": code, "problems": list(problems)})


def _is_repairable(attempt: running_attempt.RunningAttempt, failure: outcome.Failure) -> bool:
    """True if a model or an agent may correct its answer, given the feedback about it."""
    return attempt.request.node.work.has_prompt and failure.code in _REPAIRABLE
