"""Builds the nodes of a Workflow from the checked steps of a plan.

A step becomes one node. Its `next` is the step behind it, its jumps lead where the author says, with one exception: a
retry that stands right behind the step it tries takes that step's place. Every jump to the step then leads to the
retry, and the run goes on behind both, so that the step is not done again after it has succeeded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import cast

from openskelo import ops
from openskelo.handlers import project_registry
from openskelo.kernel import definition, events
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import checkers, functions
from openskelo.structs import replace
from openskelo.workflows.blocks import approvals
from openskelo.workflows.plan import name_check, step

_ANSWER: JsonObject = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "additionalProperties": False,
}
_DEFAULT_DELAY_MS = 1_000


def build_nodes(
    drafts: Mapping[str, step.Draft], scope: name_check.Scope, outputs: JsonObject
) -> dict[str, definition.Node]:
    """Return the nodes of a plan whose jumps are checked; `outputs` are those of the plan."""
    drafts = {key: _with_outputs(draft, outputs) if draft.op == "emit" else draft for key, draft in drafts.items()}
    retries = _retries_of_previous(drafts)
    following = {
        key: None if after is None else retries.get(after, after)
        for key, after in zip(drafts, [*list(drafts)[1:], None], strict=True)
    }
    following |= {key: following[retry] for key, retry in retries.items()}
    return {key: _node(draft, following[key], retries, scope) for key, draft in drafts.items()}


def entry(drafts: Mapping[str, step.Draft]) -> str:
    """Return where a run starts: the first step, or the retry right behind it."""
    first = next(iter(drafts))
    return _retries_of_previous(drafts).get(first, first)


def _retries_of_previous(drafts: Mapping[str, step.Draft]) -> dict[str, str]:
    """Return the retries that stand right behind the step they try, by that step."""
    return {
        key: after
        for key, after in itertools.pairwise(drafts)
        if drafts[after].op == "retry" and drafts[after].text("step_id") == key
    }


def _node(
    draft: step.Draft, following: str | None, retries: Mapping[str, str], scope: name_check.Scope
) -> definition.Node:
    tool = name_check.tool_of(draft, scope) if draft.op == "tool_call" else None
    return definition.Node(
        key=draft.id,
        mode=ops.OPS[draft.op].node_mode,
        label=draft.id,
        description=draft.description,
        config=_config(draft, scope),
        approval=_approval(draft) if draft.op == "ask_human" else None,
        retry=_retry(draft),
        timeout_ms=draft.timeout_ms or (tool.timeout_ms if tool is not None else None),
        repairs=_repairs(draft),
        effect=_effect(draft, tool, scope),
        reserve=_reserve(draft, tool),
        step=_step(draft, following, retries),
    )


def _with_outputs(draft: step.Draft, outputs: JsonObject) -> step.Draft:
    """Return an emit with the refs of the plan's `outputs` where it has none of its own."""
    declared_refs = {key: value for key, value in outputs.items() if key in ("result_ref", "audit_refs")}
    return replace(draft, args={**declared_refs, **draft.args})


def _effect(draft: step.Draft, tool: project_registry.Tool | None, scope: name_check.Scope) -> definition.Effect:
    """Return the effect of a step.

    A checker that looks at more than its value (files, processes) may decide differently on another day. It is
    `idempotent`, not `pure`, so that a replay does not run it again.
    """
    if tool is not None:
        return tool.effect
    checker = functions.checker(scope.registry, draft.text("checker_id") or "") if draft.op == "verify" else None
    outside = checker is not None and (checker.kind == "python" or checkers.CHECKERS[checker.target].reads_outside)
    return "idempotent" if outside else ops.OPS[draft.op].effect


def _reserve(draft: step.Draft, tool: project_registry.Tool | None) -> definition.Amount:
    """Return what an attempt reserves according to the step itself; `pinning` adds prices and prompts later."""
    max_new_tokens = draft.args.get("max_new_tokens")
    tokens = max_new_tokens if isinstance(max_new_tokens, int) and draft.op == "route_expert" else 0
    cost = 0 if tool is None else tool.cost_nanousd
    if tokens or cost:
        return definition.Amount(tokens=tokens, tool_nanousd=cost)
    return definition.NOTHING


