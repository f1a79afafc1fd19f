"""The facts about kinds of work, asked by the mode that a document names."""

from __future__ import annotations

import pytest

from openskelo.kernel import definition
from openskelo.kernel.json import Json


def test_a_mode_in_a_document_has_the_facts_of_its_kind() -> None:
    assert definition.work_kind("agent") is definition.WORK_KINDS["agent"]


@pytest.mark.parametrize("mode", ["dance", "", None, ["ai"], {"ai": 1}])
def test_no_fact_is_true_of_an_unknown_mode(mode: Json) -> None:
    assert definition.work_kind(mode) == definition.WorkKind()
