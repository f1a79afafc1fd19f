"""Sessions of browsers: a signed cookie that names a token without holding it, and what proves that a change is meant.

Nothing is kept in memory: the signature and the token's own entry say everything, so that a restart logs nobody out and
the removal of a token ends its sessions at once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import time
from pathlib import Path
from typing import cast

import orjson

from openskelo import errors, files
from openskelo.server import identity, tokens

#: How the names of cookies begin. A browser sends cookies to every port of a host: each data dir has a name of its own.
COOKIE = "skelo_session"
LIFETIME_SECONDS = 7 * 24 * 3600


class Sessions:
    """Makes and reads cookies with a key that only this data dir has."""

    def __init__(self, key: bytes, known: tokens.Tokens) -> None:
        self._key = key
        self._tokens = known
        #: The name of the cookie, the same for all servers over this data dir and for no other.
        self.cookie = f"{COOKIE}_{self._sign('cookie', '')[:12]}"

    def begin(self, token: tokens.Token) -> str:
        """A cookie for whoever has shown this token."""
        document = {
            "name": token.name,
            "token": token.hash[:16],
            "until": int(time.time()) + LIFETIME_SECONDS,
            "nonce": secrets.token_urlsafe(12),
        }
        body = base64.urlsafe_b64encode(orjson.dumps(document)).decode().rstrip("=")
        return f"{body}.{self._sign('session', body)}"

    def read(self, cookie: str) -> identity.Identity | None:
        """Whom the cookie stands for; None for one that is forged, too old, or of a token that is gone."""
        body, _, signature = cookie.partition(".")
        if not cookie.isascii() or not hmac.compare_digest(signature, self._sign("session", body)):
            return None
        document = cast("dict[str, str | int]", orjson.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))
        token = self._tokens.named(str(document["name"]))
        if token is None or token.hash[:16] != document["token"] or int(document["until"]) < time.time():
            return None
        return identity.Identity(name=token.name, role=token.role, csrf=self._sign("csrf", body))

    def _sign(self, purpose: str, body: str) -> str:
        return hmac.new(self._key, f"{purpose}:{body}".encode(), hashlib.sha256).hexdigest()


def key_at(path: Path) -> bytes:
    """The key of a data dir, made at the first call; only its owner can read it."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            return _read(path)
        with os.fdopen(descriptor, "wb") as file:
            key = secrets.token_bytes(32)
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise errors.StoreError(f"{path}: {error.strerror}", code="STORE_IO") from error
    return key


def _read(path: Path) -> bytes:
    key = files.read_plain(path)
    if len(key) < 32:
        raise errors.Corrupt(f"{path} is no key", hint="remove it; everybody has to log in again")
    return key
