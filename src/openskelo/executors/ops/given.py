"""What a function of an op is given: the step's own arguments, the project's over them, held to one schema."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from openskelo import errors
from openskelo.executors import job, work
from openskelo.handlers import context, secret
from openskelo.kernel.json import Json, JsonObject
from openskelo.values import schema


def merged(args: JsonObject, fixed: JsonObject) -> JsonObject:
    """The arguments of a call: what the project fixed goes over what the plan says."""
    return {**args, **fixed} if fixed else args


def check(what: str, args: JsonObject, rules: JsonObject | None) -> None:
    """Nothing when `args` keep the schema `rules`, else AttemptFailed ARGS_INVALID, never retried."""
    found = () if rules is None else schema.compile(rules).check(args)
    if found:
        listed = "; ".join(f"{one.path or '/'}: {one.message}" for one in found)
        raise errors.AttemptFailed(f"the arguments of {what}: {listed}", code="ARGS_INVALID", retryable=False)


def expanded(value: Json, secrets: Mapping[str, str] | None) -> Json:
    """A value of the project's own with `${env:…}` and `${secret:…}` resolved in all its texts (SECRET_MISSING)."""
    match value:
        case str():
            return secret.resolve(value, secrets)
        case Mapping():
            return {key: expanded(part, secrets) for key, part in value.items()}
        case list() | tuple():
            return [expanded(part, secrets) for part in value]
        case _:
            return value


def refers_to_secret(value: Json) -> bool:
    """Whether any text in `value` names a secret or an environment variable."""
    match value:
        case str():
            return secret.references(value)
        case Mapping():
            return any(refers_to_secret(part) for part in value.values())
        case list() | tuple():
            return any(refers_to_secret(part) for part in value)
        case _:
            return False


def to(one: job.Job, means: work.Means, inputs: JsonObject, config: JsonObject) -> context.Context:
    """The context of a function that is called for a step: its arguments are `inputs`."""
    of = one.task
    return context.Context(
        inputs=work.own(inputs),
        config=work.own(config),
        block_id=of.node.key,
        run_id=of.run_id,
        attempt=of.attempt,
        feedback=work.own(of.feedback),
        _visit=of.visit,
        _now=of.now,
        _secrets=means.project.secrets,
        _lines=one.lines,
    )


def player(one: job.Job, means: work.Means) -> Callable[[context.Context], Awaitable[object]] | None:
    """Whoever the program brought along to play the tool or the checker of this step, as `step:ID`; mostly nobody."""
    found = means.local.get(f"step:{one.task.node.key}")
    return None if found is None else lambda ctx: found.call(found.handler, ctx, one.lines)
