"""Access tokens with their roles. The file holds hashes only; a token itself is shown once, when it is created."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from openskelo import clock, errors
from openskelo.kernel import answers
from openskelo.server.auth import json_file
from openskelo.structs import as_dict, frozen

Role: TypeAlias = Literal["viewer", "approver", "operator"]
#: From the least to the most powerful; each role may do what the roles before it may.
ROLES: tuple[Role, ...] = get_args(Role)
#: The minimum length of a token that a person has chosen.
MIN_CHARACTERS = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


@frozen
class Token:
    """A token's entry."""

    name: str
    role: Role
    #: The SHA-256 of the token in hexadecimal digits.
    hash: str
    created_at: int


@frozen
class Identity:
    """A caller that was let in."""

    name: str
    role: Role
    #: Set for a browser's session: its changes must carry it.
    csrf: str | None = None


def includes(role: Role, other: Role) -> bool:
    """True if `role` may do everything that `other` may."""
    return ROLES.index(role) >= ROLES.index(other)


class Tokens:
    """The tokens of a data dir, read again when their file changes, plus the `extra` operator's token of this process.

    The extra token comes from the environment, or was made when the server started; `owner` is the name it goes by.
    """

    def __init__(self, path: Path, *, extra: str | None = None, owner: str = "operator") -> None:
        self._file = json_file.JsonFile(path)
        self._extra = () if extra is None else (_extra_token(extra, owner),)
        self._file_version: json_file.Version = None
        self._from_file: tuple[Token, ...] = ()

    def exist(self) -> bool:
        """True if there is any token."""
        return bool(self._all())

    def find(self, token: str) -> Token | None:
        """Return the entry of a token; None if the token is unknown."""
        digest = _hash(token)
        return next((entry for entry in self._all() if secrets.compare_digest(entry.hash, digest)), None)

    def find_by_hash(self, name: str, start: str) -> Token | None:
        """Return the entry with this name and this start of its hash, or None."""
        return next((entry for entry in self._all() if entry.name == name and entry.hash.startswith(start)), None)

    def list_file(self) -> Sequence[Token]:
        """Return the tokens in the file, oldest first."""
        self._all()
        return self._from_file

    def add(self, name: str, role: Role) -> str:
        """Create a token and return it; it cannot be read again.

        Raise InvalidInput with TOKEN_NAME, NAME_RESERVED or TOKEN_EXISTS if the name cannot be used.
        """
        if name == answers.TIMER:
            raise errors.InvalidInput(
                f"`{name}` is reserved for the timer, which answers approvals when their time is up",
                code="NAME_RESERVED",
                hint="use another name",
            )
        if not _NAME.fullmatch(name):
            raise errors.InvalidInput(
                f"{name[:80]!r} cannot name a token", code="TOKEN_NAME", hint="letters, digits, and . _ @ - inside"
            )
        token = generate()
        with self._file.change() as document:
            entries = _parse_tokens(self._file, document)
            if any(entry.name == name for entry in entries):
                raise errors.InvalidInput(
                    f"there is already a token {name}", code="TOKEN_EXISTS", hint="remove it, or use another name"
                )
            entry = Token(name=name, role=role, hash=_hash(token), created_at=clock.wall_ms())
            document["tokens"] = [as_dict(token_entry) for token_entry in (*entries, entry)]
        return token

    def remove(self, name: str) -> None:
        """Remove a token, which ends its sessions too. Raise NotFound for an unknown name."""
        with self._file.change() as document:
            entries = _parse_tokens(self._file, document)
            other_entries = [entry for entry in entries if entry.name != name]
            if len(other_entries) == len(entries):
                raise errors.NotFound(f"there is no token {name[:80]}", code="TOKEN_NOT_FOUND")
            document["tokens"] = [as_dict(entry) for entry in other_entries]

    def _all(self) -> tuple[Token, ...]:
        version = self._file.version()
        if version != self._file_version:
            self._from_file = _parse_tokens(self._file, self._file.read())
            self._file_version = version
        return (*self._extra, *self._from_file)


def generate() -> str:
    """Return a new token, which is in no file."""
    return f"skelo_{secrets.token_urlsafe(32)}"


def _hash(token: str) -> str:
    # Tokens created here are 256 random bits, so a slow hash would add no protection.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _extra_token(token: str, owner: str) -> Token:
    if len(token) < MIN_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token:
        raise errors.InvalidInput(
            f"a token needs at least {MIN_CHARACTERS} visible ASCII characters",
            code="TOKEN_WEAK",
            hint="`skelo token add NAME` creates a good one",
        )
    return Token(name=owner, role="operator", hash=_hash(token), created_at=0)


def _parse_tokens(file: json_file.JsonFile, document: dict[str, Any]) -> tuple[Token, ...]:
    try:
        return tuple(_parse_token(fields) for fields in document.get("tokens", ()))
    except (ValueError, KeyError, TypeError) as error:
        raise errors.Corrupt(f"{file.path} is not a list of tokens", hint="remove it and create new tokens") from error


def _parse_token(fields: dict[str, object]) -> Token:
    token = Token(**cast("dict[str, str]", fields))  # pyright: ignore[reportArgumentType] - checked right below
    if token.role not in ROLES or not _NAME.fullmatch(token.name) or not re.fullmatch(r"[0-9a-f]{64}", token.hash):
        raise ValueError("not a token")
    return token
