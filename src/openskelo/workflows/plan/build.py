"""The checked steps of a plan as nodes of a workflow."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import cast

from openskelo.frozen import replace
from openskelo.handlers import op_catalog, registry
from openskelo.kernel import definition, events
from openskelo.kernel.json import Json, JsonObject
from openskelo.workflows import approvals
from openskelo.workflows.plan import ops, reach, step

#: What a person answers who is asked for nothing in particular.
ANSWER: JsonObject = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "additionalProperties": False,
}
_MODES: Mapping[definition.Op, definition.Mode] = {"route_expert": "ai", "ask_human": "approval"}
_GROWING_MS = 1_000


def nodes(
    drafts: Mapping[str, step.Draft], around: reach.Reach, inputs: Collection[str], outputs: JsonObject
) -> dict[str, definition.Node]:
    """The nodes, each with the step after it; jumps lead to steps that are there. What else is given is the plan's."""
    drafts = {key: _with_task(draft) if "task" in inputs else draft for key, draft in drafts.items()}
    drafts = {key: _with_outputs(draft, outputs) if draft.op == "emit" else draft for key, draft in drafts.items()}
    through = _guarded(drafts)
    following = {
        key: None if after is None else through.get(after, after)
        for key, after in zip(drafts, [*list(drafts)[1:], None], strict=True)
    }
    following |= {key: following[guard] for key, guard in through.items()}
    return {key: _node(draft, following[key], through, around) for key, draft in drafts.items()}


def entry(drafts: Mapping[str, step.Draft]) -> str:
    """Where a run begins: at the first step, or at the retry right behind it."""
    first = next(iter(drafts))
    return _guarded(drafts).get(first, first)


def _guarded(drafts: Mapping[str, step.Draft]) -> dict[str, str]:
    """Every step that has a retry of itself right behind it, with that retry: whatever leads to the step leads to the
    retry, which tries it and goes on after both. So an error of the step is the retry's to deal with, and a step that
    has succeeded is not done again."""
    return {
        key: after
        for key, after in itertools.pairwise(drafts)
        if drafts[after].op == "retry" and drafts[after].text("step_id") == key
    }


def _node(draft: step.Draft, following: str | None, through: Mapping[str, str], around: reach.Reach) -> definition.Node:
    tool = reach.tool_of(draft, around) if draft.op == "tool_call" else None
    return definition.Node(
        key=draft.id,
        mode=_MODES.get(draft.op, "deterministic"),
        label=draft.id,
        description=draft.description,
        config=_config(draft, around),
        approval=_approval(draft) if draft.op == "ask_human" else None,
        retry=_retry(draft),
        timeout_ms=draft.timeout_ms or (tool.timeout_ms if tool is not None else None),
        repairs=_repairs(draft),
        effect=_effect(draft, tool, around),
        reserve=_reserve(draft, tool),
        step=_step(draft, following, through),
    )


def _with_task(draft: step.Draft) -> step.Draft:
    """A prompt begins with the plan's task where the step names no other: it is then among what the step is given."""
    if draft.op != "transform" or draft.args.get("fn") != "assemble_prompt" or "task" in draft.args:
        return draft
    return replace(draft, args={**draft.args, "task": "input:task"})


def _with_outputs(draft: step.Draft, outputs: JsonObject) -> step.Draft:
    """An emit gives what the plan's `outputs` name where it names nothing itself."""
    declared = {key: value for key, value in outputs.items() if key in ("result_ref", "audit_refs")}
    return replace(draft, args={**declared, **draft.args})


def _effect(draft: step.Draft, tool: registry.Tool | None, around: reach.Reach) -> definition.Effect:
    """Checks that look at more than their value may come out otherwise another day: a replay leaves them alone."""
    if tool is not None:
        return tool.effect
    checker = op_catalog.checker(around.registry, draft.text("checker_id") or "") if draft.op == "verify" else None
    outside = checker is not None and (checker.kind == "python" or checker.target in op_catalog.LOOKING_OUT)
    return "idempotent" if outside else "pure"


def _reserve(draft: step.Draft, tool: registry.Tool | None) -> definition.Amount:
    """What is set aside before an attempt as far as the step itself says; prices and prompts are added later."""
    longest = draft.args.get("max_new_tokens")
    tokens = longest if isinstance(longest, int) and draft.op == "route_expert" else 0
    cost = 0 if tool is None else tool.cost_nanousd
    return definition.Amount(tokens=tokens, tool_nanousd=cost) if tokens or cost else definition.NOTHING


def _step(draft: step.Draft, following: str | None, through: Mapping[str, str]) -> definition.Step:
    def jump(name: str) -> str | None:
        told = draft.text(name)
        return None if told is None else through.get(told, told)

    op = draft.op
    after = None if op in ops.SILENT else following
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


def _config(draft: step.Draft, around: reach.Reach) -> JsonObject:
    """What an expert is asked with, under the names that blocks have for it; `denied` says why it will not be."""
    if draft.op != "route_expert":
        return {}
    names = {"expert_id": "expert", "max_new_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p"}
    names |= {"seed": "seed", "stop": "stop", "system": "system"}
    found: dict[str, Json] = {name: draft.args[key] for key, name in names.items() if key in draft.args}
    if isinstance(system := found.get("system"), Mapping):
        found["system"] = system["$literal"]
    why = reach.denial(draft, around)
    return found if why is None else {**found, "denied": why}


def _repairs(draft: step.Draft) -> int:
    told = draft.args.get("repairs")
    if isinstance(told, int):
        return told
    return 1 if draft.op == "route_expert" and "output_schema" in draft.args else 0


def _retry(draft: step.Draft) -> definition.Retry:
    if draft.op != "retry":
        return definition.Retry(stall_after=0)
    args = draft.args
    backoff = cast("definition.Backoff", args["backoff"])
    return definition.Retry(
        max_attempts=cast("int", args["max_retries"]),
        backoff=backoff,
        delay_ms=cast("int", args.get("delay_ms", 0 if backoff == "none" else _GROWING_MS)),
        max_delay_ms=cast("int", args["max_delay_ms"]),
        stall_after=0,
    )


def _approval(draft: step.Draft) -> definition.Approval:
    request = cast("JsonObject", draft.args["request"])
    timeout, who = draft.args.get("timeout_ms"), draft.args.get("approvers")
    return definition.Approval(
        # The message is a text, and the prompt of an approval a template.
        prompt=str(request["message"]).replace("{{", "\\{{"),
        approvers=tuple(map(str, who)) if isinstance(who, list) else (),
        timeout_ms=timeout if isinstance(timeout, int) else None,
        form=approvals.form(draft.at("answer")) if "answer" in draft.args else ANSWER,
    )


def contexts(uses: Iterable[step.Use], declared: Iterable[str]) -> tuple[str, ...]:
    """The `ctx:` and `snap:` names that a plan needs, in their order."""
    read = (use.ref.root for use in uses if use.ref.kind in ("ctx", "snap"))
    return tuple(dict.fromkeys((*declared, *read)))
