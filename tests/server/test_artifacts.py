"""Artifacts over REST: listed, described, and their bytes streamed, whole or in part, never from elsewhere."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.server import house


@pytest.fixture(params=["small", "large"])
def kept(request: pytest.FixtureRequest, client: httpx.Client) -> tuple[str, dict[str, object]]:
    """The log of a run, in the log itself or in a file of its own."""
    run_id = house.start(client, topic=request.param)["id"]
    house.asked(client, run_id)
    (artifact,) = client.get(f"/api/runs/{run_id}/artifacts").json()["artifacts"]
    return run_id, artifact


def _path(kept: tuple[str, dict[str, object]]) -> str:
    return f"/api/runs/{kept[0]}/artifacts/{kept[1]['id']}/content"


def test_an_artifact_is_described_and_its_bytes_are_given(
    client: httpx.Client, kept: tuple[str, dict[str, object]]
) -> None:
    run_id, artifact = kept
    assert client.get(f"/api/runs/{run_id}/artifacts/{artifact['id']}").json() == artifact
    answer = client.get(_path(kept))
    assert (answer.status_code, len(answer.content)) == (200, artifact["size"])
    assert answer.text.startswith("wrote with")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("inline; filename*=UTF-8''")
    assert "sandbox" in answer.headers["content-security-policy"]


def test_the_path_of_an_artifact_is_a_file_with_its_bytes(
    home: house.House, client: httpx.Client, kept: tuple[str, dict[str, object]]
) -> None:
    run_id, artifact = kept
    path = Path(str(artifact["path"]))
    assert path.is_relative_to((home.root / ".skelo").absolute())
    assert path.read_bytes() == client.get(_path(kept)).content
    assert client.get(f"/api/runs/{run_id}").json()["artifacts"][str(artifact["id"])]["path"] == str(path)
    events = client.get(f"/api/runs/{run_id}/events", params={"limit": 2000}).json()["events"]
    assert [event["artifact"]["path"] for event in events if event["type"] == "artifact.created"] == [str(path)]


@pytest.mark.parametrize(
    ("wanted", "start", "end"), [("bytes=0-9", 0, 10), ("bytes=10-", 10, None), ("bytes=-5", -5, None)]
)
def test_a_range_is_given(
    client: httpx.Client, kept: tuple[str, dict[str, object]], wanted: str, start: int, end: int | None
) -> None:
    whole = client.get(_path(kept)).content
    part = client.get(_path(kept), headers={"range": wanted})
    assert (part.status_code, part.content) == (206, whole[start:end])
    first = start % len(whole)
    assert part.headers["content-range"] == f"bytes {first}-{first + len(part.content) - 1}/{len(whole)}"


@pytest.mark.parametrize("wanted", ["bytes=9-0", "bytes=a-b", "lines=0-1", "bytes=-", "bytes=0-1,3-4"])
def test_a_range_that_is_none_gives_everything(
    client: httpx.Client, kept: tuple[str, dict[str, object]], wanted: str
) -> None:
    answer = client.get(_path(kept), headers={"range": wanted})
    assert (answer.status_code, len(answer.content)) == (200, kept[1]["size"])


@pytest.mark.parametrize("wanted", ["bytes=99999999-", "bytes=-0"])
def test_a_range_outside_of_the_content_is_refused(
    client: httpx.Client, kept: tuple[str, dict[str, object]], wanted: str
) -> None:
    answer = client.get(_path(kept), headers={"range": wanted})
    assert house.problem(answer) == (416, "RANGE_INVALID")
    assert answer.headers["content-range"] == f"bytes */{kept[1]['size']}"


def test_a_file_that_was_changed_or_leads_elsewhere_is_not_given(home: house.House, client: httpx.Client) -> None:
    run_id = house.start(client, topic="large")["id"]
    house.asked(client, run_id)
    (artifact,) = client.get(f"/api/runs/{run_id}/artifacts").json()["artifacts"]
    path = f"/api/runs/{run_id}/artifacts/{artifact['id']}/content"
    digest = artifact["hash"].removeprefix("sha256:")
    file = home.root / ".skelo" / "blobs" / digest[:2] / digest
    right = file.read_bytes()
    try:
        file.write_bytes(b"x" * len(right))
        assert house.problem(client.get(path)) == (503, "CORRUPT")
        file.unlink()
        file.symlink_to("/etc/passwd")
        assert house.problem(client.get(path)) == (503, "CORRUPT")
    finally:
        file.unlink()
        file.write_bytes(right)
    assert client.get(path).content == right


def test_an_unknown_artifact_is_not_found(client: httpx.Client) -> None:
    run_id = house.start(client)["id"]
    for end in ("", "/content"):
        path = f"/api/runs/{run_id}/artifacts/00000000-0000-4000-8000-000000000000{end}"
        assert house.problem(client.get(path)) == (404, "ARTIFACT_NOT_FOUND")
    assert house.problem(client.get(f"/api/runs/{run_id}/artifacts/..%2F..%2Fversion"))[0] in (404, 422)
