"""Records of earlier programs still verify: exports that they wrote, and the plain lines in these.

`golden/` holds what `skelo export` wrote before the data dir got its present layout: `letters`, a blocks file with
items, a gate, a skipped block and an approval, and `ask`, a plan that asks a person twice. The files are never changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.history import verify
from openskelo.record import chain
from openskelo.structs import replace

FOLDER = Path(__file__).parent / "golden"
VERIFIED = {
    "0.1-ask": chain.Verification(
        run_id="aa2c988a-4219-45f4-88ac-d87b8af4744e",
        events=18,
        receipts=6,
        pruned=0,
        head="049f111eadef5fb493633756e5d4bc68d28a4e061786bbcb78408fda62aad2be",
        ended=True,
        folded=True,
        problems=(),
        blobs=1,
    ),
    "0.1-letters": chain.Verification(
        run_id="f45eaafc-f51e-4f31-81f7-f14dbef41ad2",
        events=15,
        receipts=4,
        pruned=0,
        head="7b973308075142b9820b191bdc832e787a05aade52ca37fa29b2dcfa4e70e007",
        ended=True,
        folded=True,
        problems=(),
        blobs=1,
    ),
}


def test_every_golden_export_is_verified_here() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(VERIFIED)


@pytest.mark.parametrize("name", VERIFIED)
def test_a_golden_export_verifies(name: str) -> None:
    assert verify.verify_file(FOLDER / f"{name}.jsonl") == VERIFIED[name]


@pytest.mark.parametrize("name", VERIFIED)
def test_the_lines_of_a_golden_export_verify_without_its_workflow(name: str, tmp_path: Path) -> None:
    header_and_workflow = 2
    lines = (FOLDER / f"{name}.jsonl").read_bytes().splitlines(keepends=True)[header_and_workflow:]
    (tmp_path / "events.jsonl").write_bytes(b"".join(lines))
    expected = replace(VERIFIED[name], folded=False, blobs=0)
    assert verify.verify_file(tmp_path / "events.jsonl") == expected
