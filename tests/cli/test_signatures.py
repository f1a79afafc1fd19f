"""Signed records at the command line: how far a signature reaches, and what `verify` makes of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Skelo

ASK = """\
name: ask
blocks:
  - id: ask
    mode: approval
    approval: {prompt: Go on?}
"""


def test_a_signature_of_the_middle_is_no_proof_of_the_end(skelo: Skelo, tmp_path: Path) -> None:
    skelo.write("ask.yaml", ASK)
    paused = skelo("run", "ask.yaml", "--json").document
    early, late = str(tmp_path / "early.jsonl"), str(tmp_path / "late.jsonl")
    assert skelo("export", "last", "-o", early, "--sign").code == 0
    key = (skelo.folder / ".skelo" / "keys" / "ed25519.pub").read_text()
    begun = skelo("verify", early, "--public-key", key)
    assert (begun.code, begun.out.split("  ")[0]) == (3, "intact but unfinished")
    signed = skelo("verify", early, "--json").document["events"]

    assert skelo("approve", paused["approvals"][0]["id"]).code == 0
    ended = skelo("verify", "last", "--json")
    total = ended.document["events"]
    assert (ended.code, ended.document["signature"], ended.document["signedBy"]["seq"]) == (0, "partial", signed)
    assert skelo("verify", "last").out.splitlines()[-1] == "  the events after that one are not signed"
    demanded = skelo("verify", "last", "--public-key", key)
    assert (demanded.code, demanded.out.splitlines()) == (
        1,
        [
            f"signed in part  {paused['runId']}",
            f"  SIGNATURE_PARTIAL signed up to event {signed}: events {signed + 1} to {total} are not signed",
        ],
    )

    unsigned = skelo("export", "last", "-o", late)
    assert (unsigned.code, unsigned.err.splitlines()[-1]) == (
        0,
        f"not signed: the run has continued since it was signed at event {signed}; --sign signs it again",
    )
    bare = skelo("verify", late, "--public-key", key)
    assert (bare.code, bare.out.splitlines()[0]) == (1, f"not signed  {paused['runId']}")
    assert skelo("export", "last", "-o", late, "--sign", "--force").code == 0
    whole = skelo("verify", late, "--public-key", key, "--json")
    assert (whole.code, whole.document["signature"], whole.document["signedBy"]["seq"]) == (0, "ok", total)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name: hello\nblocks: []\n", "line 1, byte 0: LINE_INVALID not JSON: invalid literal, expected 'null'"),
        ('{"a": 1}\n', "line 1, byte 0: LINE_INVALID not an event: hash, id, prev, runId, seq, ts, type missing"),
        ("", "line 1, byte 0: EMPTY there are no events"),
    ],
)
def test_a_file_that_is_no_record_is_called_so_and_not_altered(text: str, fault: str, skelo: Skelo) -> None:
    skelo.write("hello.yaml", text)
    told = skelo("verify", "hello.yaml")
    assert (told.code, told.out.splitlines()) == (1, ["not a record of a run", f"  {fault}"])
