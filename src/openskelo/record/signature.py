"""Ed25519 signatures over the last hash of a run: who vouches for the log up to there, and since when.

The chain shows that a record is complete, but a forger can make a complete record too. A signature by a key that you
have from another channel shows whose the record is. A signature that is checked only with the key inside it shows no
more than the chain does; the result says which of the two keys was used (`given` or `embedded`).
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

import orjson

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import line_check
from openskelo.structs import frozen
from openskelo.values import canonical

_PREFIX = "ed25519:"
_PURPOSE = b"openskelo head 1\n"
_KEYS = {"runId", "seq", "head", "publicKey", "signature", "signedAt"}


@frozen
class Key:
    """A private key."""

    secret: bytes
    #: The public key to hand out: `ed25519:` and base64.
    public: str

    def __repr__(self) -> str:
        return f"Key(public={self.public!r})"


@frozen
class SignatureCheck:
    """The result of checking a signature, by the `given` key or by the key `embedded` in it."""

    ok: bool
    key: Literal["given", "embedded"]
    public_key: str
    seq: int
    reason: str = ""


def sign(key: Key, *, run_id: str, seq: int, head: str, at: str) -> JsonObject:
    """Return a signature document for `head`, the hash of the run's event `seq`; `at` is a timestamp."""
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 -- loaded only where keys are used

    document: dict[str, Json] = {"runId": run_id, "seq": seq, "head": head, "publicKey": key.public, "signedAt": at}
    signature = ed25519.Ed25519PrivateKey.from_private_bytes(key.secret).sign(_message(document))
    return {**document, "signature": base64.b64encode(signature).decode()}


def parse(data: bytes | str) -> JsonObject:
    """Return the signature document of a file; raise InvalidInput SIGNATURE_INVALID if it is not one."""
    try:
        document: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        document = None
    return admit(document)


def admit(value: object) -> JsonObject:
    """Return `value` as a signature document; raise InvalidInput SIGNATURE_INVALID if it is not one."""
    if isinstance(value, Mapping):
        document = cast("JsonObject", value)
        texts = [document.get(key) for key in _KEYS - {"seq"}]
        has_fields = set(document) == _KEYS and all(isinstance(text, str) for text in texts)
        if (
            has_fields
            and type(document["seq"]) is int
            and line_check.is_uuid(cast("str", document["runId"]))
            and line_check.is_hex(cast("str", document["head"]))
        ):
            return document
    raise errors.InvalidInput("not a signature of a run's head", code="SIGNATURE_INVALID")


def check(document: JsonObject, *, run_id: str, head: str | None, public_key: str | None = None) -> SignatureCheck:
    """Check that a signature document is a valid signature over `head`, the record's hash at the signed seq."""
    embedded = cast("str", document["publicKey"])
    reason = ""
    if document["runId"] != run_id:
        reason = f"the signature is about run {document['runId']}"
    elif document["head"] != head:
        reason = f"the record is not the one that was signed at seq {document['seq']}"
    elif public_key is not None and public_key != embedded:
        reason = "the signature is by another key than the one given"
    elif not _verifies(document):
        reason = "the signature does not fit what it claims to sign"
    return SignatureCheck(
        ok=not reason,
        key="embedded" if public_key is None else "given",
        public_key=embedded,
        seq=cast("int", document["seq"]),
        reason=reason,
    )


def _verifies(document: JsonObject) -> bool:
    from cryptography import exceptions  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    text = cast("str", document["signature"])
    try:
        public = ed25519.Ed25519PublicKey.from_public_bytes(_public_bytes(cast("str", document["publicKey"])))
        signature = base64.b64decode(text, validate=True)
        public.verify(signature, _message(document))
    except (ValueError, binascii.Error, exceptions.InvalidSignature, errors.InvalidInput):
        return False
    return base64.b64encode(signature).decode() == text


def _message(document: JsonObject) -> bytes:
    return _PURPOSE + canonical.dumps({key: value for key, value in document.items() if key != "signature"})


# -- keys -------------------------------------------------------------------------------------------------------------


def open_key(data_dir: Path) -> Key:
    """Return the data dir's key, created at first use: `keys/ed25519.pem` (private), and `ed25519.pub` to hand out."""
    path = data_dir / "keys" / "ed25519.pem"
    try:
        if not path.exists():
            _create_key(path)
        return _read_key(path)
    except OSError as error:
        raise errors.StoreError(f"the signing key cannot be used: {error.strerror}", code="KEY_UNUSABLE") from error


def public_key(text: str) -> str:
    """Return a public key (`ed25519:…` or PEM) as `ed25519:…`; raise InvalidInput KEY_INVALID if it is not one."""
    from cryptography import exceptions  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    text = text.strip()
    if text.startswith(_PREFIX):
        return _public_text(_public_bytes(text))
    try:
        key = serialization.load_pem_public_key(text.encode())
    except (ValueError, TypeError, exceptions.UnsupportedAlgorithm):
        raise _invalid_key() from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise _invalid_key()
    return _public_text(key.public_bytes_raw())


def _create_key(path: Path) -> None:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    key = ed25519.Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f"new-{uuid.uuid4().hex}")
    _write(temporary, pem)
    try:
        # A link fails where a rename would replace the key that another process made meanwhile.
        path.hardlink_to(temporary)
    except FileExistsError:
        return
    finally:
        temporary.unlink()
    path.with_suffix(".pub").write_text(_public_text(key.public_key().public_bytes_raw()) + "\n")


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def _read_key(path: Path) -> Key:
    from cryptography import exceptions  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise errors.StoreError(f"{path} is not a file", code="KEY_UNUSABLE")
    if mode & 0o077:
        raise errors.StoreError(
            "the signing key can be read by others", code="KEY_EXPOSED", hint="chmod 600 it, or make a new one"
        )
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError, exceptions.UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise errors.InvalidInput(
            f"{path} is not an Ed25519 private key",
            code="KEY_INVALID",
            hint="restore it from a copy, or move it away to have a new one made",
        )
    return Key(secret=key.private_bytes_raw(), public=_public_text(key.public_key().public_bytes_raw()))


def _public_text(raw: bytes) -> str:
    return _PREFIX + base64.b64encode(raw).decode()


def _public_bytes(text: str) -> bytes:
    try:
        raw = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise _invalid_key() from None
    if len(raw) != 32 or _public_text(raw) != text:
        raise _invalid_key()
    return raw


def _invalid_key() -> errors.InvalidInput:
    return errors.InvalidInput(
        "not an Ed25519 key", code="KEY_INVALID", hint="give the key itself: ed25519:<base64>, or PEM"
    )
