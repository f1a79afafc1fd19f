"""Ids that follow from what they name."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from openskelo.kernel import ids


@given(st.uuids(), st.text())
def test_an_id_is_the_version_five_uuid_of_its_name(namespace: uuid.UUID, name: str) -> None:
    assert ids.derive(str(namespace), name) == str(uuid.uuid5(namespace, name))


def test_an_idempotency_key_tells_runs_nodes_visits_and_items_apart() -> None:
    key = ids.idempotency_key("3f0e8f0a-0000-4000-8000-000000000001", "send", 1, 0)
    assert key == "7b907eb8556e8f44edefd8a6f629ac3c685fd202e59d520de7c38c281a1991f9"
    others = {
        ids.idempotency_key("3f0e8f0a-0000-4000-8000-000000000002", "send", 1, 0),
        ids.idempotency_key("3f0e8f0a-0000-4000-8000-000000000001", "call", 1, 0),
        ids.idempotency_key("3f0e8f0a-0000-4000-8000-000000000001", "send", 2, 0),
        ids.idempotency_key("3f0e8f0a-0000-4000-8000-000000000001", "send", 1, 1),
    }
    assert len(others | {key}) == 5


def test_a_short_id_is_the_first_group_of_a_uuid() -> None:
    assert ids.short("3f0e8f0a-0000-4000-8000-000000000001") == "3f0e8f0a"
