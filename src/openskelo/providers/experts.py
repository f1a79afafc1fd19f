"""Chooses the experts for a request: a pure function from the project's models and a request to its routes.

A request names an expert (or a provider, or neither: then the project's default answers). `plan` returns a route for
that expert and one for each of its fallbacks, with the system prompt, model and parameters filled in.

Pinning fixes the experts of a workflow when it is loaded, so that later changes of skelo.yaml do not change a run:
`pin` writes the routes into the workflow as JSON, and `plan` reads them back from a request that carries them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config, failure_codes, protocol
from openskelo.structs import replace
from openskelo.values import suggestions

#: The parameter of a request that holds its pinned routes.
PINNED_PARAMETER = "pinned"
#: Parameters that a block may set, whichever expert answers.
_BLOCK_PARAMETERS = ("temperature", "top_p", "seed", "stop")


def plan(models: config.Config, request: protocol.Request) -> tuple[protocol.Route, ...]:
    """Return the routes of `request`: the expert that it names, then its fallbacks, if they serve in the run's mode.

    Raise AttemptFailed, never retried: EXPERT_UNKNOWN, EXPERT_MISSING, PROVIDER_UNKNOWN, MODE_NOT_ALLOWED.
    """
    if PINNED_PARAMETER in request.parameters:
        return _read_pinned(models, request, request.parameters[PINNED_PARAMETER])
    first = _find_expert(models, request.parameters)
    fallbacks = [models.experts[name] for name in _fallbacks(models, first) if name != first.name]
    mode = request.parameters.get("run_mode")
    serving = [expert for expert in (first, *fallbacks) if mode is None or not expert.modes or mode in expert.modes]
    if not serving:
        message = f"the expert {first.name!r} does not serve in the mode {mode!r}"
        raise failure_codes.final(
            "MODE_NOT_ALLOWED", message, hint="add the mode to its `modes`, or a fallback that serves"
        )
    return tuple(_route(models, expert, request, chosen=expert is first) for expert in serving)


def _find_expert(models: config.Config, parameters: Mapping[str, Json]) -> config.ExpertConfig:
    name, provider = parameters.get("expert"), parameters.get("provider")
    if name is None and provider is None:
        name = models.default_expert
        if name is None:
            message = "no expert is named, and the project has no default"
            raise failure_codes.final(
                "EXPERT_MISSING", message, hint="name an `expert`, or set default_expert in skelo.yaml"
            )
    if name is not None and name not in models.experts:
        raise _unknown("EXPERT_UNKNOWN", "expert", name, models.experts)
    if provider is not None and provider not in models.providers:
        raise _unknown("PROVIDER_UNKNOWN", "provider", provider, models.providers)
    if name is None:
        return config.ExpertConfig(name="", provider=str(provider))
    expert = models.experts[str(name)]
    if provider is None:
        return expert
    return replace(expert, provider=str(provider))


def _fallbacks(models: config.Config, first: config.ExpertConfig) -> Iterable[str]:
    """Return the names of all fallbacks, and of their fallbacks, nearest first, each once."""
    names = dict.fromkeys(first.fallbacks)
    queue = list(names)
    for name in queue:  # the list grows while it is walked
        more = [fallback for fallback in models.experts[name].fallbacks if fallback not in names]
        names |= dict.fromkeys(more)
        queue += more
    return names


def _route(
    models: config.Config, expert: config.ExpertConfig, request: protocol.Request, *, chosen: bool
) -> protocol.Route:
    parameters = request.parameters
    model = (parameters.get("model") if chosen else None) or expert.model or models.providers[expert.provider].model
    extras = parameters.get("model_params") if chosen else None
    settings: dict[str, Json] = {
        "model": model,
        "temperature": expert.temperature,
        "top_p": expert.top_p,
        "seed": expert.seed,
        **{name: parameters[name] for name in _BLOCK_PARAMETERS if parameters.get(name) is not None},
        "model_params": {**expert.parameters, **(extras if isinstance(extras, Mapping) else {})} or None,
    }
    routed_request = replace(
        request,
        messages=_messages(expert, request),
        parameters={name: value for name, value in settings.items() if value is not None},
        max_tokens=request.max_tokens or expert.max_tokens,
    )
    return protocol.Route(request=routed_request, expert=expert.name, provider=expert.provider, model=str(model or ""))


def _messages(expert: config.ExpertConfig, request: protocol.Request) -> tuple[protocol.Message, ...]:
    """Return the messages after the system prompts of the expert and of the block."""
    system = request.parameters.get("system")
    texts = (expert.system, system if isinstance(system, str) else "")
    return _prepend_system("\n\n".join(text for text in texts if text.strip()), request.messages)


def _unknown(code: str, what: str, name: Json, choices: Iterable[str]) -> errors.AttemptFailed:
    names = sorted(choices)
    similar = suggestions.name_like(str(name), names)
    hint = f"did you mean {similar!r}?" if similar else f"known: {', '.join(names) or 'none'}"
    return failure_codes.final(code, f"there is no {what} {str(name)[:80]!r}", hint=hint)


def pin(routes: Sequence[protocol.Route], models: config.Config) -> list[Json]:
    """Return the routes as JSON: all that an answer depends on, but no address, key or time limit."""
    return [_pin_route(route, models.providers[route.provider].kind) for route in routes]


def _pin_route(route: protocol.Route, kind: str) -> JsonObject:
    document: dict[str, Json] = {"expert": route.expert, "provider": route.provider, "kind": kind, "model": route.model}
    if route.request.max_tokens is not None:
        document["max_tokens"] = route.request.max_tokens
    if route.request.parameters:
        document["parameters"] = route.request.parameters
    if route.request.messages:
        document["system"] = route.request.messages[0].text
    return document


def _read_pinned(models: config.Config, request: protocol.Request, pinned: Json) -> tuple[protocol.Route, ...]:
    """Return the pinned routes with the messages and schema of `request`; raise PROVIDER_UNKNOWN if one is gone."""
    routes = pinned if isinstance(pinned, Sequence) and not isinstance(pinned, str) else ()
    return tuple(_read_pinned_route(models, request, route) for route in routes if isinstance(route, Mapping))


def _read_pinned_route(models: config.Config, request: protocol.Request, route: Mapping[str, Json]) -> protocol.Route:
    provider, kind = str(route.get("provider")), route.get("kind")
    if provider not in models.providers or models.providers[provider].kind != kind:
        raise failure_codes.final(
            "PROVIDER_UNKNOWN",
            f"the run asks the provider {provider!r} of kind {kind!r}, which the project no longer has",
            hint="bring it back in skelo.yaml, or fork the run with the changed file",
        )
    system, parameters, limit = route.get("system"), route.get("parameters"), route.get("max_tokens")
    return protocol.Route(
        request=protocol.Request(
            node=request.node,
            messages=_prepend_system(system if isinstance(system, str) else "", request.messages),
            schema=request.schema,
            parameters=parameters if isinstance(parameters, Mapping) else {},
            max_tokens=limit if isinstance(limit, int) else request.max_tokens,
        ),
        expert=str(route.get("expert")),
        provider=provider,
        model=str(route.get("model")),
    )


def _prepend_system(system: str, messages: Sequence[protocol.Message]) -> tuple[protocol.Message, ...]:
    """Return the messages with `system` first, merged into one system message: some models take only one."""
    texts = [system]
    rest = list(messages)
    while rest and rest[0].role == "system":
        texts.append(rest.pop(0).text)
    text = "\n\n".join(text for text in texts if text.strip())
    if not text:
        return tuple(rest)
    return (protocol.Message(role="system", text=text), *rest)
