"""Which expert a request is for, and what that expert is sent: a pure plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openskelo import errors
from openskelo.frozen import replace
from openskelo.kernel.json import Json
from openskelo.providers import config, failure, pinning, seam
from openskelo.values import nearest

#: What a block may say for itself, whoever answers.
_OWN = ("temperature", "top_p", "seed", "stop")


def plan(models: config.Config, request: seam.Request) -> tuple[seam.Planned, ...]:
    """The expert that `request` names and then its fallbacks, without those that do not serve in the run's mode.

    `errors.AttemptFailed`, final: EXPERT_UNKNOWN, EXPERT_MISSING, PROVIDER_UNKNOWN, MODE_NOT_ALLOWED.
    """
    if pinning.PARAMETER in request.parameters:
        return pinning.plan(models, request, request.parameters[pinning.PARAMETER])
    first = _named(models, request.parameters)
    others = [models.experts[name] for name in _fallbacks(models, first) if name != first.name]
    mode = request.parameters.get("run_mode")
    serving = [one for one in (first, *others) if mode is None or not one.modes or mode in one.modes]
    if not serving:
        message = f"the expert {first.name!r} does not serve in the mode {mode!r}"
        raise failure.final("MODE_NOT_ALLOWED", message, hint="add the mode to its `modes`, or a fallback that serves")
    return tuple(_planned(models, one, request, chosen=one is first) for one in serving)


def _named(models: config.Config, parameters: Mapping[str, Json]) -> config.ExpertConfig:
    name, provider = parameters.get("expert"), parameters.get("provider")
    if name is None and provider is None:
        name = models.default_expert
        if name is None:
            message = "no expert is named, and the project has no default"
            raise failure.final("EXPERT_MISSING", message, hint="name an `expert`, or set default_expert in skelo.yaml")
    if name is not None and name not in models.experts:
        raise _unknown("EXPERT_UNKNOWN", "expert", name, models.experts)
    if provider is not None and provider not in models.providers:
        raise _unknown("PROVIDER_UNKNOWN", "provider", provider, models.providers)
    if name is None:
        return config.ExpertConfig(name="", provider=str(provider))
    expert = models.experts[str(name)]
    return expert if provider is None else replace(expert, provider=str(provider))


def _fallbacks(models: config.Config, first: config.ExpertConfig) -> Iterable[str]:
    """All fallbacks, and theirs, nearest first, each once."""
    found = dict.fromkeys(first.fallbacks)
    queue = list(found)
    for name in queue:  # grows while it is walked
        more = [one for one in models.experts[name].fallbacks if one not in found]
        found |= dict.fromkeys(more)
        queue += more
    return found


def _planned(
    models: config.Config, expert: config.ExpertConfig, request: seam.Request, *, chosen: bool
) -> seam.Planned:
    given = request.parameters
    model = (given.get("model") if chosen else None) or expert.model or models.providers[expert.provider].model
    extras = given.get("model_params") if chosen else None
    told: dict[str, Json] = {
        "model": model,
        "temperature": expert.temperature,
        "top_p": expert.top_p,
        "seed": expert.seed,
        **{name: given[name] for name in _OWN if given.get(name) is not None},
        "model_params": {**expert.parameters, **(extras if isinstance(extras, Mapping) else {})} or None,
    }
    sent = replace(
        request,
        messages=_messages(expert, request),
        parameters={name: value for name, value in told.items() if value is not None},
        max_tokens=request.max_tokens or expert.max_tokens,
    )
    return seam.Planned(request=sent, expert=expert.name, provider=expert.provider, model=str(model or ""))


def _messages(expert: config.ExpertConfig, request: seam.Request) -> tuple[seam.Message, ...]:
    """The expert's own words and the block's go in front."""
    own = request.parameters.get("system")
    texts = (expert.system, own if isinstance(own, str) else "")
    return pinning.in_front("\n\n".join(text for text in texts if text.strip()), request.messages)


def _unknown(code: str, what: str, name: Json, known: Iterable[str]) -> errors.AttemptFailed:
    names = sorted(known)
    near = nearest.name_like(str(name), names)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(names) or 'none'}"
    return failure.final(code, f"there is no {what} {str(name)[:80]!r}", hint=hint)
