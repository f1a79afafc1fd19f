"""`uses` puts the nodes of another file into this one, under the block's id, between an entry and an exit."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo.kernel.definition import Binding, Bounce, Gate, Node, Port
from openskelo.kernel.json import JsonObject
from openskelo.structs import replace
from openskelo.workflows import load
from tests.workflows import marking

TEXT: JsonObject = {"type": "string"}
INNER = """\
blocks:
  - id: shout
    mode: deterministic
    inputs: {text: string}
    outputs: {loud: string}
    deterministic: {handler: builtin:transform, config: {map: {loud: inputs.text + '!'}}}
    post_gates: [{type: not_empty, port: loud}]
    on_gate_fail: [{when_gate: not_empty, route_to: shout, max_bounces: 2}]
  - id: clock
    outputs: {hour: integer}
"""
OUTER = """\
name: outer
blocks:
  - id: sub
    uses: ./inner.yaml
    when: inputs.text != ''
    inputs: {text: {from: inputs.topic}}
    post_gates: [{name: loud, type: not_empty, port: loud}]
    on_gate_fail: [{when_gate: loud, route_to: sub, max_bounces: 1}]
  - id: end
    inputs: {loud: {type: string, from: sub.loud}}
"""


def _write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / "outer.yaml"


def test_a_used_workflow_becomes_entry_insides_and_exit(tmp_path: Path) -> None:
    path = _write(tmp_path, outer=OUTER, inner=INNER)
    workflow, found = load.check(path)
    assert found == ()
    assert workflow is not None
    text, loud, hour = (
        Port(name="text", schema=TEXT),
        Port(name="loud", schema=TEXT),
        Port(name="hour", schema={"type": "integer"}),
    )
    gate = Gate(name="not_empty", type="not_empty", params={"port": "loud"})
    given = tuple(replace(port, required=False) for port in (loud, hour))  # with their blocks they may be skipped
    inside = ("sub/shout", "sub", "end")
    nodes = (
        Node(
            key="sub/inputs",
            mode="dag",
            inputs=(text,),
            outputs=(text,),
            bindings={"text": Binding(port="topic")},
            when="inputs.text != ''",
            handler="builtin:pass",
        ),
        Node(
            key="sub/shout",
            mode="deterministic",
            inputs=(text,),
            outputs=(loud,),
            bindings={"text": Binding(node="sub/inputs", port="text")},
            handler="builtin:transform",
            config={"map": {"loud": "inputs.text + '!'"}},
            post_gates=(gate,),
            timeout_ms=300_000,
            bounces=(Bounce(when_gate="not_empty", route_to="sub/shout", max_bounces=2, reset=inside),),
        ),
        Node(key="sub/clock", mode="ai", outputs=(hour,), after=("sub/inputs",), config=marking.embedded(), repairs=1),
        Node(
            key="sub",
            mode="dag",
            inputs=given,
            outputs=given,
            bindings={
                "loud": Binding(node="sub/shout", port="loud"),
                "hour": Binding(node="sub/clock", port="hour"),
            },
            after=("sub/shout", "sub/clock"),
            handler="builtin:pass",
            post_gates=(Gate(name="loud", type="not_empty", params={"port": "loud"}),),
            bounces=(
                Bounce(
                    when_gate="loud",
                    route_to="sub/inputs",
                    max_bounces=1,
                    reset=("sub/inputs", "sub/shout", "sub/clock", "sub", "end"),
                    told=("sub/shout", "sub/clock"),
                ),
            ),
        ),
        Node(
            key="end",
            mode="ai",
            inputs=(loud,),
            bindings={"loud": Binding(node="sub", port="loud", origin="sub/shout")},
            config=marking.embedded(),
            repairs=1,
        ),
    )
    assert workflow.nodes == {node.key: node for node in nodes}
    assert list(workflow.nodes) == [node.key for node in nodes]
    assert workflow.inputs == (Port(name="topic", schema=TEXT),)


def test_a_used_workflow_can_be_switched_by_a_value_that_it_does_not_take(tmp_path: Path) -> None:
    outer = (
        "inputs: {go: boolean, text: string}\n"
        "blocks: [{id: sub, uses: ./inner.yaml, when: inputs.go && inputs.text != '',\n"
        "  inputs: {go: {from: inputs.go}, text: {from: inputs.text}}}]\n"
    )
    workflow, found = load.check(_write(tmp_path, outer=outer, inner=INNER))
    assert found == ()
    assert workflow is not None
    entry = workflow.nodes["sub/inputs"]
    assert [port.name for port in entry.inputs] == ["text", "go"]
    assert entry.bindings == {"text": Binding(port="text"), "go": Binding(port="go")}
    assert workflow.nodes["sub/shout"].bindings == {"text": Binding(node="sub/inputs", port="text")}
    assert [port.name for port in workflow.inputs] == ["go", "text"]


def test_a_way_back_to_a_used_workflow_tells_its_first_blocks_however_deep(tmp_path: Path) -> None:
    deep = (
        "inputs: {t: string}\nblocks: [{id: a, inputs: {t: {from: inputs.t}}, outputs: {x: string}}, "
        "{id: b, inputs: {x: {from: a.x}}, outputs: {y: string}}]\noutputs: {y: b.y, t: inputs.t}\n"
    )
    middle = "inputs: {t: string}\nblocks: [{id: m, uses: ./deep.yaml, inputs: {t: {from: inputs.t}}}]\n"
    outer = (
        "inputs: {t: string}\nblocks:\n  - {id: s, uses: ./middle.yaml, inputs: {t: {from: inputs.t}}}\n"
        "  - id: judge\n    inputs: {y: {from: s.y}}\n    outputs: {z: string}\n"
        "    post_gates: [{type: not_empty, port: z}]\n"
        "    on_gate_fail: [{when_gate: not_empty, route_to: s, max_bounces: 1}]\n"
    )
    workflow, found = load.check(_write(tmp_path, outer=outer, middle=middle, deep=deep))
    assert marking.errors(found) == []
    assert workflow is not None
    (way,) = workflow.nodes["judge"].bounces
    assert (way.route_to, way.told) == ("s/inputs", ("s/m/a",))


def test_files_use_each_other_eight_levels_deep_and_no_deeper(tmp_path: Path) -> None:
    (tmp_path / "f9.yaml").write_text("blocks: [{id: a}]\n")
    for level in range(9):
        (tmp_path / f"f{level}.yaml").write_text(f"blocks: [{{id: a, uses: ./f{level + 1}.yaml}}]\n")
    assert list(load.load(tmp_path / "f1.yaml").nodes)[-1] == "a"
    assert "/".join("a" * 9) in load.load(tmp_path / "f1.yaml").nodes
    assert [one.code for one in load.check(tmp_path / "f0.yaml")[1]] == ["USES_TOO_DEEP"]


def test_files_that_use_each_other_many_times_are_refused_in_time(tmp_path: Path) -> None:
    (tmp_path / "f8.yaml").write_text("blocks: [{id: a}]\n")
    for level in range(8):
        blocks = ", ".join(f"{{id: b{n}, uses: ./f{level + 1}.yaml}}" for n in range(20))
        (tmp_path / f"f{level}.yaml").write_text(f"blocks: [{blocks}]\n")
    workflow, found = load.check(tmp_path / "f0.yaml")
    assert workflow is None
    assert {one.code for one in found} == {"TOO_MANY_BLOCKS"}


def test_a_problem_inside_is_reported_in_its_own_file(tmp_path: Path) -> None:
    inner, wanted = marking.expected("UNKNOWN_KEY", "blocks:\n  - id: a\n    ‸tiemout_ms: 5\n")
    path = _write(tmp_path, outer=OUTER, inner=inner)
    found = [(one.file, one.code, one.line, one.column) for one in load.check(path)[1]]
    assert found == [(str(tmp_path / "inner.yaml"), *wanted[0])]


@pytest.mark.parametrize(
    ("codes", "outer"),
    [
        ("USES_NOT_FOUND", "blocks: [{id: a, uses: ‸./nowhere.yaml}]\n"),
        ("USES_OUTSIDE", "blocks: [{id: a, uses: ‸../inner.yaml}]\n"),
        ("USES_OUTSIDE", "blocks: [{id: a, uses: ‸/etc/hosts}]\n"),
        ("USES_CYCLE", "blocks: [{id: a, uses: ‸./outer.yaml}]\n"),
        ("FILE_UNREADABLE", "blocks: [{id: a, uses: ‸./}]\n"),
        ("TYPE", "blocks: [{id: a, uses: ‸[x]}]\n"),
        ("FOREACH_USES", 'blocks: [{id: a, uses: ./plain.yaml, ‸foreach: {items: "[1]"}}]\n'),
        ("WRONG_MODE", "blocks: [{id: a, uses: ./plain.yaml, ‸retry: {max_attempts: 2}}]\n"),
        ("UNKNOWN_PORT", "blocks: [{id: a, uses: ./inner.yaml, inputs: {‸txt: string}}]\n"),
        (
            "UNKNOWN_PORT",
            "inputs: {go: string}\nblocks: [{id: a, uses: ./plain.yaml, inputs: {‸go: {from: inputs.go}}}]\n",
        ),
        ("USES_OUTSIDE", f"blocks: [{{id: a, uses: ‸./{'x' * 300}.yaml}}]\n"),
        ("TYPE_MISMATCH", "blocks: [{id: a, uses: ./inner.yaml, inputs: {text: ‸integer}}]\n"),
        ("TYPE_MISMATCH", "blocks: [{id: a, uses: ./same.yaml, inputs: {n: {default: 1}}, outputs: {n: ‸string}}]\n"),
        ("UNKNOWN_PORT", "blocks: [{id: a, uses: ./inner.yaml, outputs: {‸quiet: string}}]\n"),
        ("UNKNOWN_PORT", "blocks: [{id: a, uses: ./inner.yaml, when: inputs.‸txt == ''}]\n"),
        (
            "UNKNOWN_PORT",
            "blocks: [{id: a, uses: ./inner.yaml, when: \"'inputs.go' == 'x'\", inputs: {‸go: string}}]\n",
        ),
        ("EXPR_TYPE", "blocks: [{id: a, uses: ./inner.yaml, when: ‸inputs.go, inputs: {go: string}}]\n"),
        (
            "BOUNCE_OVER_ONCE",
            "blocks: [{id: a, uses: ./pay.yaml}, {id: b, after: [a], outputs: {t: string}, "
            "post_gates: [{type: not_empty, port: t}], "
            "on_gate_fail: [{when_gate: not_empty, route_to: ‸a, max_bounces: 1}]}]\n",
        ),
    ],
)
def test_a_wrong_use_is_a_problem(codes: str, outer: str, tmp_path: Path) -> None:
    text, wanted = marking.expected(codes, outer)
    plain, pay = "blocks: [{id: a}]\n", "blocks: [{id: a, effect: once}]\n"
    same = "blocks: [{id: a, inputs: {n: integer}, outputs: {n: integer}}]\n"
    path = _write(tmp_path, outer=text, inner=INNER, plain=plain, pay=pay, same=same)
    assert marking.errors(load.check(path)[1]) == wanted


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    inside.mkdir()
    (tmp_path / "secret.yaml").write_text("blocks: [{id: a}]\n")
    (inside / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    path = _write(inside, outer="blocks: [{id: a, uses: ./link.yaml}]\n")
    assert [one.code for one in load.check(path)[1]] == ["USES_OUTSIDE"]


def test_a_document_uses_files_of_its_root_only(tmp_path: Path) -> None:
    _write(tmp_path, inner=INNER)
    document: JsonObject = {"name": "x", "blocks": [{"id": "a", "uses": "inner.yaml"}]}
    assert list(load.from_document(document, root=tmp_path).nodes) == ["a/inputs", "a/shout", "a/clock", "a"]
    assert [one.code for one in load.check_document(document)[1]] == ["USES_NO_ROOT"]


def test_what_may_be_skipped_inside_may_be_missing_outside_and_skips_those_who_need_it(tmp_path: Path) -> None:
    inner = (
        "inputs: {k: {type: string, default: a}, l: string?}\n"
        "blocks: [{id: a, when: 1 == 2, outputs: {x: string, z: string?}}, {id: b, outputs: {y: string}}]\n"
        "outputs: {x: a.x, y: b.y, z: a.z, k: inputs.k, l: inputs.l}\n"
    )
    outer = (
        "blocks: [{id: s, uses: ./inner.yaml}, {id: t, inputs: {x: {type: string, from: s.x}, "
        "y: {type: string, from: s.y}, z: {type: string, from: ‸s.z}, k: {type: string, from: s.k}, "
        "l: {type: string, from: ‸s.l}}}]\n"
    )
    text, wanted = marking.expected("MAY_BE_MISSING MAY_BE_MISSING", outer)
    path = _write(tmp_path, outer=text, inner=inner)
    workflow, found = load.check(path)
    assert marking.warnings(found) == wanted
    assert workflow is not None
    required = {port.name: port.required for port in workflow.nodes["s"].outputs}
    assert required == {"x": False, "y": True, "z": False, "k": True, "l": False}
    origins = {name: binding.origin for name, binding in workflow.nodes["t"].bindings.items()}
    assert origins == {"x": "s/a", "y": "", "z": "s/a", "k": "", "l": ""}


def test_nobody_is_warned_of_what_is_skipped_cleanly_or_has_a_default(tmp_path: Path) -> None:
    inner = (
        "inputs: {k: {type: string, default: a}, l: string?}\n"
        "blocks: [{id: a, when: 1 == 2, outputs: {x: string}}]\n"
        "outputs: {x: a.x, k: inputs.k, l: inputs.l}\n"
    )
    middle = "blocks: [{id: u, uses: ./inner.yaml, inputs: {l: {default: b}}}]\noutputs: {x: u.x, k: u.k, l: u.l}\n"
    outer = (
        "blocks: [{id: s, uses: ./middle.yaml}, {id: t, inputs: {x: {type: string, from: s.x}, "
        "k: {type: string, from: s.k}, l: {type: string, from: s.l}}}]\n"
    )
    workflow, found = load.check(_write(tmp_path, outer=outer, middle=middle, inner=inner))
    assert marking.warnings(found) == []
    assert workflow is not None
    assert {name: binding.origin for name, binding in workflow.nodes["t"].bindings.items()} == {
        "x": "s/u/a",
        "k": "",
        "l": "",
    }


def test_what_a_used_file_says_of_its_run_is_not_silently_dropped(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        outer="blocks: [{id: a, uses: ./inner.yaml}]\n",
        inner="budgets: {max_steps: 1}\ndefaults: {concurrency: 2}\nblocks: [{id: a}]\n",
    )
    workflow, found = load.check(path)
    assert workflow is not None
    assert marking.errors(found) == []
    assert marking.warnings(found) == [("BUDGET_IGNORED", 1, 10), ("CONCURRENCY_IGNORED", 2, 25)]
