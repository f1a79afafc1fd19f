"""Tokens: who may come in and as what. The file holds hashes only; a token itself is shown once, when it is made."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

import orjson

from openskelo import errors, files, whole
from openskelo.engine import clock
from openskelo.frozen import as_dict, frozen
from openskelo.kernel import answers

Role: TypeAlias = Literal["viewer", "approver", "operator"]
#: From the least to the most; each may do what those before it may.
ROLES: tuple[Role, ...] = get_args(Role)
#: A token that a person thought up must have so many characters.
SHORTEST = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


@frozen
class Token:
    """Somebody who may come in; `hash` is the SHA-256 of the token in hexadecimal digits."""

    name: str
    role: Role
    hash: str
    created_at: int


class Tokens:
    """The tokens of a data dir, read again when their file changes, and perhaps one that this process was given."""

    def __init__(self, path: Path, *, given: str | None = None) -> None:
        self._path = path
        self._given = () if given is None else (_given(given),)
        self._stamp: tuple[int, int, int] | None = None
        self._found: tuple[Token, ...] = ()

    def any(self) -> bool:
        """Whether anybody could come in with a token."""
        return bool(self._all())

    def find(self, token: str) -> Token | None:
        """Whose token this is."""
        digest = _hash(token)
        return next((one for one in self._all() if secrets.compare_digest(one.hash, digest)), None)

    def named(self, name: str) -> Token | None:
        """The token of that name."""
        return next((one for one in self._all() if one.name == name), None)

    def listed(self) -> Sequence[Token]:
        """The tokens in the file, in the order they were made."""
        self._all()
        return self._found

    def add(self, name: str, role: Role) -> str:
        """Make a token and give it; it cannot be read again (InvalidInput TOKEN_NAME, NAME_RESERVED, TOKEN_EXISTS)."""
        if name == answers.TIMER:
            raise errors.InvalidInput(
                f"`{name}` is the name of the clock, which answers when the time is up",
                code="NAME_RESERVED",
                hint="take another name",
            )
        if not _NAME.fullmatch(name):
            raise errors.InvalidInput(
                f"{name[:80]!r} cannot name a token", code="TOKEN_NAME", hint="letters, digits, and . _ @ - inside"
            )
        token = f"skelo_{secrets.token_urlsafe(32)}"
        with _Changing(self._path) as change:
            if any(one.name == name for one in change.tokens):
                raise errors.InvalidInput(
                    f"there is a token {name} already", code="TOKEN_EXISTS", hint="remove it, or take another name"
                )
            made = Token(name=name, role=role, hash=_hash(token), created_at=clock.wall_ms())
            change.tokens = (*change.tokens, made)
        return token

    def remove(self, name: str) -> None:
        """Let nobody in with this token any more (NotFound)."""
        with _Changing(self._path) as change:
            kept = tuple(one for one in change.tokens if one.name != name)
            if len(kept) == len(change.tokens):
                raise errors.NotFound(f"there is no token {name[:80]}", code="TOKEN_NOT_FOUND")
            change.tokens = kept

    def _all(self) -> tuple[Token, ...]:
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._found = () if stamp is None else _read(self._path)
            self._stamp = stamp
        return (*self._given, *self._found)


class _Changing:
    """The file's tokens, to be changed by one process at a time and written as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.tokens: tuple[Token, ...] = ()
        self._lock = -1

    def __enter__(self) -> _Changing:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self._path.with_name("tokens.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise _trouble(self._path, error) from error
        self.tokens = () if _stamp(self._path) is None else _read(self._path)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                _write(self._path, self.tokens)
        finally:
            os.close(self._lock)


def _hash(token: str) -> str:
    # Tokens that are made here are 256 random bits: a slow hash would protect nothing more.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _given(token: str) -> Token:
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise errors.InvalidInput(
            f"a token needs at least {SHORTEST} visible ASCII characters",
            code="TOKEN_WEAK",
            hint="`skelo token add NAME` makes a good one",
        )
    return Token(name="operator", role="operator", hash=_hash(token), created_at=0)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _trouble(path, error) from error
    return found.st_mtime_ns, found.st_ino, found.st_size


def _read(path: Path) -> tuple[Token, ...]:
    try:
        document = orjson.loads(files.read_plain(path))
        return tuple(_token(one) for one in document["tokens"])
    except OSError as error:
        raise _trouble(path, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise errors.Corrupt(f"{path} does not list tokens", hint="remove it and make new tokens") from error


def _token(found: dict[str, object]) -> Token:
    token = Token(**cast("dict[str, str]", found))  # pyright: ignore[reportArgumentType] - checked right below
    if token.role not in ROLES or not _NAME.fullmatch(token.name) or not re.fullmatch(r"[0-9a-f]{64}", token.hash):
        raise ValueError("not a token")
    return token


def _write(path: Path, tokens: Sequence[Token]) -> None:
    try:
        with whole.file(path, mode=0o600) as file:
            file.write(orjson.dumps({"tokens": [as_dict(one) for one in tokens]}, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise _trouble(path, error) from error


def _trouble(path: Path, error: OSError) -> errors.StoreError:
    return errors.StoreError(f"{path}: {error.strerror}", code="STORE_IO")