def _step(draft: step.Draft, following: str | None, retries: Mapping[str, str]) -> definition.Step:
    def jump(name: str) -> str | None:
        target = draft.text(name)
        if target is None:
            return None
        return retries.get(target, target)

    op = draft.op
    after = following if ops.OPS[op].saves_value else None
    return definition.Step(
        op=op,
        args=draft.args,
        save_as=draft.save_as,
        next=(jump("resume") or after) if op == "ask_human" else after,
        then=jump("then") if op == "branch" else None,
        otherwise=(jump("else") or following) if op == "branch" else None,
        target=draft.text("step_id") if op == "retry" else None,
        on_denied=jump("on_denied"),
        ending=cast("events.Ending", draft.text("status")) if op == "emit" else None,
        max_visits=draft.max_visits,
    )


def _config(draft: step.Draft, scope: name_check.Scope) -> JsonObject:
    """Return the settings of an expert, under the names that blocks use; `denied` is why the mode denies it."""
    if draft.op != "route_expert":
        return {}
    names = {"expert_id": "expert", "max_new_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p"}
    names |= {"seed": "seed", "stop": "stop", "system": "system"}
    config: dict[str, Json] = {name: draft.written_value(key) for key, name in names.items() if key in draft.args}
    denial = name_check.denial(draft, scope)
    if denial is not None:
        config["denied"] = denial
    return config


def _repairs(draft: step.Draft) -> int:
    repairs = draft.args.get("repairs")
    if isinstance(repairs, int):
        return repairs
    if draft.op == "route_expert" and "output_schema" in draft.args:
        return 1
    return 0


def _retry(draft: step.Draft) -> definition.Retry:
    if draft.op != "retry":
        return _stalling(draft)
    args = draft.args
    backoff = cast("definition.Backoff", args["backoff"])
    return definition.Retry(
        max_attempts=1 + cast("int", args["max_retries"]),  # the first try is no retry
        backoff=backoff,
        delay_ms=cast("int", args.get("delay_ms", 0 if backoff == "none" else _DEFAULT_DELAY_MS)),
        max_delay_ms=cast("int", args["max_delay_ms"]),
        stall_after=0,
    )


def _stalling(draft: step.Draft) -> definition.Retry:
    """Return the policy of a step that is tried once, with the number of passes without progress that stall it.

    A retry has its own bound and its own exit (RETRY_EXHAUSTED), so it does not ask.
    """
    if not step.may_stall(draft.op):
        return definition.Retry(stall_after=0)
    if draft.stall_after is None:
        return definition.ONE_TRY
    return definition.Retry(stall_after=draft.stall_after)


def _approval(draft: step.Draft) -> definition.Approval:
    request = cast("JsonObject", draft.args["request"])
    timeout = draft.args.get("timeout_ms")
    approvers = draft.written_value("approvers")
    return definition.Approval(
        # The message is plain text, but the prompt of an approval is a template: escape its braces.
        prompt=str(request["message"]).replace("{{", "\\{{"),
        approvers=tuple(map(str, approvers)) if isinstance(approvers, list) else (),
        timeout_ms=timeout if isinstance(timeout, int) else None,
        form=answer_form(draft),
    )


def answer_form(draft: step.Draft) -> JsonObject:
    """Return the form of an ask_human: its `answer`, by default one text, which must be given if the step saves it."""
    if "answer" in draft.args:
        return approvals.form(draft.at("answer"))
    if draft.save_as is None:
        return _ANSWER
    return {**_ANSWER, "required": ["answer"]}


def contexts(uses: Iterable[step.Use], declared: Iterable[str]) -> tuple[str, ...]:
    """Return the `ctx:` and `snap:` names that a plan needs, declared ones first, in the order of the text."""
    roots = (use.ref.root for use in uses if use.ref.kind in ("ctx", "snap"))
    return tuple(dict.fromkeys((*declared, *roots)))
