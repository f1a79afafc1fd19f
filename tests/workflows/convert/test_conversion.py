"""Names in the blocks that a plan becomes."""

from __future__ import annotations

from openskelo.workflows.convert import conversion


def test_an_input_keeps_its_name_unless_a_context_has_it() -> None:
    contexts = ("ctx:rules", "snap:t-1")
    roots = ("input:task", "input:my-task", "input:ctx_rules", *contexts)
    assert [conversion.workflow_input(root, contexts) for root in roots] == [
        "task",
        "my-task",
        "input_ctx_rules",
        "ctx_rules",
        "snap_t_1",
    ]
