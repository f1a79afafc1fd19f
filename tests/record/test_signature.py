"""Signing the head of a run: keys, signatures, and what a signature proves."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo import errors
from openskelo.kernel.json import Json, JsonObject
from openskelo.record import chain, signature
from tests.record import records, verifying

HEAD = "ab" * 32
KEY = signature.Key(
    secret=bytes(range(32)), public="ed25519:A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
)  # the public half of that secret, as another implementation gives it
WHEN = "2026-01-01T00:00:00.000Z"


def signed(key: signature.Key = KEY) -> JsonObject:
    return signature.sign(key, run_id=records.RUN_ID, seq=7, head=HEAD, at=WHEN)


def test_a_signature_holds_for_its_run_and_head() -> None:
    checked = signature.check(signed(), run_id=records.RUN_ID, head=HEAD)
    assert checked == signature.SignatureCheck(ok=True, key="embedded", public_key=KEY.public, seq=7)


def test_a_given_key_says_whose_it_is() -> None:
    checked = signature.check(signed(), run_id=records.RUN_ID, head=HEAD, public_key=KEY.public)
    assert (checked.ok, checked.key) == (True, "given")


def test_another_key_than_the_one_given_is_refused(tmp_path: Path) -> None:
    other = signature.open_key(tmp_path)
    checked = signature.check(signed(other), run_id=records.RUN_ID, head=HEAD, public_key=KEY.public)
    assert (checked.ok, checked.reason) == (False, "the signature is by another key than the one given")


@pytest.mark.parametrize(("run_id", "head"), [(records.RUN_ID, "cd" * 32), (records.RUN_ID, None), ("other", HEAD)])
def test_a_signature_of_something_else_is_refused(run_id: str, head: str | None) -> None:
    assert not signature.check(signed(), run_id=run_id, head=head).ok


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seq", 8),
        ("signedAt", "2026-01-01T00:00:00.001Z"),
        ("publicKey", "ed25519:AAAA"),
        ("signature", "AAAA"),
        ("signature", "?"),
    ],
)
def test_every_field_is_signed(key: str, value: Json) -> None:
    changed = signature.admit({**signed(), key: value})
    assert not signature.check(changed, run_id=records.RUN_ID, head=HEAD).ok


@given(
    index=st.integers(0, 87),
    letter=st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
)
def test_any_other_text_of_a_signature_is_refused(index: int, letter: str) -> None:
    text = str(signed()["signature"])
    assert len(text) == 88
    changed = text[:index] + letter + text[index + 1 :]
    found = signature.check({**signed(), "signature": changed}, run_id=records.RUN_ID, head=HEAD)
    assert found.ok == (changed == text)


@given(st.binary(max_size=60) | st.just(b"{}") | st.just(b'{"runId":1}'))
def test_anything_else_is_no_signature(data: bytes) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        signature.parse(data)
    assert refused.value.code == "SIGNATURE_INVALID"


def test_a_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    made = signature.open_key(tmp_path)
    assert signature.open_key(tmp_path) == made
    assert stat.S_IMODE((tmp_path / "keys" / "ed25519.pem").stat().st_mode) == 0o600
    assert signature.public_key((tmp_path / "keys" / "ed25519.pub").read_text()) == made.public
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == ["ed25519.pem", "ed25519.pub"]
    assert "secret" not in repr(made)


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    signature.open_key(tmp_path)
    (tmp_path / "keys" / "ed25519.pem").chmod(0o640)
    with pytest.raises(errors.StoreError) as refused:
        signature.open_key(tmp_path)
    assert refused.value.code == "KEY_EXPOSED"


def pem(label: str, body: str) -> str:
    return f"-----BEGIN {label} KEY-----\n{body}\n-----END {label} KEY-----\n"


#: On a curve (secp112r1) that nobody supports any more.
ODD = pem("PUBLIC", "MDIwEAYHKoZIzj0CAQYFK4EEAAYDHgAEh424XeylQcydKT5NCKsoKgzuI+Fkl5/aMx6rdg==")
ODD_PRIVATE = pem(
    "PRIVATE",
    "ME4CAQAwEAYHKoZIzj0CAQYFK4EEAAYENzA1AgEBBA6+7cs+XLTEaEEDwOLK7KEgAx4ABIeNuF3spUHMnSk+TQirKCoM7iPhZJef2jMeq3Y=",
)


@pytest.mark.parametrize("content", ["", "nonsense", ODD, ODD_PRIVATE])
def test_a_broken_key_file_is_a_clear_error(tmp_path: Path, content: str) -> None:
    signature.open_key(tmp_path)
    path = tmp_path / "keys" / "ed25519.pem"
    path.write_text(content)
    with pytest.raises(errors.InvalidInput) as refused:
        signature.open_key(tmp_path)
    assert (refused.value.code, refused.value.message) == ("KEY_INVALID", f"{path} is not an Ed25519 private key")


def test_a_key_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    os.mkfifo(tmp_path / "keys" / "ed25519.pem", 0o600)
    with pytest.raises(errors.StoreError) as refused:
        signature.open_key(tmp_path)
    assert refused.value.code == "KEY_UNUSABLE"


def test_a_data_dir_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("in the way")
    with pytest.raises(errors.StoreError) as refused:
        signature.open_key(tmp_path)
    assert refused.value.code == "KEY_UNUSABLE"


@pytest.mark.parametrize("text", ["", "ed25519:", "ed25519:AAAA", "-----BEGIN PUBLIC KEY-----\n", "ed25519:äöü", ODD])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        signature.public_key(text)
    assert refused.value.code == "KEY_INVALID"


def test_a_public_key_may_be_given_as_pem() -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

    own = ed25519.Ed25519PrivateKey.from_private_bytes(KEY.secret).public_key()
    encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    assert signature.public_key(own.public_bytes(encoding, form).decode()) == KEY.public
    other = x25519.X25519PrivateKey.generate().public_key().public_bytes(encoding, form).decode()
    with pytest.raises(errors.InvalidInput) as wrong:
        signature.public_key(other)
    assert wrong.value.code == "KEY_INVALID"


def test_a_bad_signature_spoils_an_intact_record() -> None:
    record = records.ended()
    proved = verifying.lines(record.lines)
    spoiled = chain.add_signature(proved, signed(), "cd" * 32)
    assert (spoiled.intact, spoiled.signature, [problem.code for problem in spoiled.problems]) == (
        False,
        "bad",
        ["SIGNATURE_BAD"],
    )
