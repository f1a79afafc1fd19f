"""What `builtin:http-request` is told, before anybody is asked: URL, headers, one body, and texts that render."""

from __future__ import annotations

from collections.abc import Mapping

from openskelo.handlers import header, secret, url
from openskelo.kernel.json import JsonObject
from openskelo.workflows import cursor, scope

#: Where the body of a request may come from: one of them at most.
_BODIES = ("json_from", "json", "body_from", "body")


def check(config: JsonObject, place: cursor.Cursor, variables: scope.Variables) -> None:
    """Problems of a config whose values have the right types."""
    given = [key for key in _BODIES if key in config]
    for key in given[1:]:
        place.at(key, None).key_problem("CONFLICT", f"the body is given by `{given[0]}` already", hint="leave one out")
    _check_url(place.at("url", config.get("url")))
    _check_headers(place.at("headers", config.get("headers")))
    _check_texts([place.at(key, config.get(key)) for key in ("url", "body", "json")], variables)


def _check_url(spot: cursor.Cursor) -> None:
    if not isinstance(spot.value, str) or "{{" in spot.value:  # what is filled in may be all that is missing
        return
    if (why := url.fault(spot.value)) is not None:
        spot.problem("URL_INVALID", f"the URL is not usable: {why}")


def _check_headers(place: cursor.Cursor) -> None:
    headers: JsonObject = place.value if isinstance(place.value, Mapping) else {}
    seen: set[str] = set()
    for name, text in headers.items():
        spot = place.at(name, text)
        if name.lower() in seen:
            spot.key_problem("CONFLICT", f"the header {name[:60]!r} is there already", hint="case makes no difference")
        seen.add(name.lower())
        if not isinstance(text, str):
            continue
        if not header.can_be_set(name, secret.mask(text, secret.named(text))):
            spot.key_problem("DET_CONFIG_INVALID", f"the header {name[:60]!r} cannot be set", hint=header.HINT)
        elif "{{" in text:
            hint = "give headers that come from data by `headers_from`"
            spot.warn("NOT_FILLED_IN", "`{{ … }}` is not filled in here, and sent as it stands", hint=hint)


def _check_texts(todo: list[cursor.Cursor], variables: scope.Variables) -> None:
    """Texts, wherever they stand in JSON, have to be templates that can be rendered; secrets are for headers."""
    for spot in todo:  # grows while it is walked
        match spot.value:
            case str():
                scope.check_template(spot, variables)
                if secret.references(spot.value):
                    named = secret.named(spot.value)[0]
                    message = f"`{named}` is not filled in here, and sent as it stands"
                    spot.warn("NOT_FILLED_IN", message, hint="secrets belong into `headers`, where nothing keeps them")
            case Mapping():
                todo += [spot.at(key, value) for key, value in spot.value.items()]
            case list():
                todo += [spot.at(index, value) for index, value in enumerate(spot.value)]
            case _:
                pass
