"""The `webhooks` of a `skelo.yaml`: whom to tell when a person is asked, a run ends or a run stalls."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from openskelo.contract import webhook
from openskelo.workflows import cursor

_REFERENCE = re.compile(r"\$\{(env|secret):[A-Za-z_][A-Za-z0-9_.-]*\}")


def read(found: cursor.Cursor) -> tuple[webhook.Webhook, ...]:
    """The hooks that are right; Problems say what is wrong with the others."""
    hooks: dict[str, webhook.Webhook] = {}
    for entry in found.items() or ():
        fields = entry.fields({"url", "events", "secret"})
        hook = None if fields is None else _hook(fields)
        if hook is None:
            continue
        if hook.url in hooks:
            entry.problem("DUPLICATE_ID", "two webhooks have the same address", hint="name all events in one of them")
        hooks[hook.url] = hook
    return tuple(hooks.values())


def _hook(fields: cursor.Fields) -> webhook.Webhook | None:
    url, secret = fields.need("url"), fields.need("secret")
    events = _events(fields.get("events"))
    address = None if url is None else url.text(blank=False)
    if url is not None and address is not None and not _is_address(address):
        # The address itself is not shown: what follows its host is often a secret.
        url.problem("ADDRESS_INVALID", "the webhook's `url` is no http or https address")
        address = None
    reference = None if secret is None else secret.text(blank=False)
    if secret is not None and reference is not None and not _REFERENCE.fullmatch(reference):
        hint = "write ${secret:NAME} and name it under `secrets`; the value itself stays out of the file"
        secret.problem("SECRET_INVALID", "the webhook's `secret` must name a secret", hint=hint)
        reference = None
    if address is None or reference is None or events is None:
        return None
    return webhook.Webhook(url=address, secret=reference, events=events)


def _events(found: cursor.Cursor | None) -> tuple[str, ...] | None:
    """All of them, unless some are named."""
    if found is None:
        return webhook.EVENTS
    named = [entry.choice(webhook.EVENTS) for entry in found.items() or ()]
    chosen = tuple(dict.fromkeys(name for name in named if name is not None))
    if not named:
        found.problem("EMPTY", f"{found.name} is empty", hint="leave it out to be told of everything")
    return chosen or None


def _is_address(text: str) -> bool:
    """What a whole address may be made of is not known here when it is all a secret."""
    if _REFERENCE.match(text):
        return True
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        return False
