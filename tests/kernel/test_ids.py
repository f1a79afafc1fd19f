"""Ids that follow from what they name."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from openskelo.kernel import ids


@given(st.uuids(), st.text())
def test_an_id_is_the_version_five_uuid_of_its_name(namespace: uuid.UUID, name: str) -> None:
    assert ids.derive(str(namespace), name) == str(uuid.uuid5(namespace, name))
