"""Sessions of browsers: a signed cookie that names a token without containing it, and its CSRF token.

A session ends with its token, after a week, or with a log-out. The server keeps no list of sessions: only
logged-out ones are stored, in `sessions.json`, until their week is over.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import time
from pathlib import Path
from typing import Any, cast

import orjson

from openskelo import errors, files
from openskelo.server.auth import json_file, tokens

#: The prefix of cookie names. A browser sends cookies to every port of a host, so each data dir adds its own suffix.
COOKIE_PREFIX = "skelo_session"
LIFETIME_SECONDS = 7 * 24 * 3600


class Sessions:
    """Creates, reads and ends sessions, with a key that only this data dir has."""

    def __init__(self, data_dir: Path, known_tokens: tokens.Tokens) -> None:
        self._key = _load_or_create_key(data_dir / "session.key")
        self._tokens = known_tokens
        self._ended = _EndedSessions(data_dir / "sessions.json")
        #: The cookie's name: the same for all servers over this data dir, and for no other.
        self.cookie_name = f"{COOKIE_PREFIX}_{self._sign('cookie', '')[:12]}"

    def create(self, token: tokens.Token) -> str:
        """Return a new cookie for the owner of a token."""
        document = {
            "name": token.name,
            "token": token.hash[:16],
            "until": int(time.time()) + LIFETIME_SECONDS,
            "nonce": secrets.token_urlsafe(12),
        }
        body = base64.urlsafe_b64encode(orjson.dumps(document)).decode().rstrip("=")
        return f"{body}.{self._sign('session', body)}"

    def read(self, cookie: str) -> tokens.Identity | None:
        """Return the owner of a cookie; None if it is forged, too old or logged out, or its token was removed."""
        body, _, signature = cookie.partition(".")
        if not cookie.isascii() or not hmac.compare_digest(signature, self._sign("session", body)):
            return None
        document = _decode(body)
        token = self._tokens.find_by_hash(str(document["name"]), str(document["token"]))
        is_over = int(document["until"]) < time.time() or str(document["nonce"]) in self._ended
        if token is None or is_over:
            return None
        return tokens.Identity(name=token.name, role=token.role, csrf=self._sign("csrf", body))

    def end(self, cookie: str) -> None:
        """End the session of a cookie at every server of the data dir, for good (StoreError)."""
        if self.read(cookie) is not None:
            document = _decode(cookie.partition(".")[0])
            self._ended.add(str(document["nonce"]), int(document["until"]))

    def _sign(self, purpose: str, body: str) -> str:
        return hmac.new(self._key, f"{purpose}:{body}".encode(), hashlib.sha256).hexdigest()


def _decode(body: str) -> dict[str, str | int]:
    return cast("dict[str, str | int]", orjson.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))


class _EndedSessions:
    """The sessions that a log-out has ended before their time, by nonce: a copy of their cookie must not work."""

    def __init__(self, path: Path) -> None:
        self._file = json_file.JsonFile(path)
        self._version: json_file.Version = None
        self._until: dict[str, int] = {}

    def __contains__(self, nonce: str) -> bool:
        version = self._file.version()
        if version != self._version:
            self._until = self._parse(self._file.read())
            self._version = version
        return nonce in self._until

    def add(self, nonce: str, until: int) -> None:
        """Keep the nonce until its session is over anyway."""
        with self._file.change() as document:
            live_sessions = {
                session_hash: end for session_hash, end in self._parse(document).items() if end >= time.time()
            }
            document["ended"] = {**live_sessions, nonce: until}

    def _parse(self, document: dict[str, Any]) -> dict[str, int]:
        try:
            return {str(nonce): int(until) for nonce, until in document.get("ended", {}).items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise self._file.corrupt() from error


def _load_or_create_key(path: Path) -> bytes:
    """Return the key of a data dir, created at the first call; only the owner of the file can read it."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            return _read_key(path)
        with os.fdopen(descriptor, "wb") as file:
            key = secrets.token_bytes(32)
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise errors.StoreError(f"{path}: {error.strerror}", code="STORE_IO") from error
    return key


def _read_key(path: Path) -> bytes:
    key = files.read_plain(path)
    if len(key) < 32:
        raise errors.Corrupt(f"{path} is not a session key", hint="remove it; all browsers have to log in again")
    return key
